/** `/cron` in a chat: the same jobs, through the same door (cron-delivery.md 5.2). */
import { Clock, Effect } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import { addressOf } from "../../services/conversation/Admission.js"
import type { InboxEntry } from "../../services/conversation/Inbox.js"
import type { JobView, RunView } from "../../services/api/Jobs.js"
import { Settings } from "../../services/operation/Settings.js"
import { JobOrigin } from "../../services/schedule/Job.js"
import * as JobCommand from "../../services/schedule/JobCommand.js"
import { JobDesk } from "../../services/schedule/JobDesk.js"
import { JobRefused } from "../../services/schedule/JobError.js"
import type { JobMaker } from "../../services/schedule/Jobs.js"
import { localTime } from "../../services/schedule/LocalTime.js"

/** Runs that a chat shows. */
const shownRuns = 10

const makerOf = ({ event: { source } }: InboxEntry): JobMaker => {
  const address = addressOf(source, null)
  return {
    origin:
      address === null
        ? null
        : new JobOrigin({
            platform: address.platform,
            chatId: address.chatId,
            chatName: source.chatName,
            chatType: source.chatType,
            threadId: address.threadId,
            userId: source.userId,
            scopeId: address.scopeId
          }),
    createdBy: source.userId === null ? null : { platform: source.platform, userId: source.userId }
  }
}

const next = (job: JobView): string =>
  job.state !== "scheduled"
    ? job.state
    : job.nextRunAt === null
      ? "not due any more"
      : `next ${localTime(job.nextRunAt, job.timezone)}`

const listed = (job: JobView): string =>
  `${job.name} — ${job.words || job.schedule}, ${next(job)}${job.lastStatus === null ? "" : `, last: ${job.lastStatus}`}${job.failureStreak >= 2 ? ` (${job.failureStreak} failures in a row)` : ""} (${job.id})`

const changed = (done: string, job: JobView): string =>
  [
    `${done}: ${job.name} (${job.id}), ${job.words || job.schedule} (${job.timezone})`,
    job.state === "scheduled" && job.next.length > 0
      ? `Next: ${job.next.map((at) => localTime(at, job.timezone)).join(", ")}`
      : `It is ${job.state}.`,
    ...job.notes.map((note) => `Note: ${note}`)
  ].join("\n")

const inFull = (job: JobView): string =>
  [
    listed(job),
    `to ${job.deliver}, runs ${job.repeat.completed}/${job.repeat.times ?? "∞"}`,
    ...(job.lastError === null ? [] : [`last error: ${job.lastError}`]),
    ...(job.prompt === "" ? [] : [job.prompt])
  ].join("\n")

const ran = (run: RunView, timezone: string): string =>
  `${localTime(run.scheduledAt, timezone)}: ${run.status}${run.count > 1 ? ` × ${run.count}` : ""}${run.reason === null ? "" : `, ${run.reason}`} (${run.id})`

export const make = Effect.gen(function* () {
  const desk = yield* JobDesk
  const settings = yield* Settings

  const act = (command: JobCommand.JobCommand, entry: InboxEntry) =>
    Effect.gen(function* () {
      switch (command._tag) {
        case "Help":
          return command.text
        case "List": {
          const jobs = yield* desk.list({ all: command.all })
          return jobs.length === 0 ? `No jobs.\n${JobCommand.help}` : jobs.map(listed).join("\n")
        }
        case "Add":
          return changed(
            "Made",
            yield* desk.create({ schedule: command.schedule, prompt: command.prompt }, makerOf(entry))
          )
        case "Edit":
          return changed("Changed", yield* desk.edit(command.job, { [command.field]: command.value }))
        case "Show":
          return inFull(yield* desk.find(command.job))
        case "Pause":
          return changed("Paused", yield* desk.pause(command.job, null))
        case "Resume":
          return changed("Scheduled again", yield* desk.resume(command.job, null))
        case "Run":
          return changed("Asked to run", yield* desk.runNow(command.job, command.context || null))
        case "Remove": {
          const job = yield* desk.remove(command.job)
          return `Removed: ${job.name} (${job.id})`
        }
        case "Runs": {
          const runs = yield* desk.runs(command.job, shownRuns)
          return runs.length === 0 ? "It has not run yet." : runs.map((run) => ran(run, settings.timezone)).join("\n")
        }
      }
    })

  /** A marker that came with the message is a scheduled run's: it may look and not change (decision 29). */
  const mayChange = (command: JobCommand.JobCommand, entry: InboxEntry) =>
    CronMarker.isCron(entry.arrival.marker) && !["Help", "List", "Show", "Runs"].includes(command._tag)
      ? new JobRefused({ reason: "cron", detail: "a scheduled run does not make or change jobs" })
      : Effect.void

  /** The text to answer with. */
  return (args: string, entry: InboxEntry) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const command = JobCommand.parse(args, { now, zone: settings.timezone, timezone: null, wakesAgent: true })
      yield* mayChange(command, entry)
      return yield* act(command, entry)
    })
})
