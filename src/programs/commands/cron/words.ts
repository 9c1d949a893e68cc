/** Jobs and runs as a person reads them in a terminal. */
import type { JobBrief, JobView, RunView } from "../../../services/api/Jobs.js"
import { localTime } from "../../../services/schedule/LocalTime.js"
import { brief, plain } from "../output.js"

/** A job that should have run so long ago is shown as overdue. */
const overdueMillis = 15 * 60_000

export const isOverdue = (job: JobBrief, now: number): boolean =>
  job.state === "scheduled" && job.nextRunAt !== null && job.nextRunAt < now - overdueMillis

const at = (millis: number | null, job: JobBrief): string => (millis === null ? "-" : localTime(millis, job.timezone))

const next = (job: JobBrief, now: number): string =>
  isOverdue(job, now)
    ? `overdue since ${at(job.nextRunAt, job)}`
    : job.state === "scheduled"
      ? at(job.nextRunAt, job)
      : job.state

const last = (job: JobBrief): string =>
  job.lastStatus === null
    ? "-"
    : `${job.lastStatus}${job.failureStreak >= 2 ? ` (${job.failureStreak} failures in a row)` : ""}`

const repeat = (job: JobBrief): string => `${job.repeat.completed}/${job.repeat.times ?? "∞"}`

export const columns = ["id", "name", "schedule", "next", "last", "runs", "to"]

export const row = (job: JobBrief, now: number): ReadonlyArray<string> => [
  job.id,
  brief(job.name, 30),
  brief(job.words === "" ? job.schedule : job.words, 40),
  next(job, now),
  last(job),
  repeat(job),
  brief(job.deliver, 30)
]

/** What a change says: the job, when it comes next, and what to know. */
export const changed = (done: string, job: JobView): ReadonlyArray<string> => [
  `${done}: ${plain(job.name)} (${job.id}), ${job.words === "" ? job.schedule : job.words} (${job.timezone})`,
  ...(job.state === "scheduled" && job.next.length > 0
    ? [`next: ${job.next.map((millis) => at(millis, job)).join(", ")}`]
    : [`state: ${job.state}${job.stateReason === null ? "" : ` (${plain(job.stateReason)})`}`]),
  ...job.notes.map((note) => `note: ${plain(note)}`)
]

/** An expression beside its words: who wrote it looks for it. */
const whenever = (job: JobBrief): string =>
  job.words === "" || job.words.startsWith("once, ")
    ? job.words || job.schedule
    : job.words === job.schedule
      ? job.words
      : `${job.words}, as ${job.schedule}`

/** What was said of where it goes, and the chats that this is today. */
const whither = (job: JobView): string => {
  const chats = job.targets.map(({ chatId, platform }) => `${platform}:${chatId}`).join(", ")
  return chats === "" || chats === job.deliver ? job.deliver : `${job.deliver} (${chats})`
}

const line = (name: string, value: string | null): ReadonlyArray<string> =>
  value === null || value === "" ? [] : [`${name}: ${plain(value)}`]

export const inFull = (job: JobView, now: number): ReadonlyArray<string> => [
  `${plain(job.name)} (${job.id})`,
  ...line("when", `${whenever(job)} (${job.timezone})`),
  ...line(
    "state",
    `${isOverdue(job, now) ? next(job, now) : job.state}${job.stateReason === null ? "" : ` (${job.stateReason})`}`
  ),
  ...line("next", job.next.map((millis) => at(millis, job)).join(", ")),
  ...line(
    "runs by schedule",
    job.repeat.times === null ? `${job.repeat.completed}` : `${job.repeat.completed} of ${job.repeat.times}`
  ),
  ...line("last run", job.lastRunAt === null ? null : `${at(job.lastRunAt, job)}, ${last(job)}`),
  ...line("last error", job.lastError),
  ...line("last delivery error", job.lastDeliveryError),
  ...line("to", whither(job)),
  ...line("failures to", job.failureDeliver),
  ...line("skills", job.skills.join(", ")),
  ...line("script", job.script === null ? null : `${job.script}${job.noAgent ? " (no agent)" : ""}`),
  ...line("monitor", job.monitor?.target ?? null),
  ...line("given the answers of", job.contextFrom.join(", ")),
  ...line("toolsets", job.enabledToolsets?.join(", ") ?? null),
  ...line("directory", job.workdir),
  ...line("model", [job.provider, job.model].filter((part) => part !== null).join("/")),
  ...(job.prompt === "" ? [] : ["", plain(job.prompt)])
]

const seconds = (from: number | null, to: number | null): string =>
  from === null || to === null ? "-" : `${Math.round((to - from) / 100) / 10} s`

export const runColumns = ["id", "job", "scheduled", "kind", "status", "took", "sent", "why"]

/** On the clock that the list of jobs shows. */
export const runRow = (run: RunView, timezone: string): ReadonlyArray<string> => [
  run.id,
  brief(run.jobName, 30),
  localTime(run.scheduledAt, timezone),
  run.kind,
  run.count > 1 ? `${run.status} × ${run.count}` : run.status,
  seconds(run.startedAt, run.finishedAt),
  run.deliveries.join(" ") || "-",
  brief(run.reason ?? "", 60)
]
