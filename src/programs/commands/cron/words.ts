/** Jobs and runs as a person reads them in a terminal. */
import type { JobBrief, JobView, RunView } from "../../../services/api/Jobs.js"
import { localTime } from "../../../services/schedule/ScheduleWords.js"
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

const line = (name: string, value: string | null): ReadonlyArray<string> =>
  value === null || value === "" ? [] : [`${name}: ${plain(value)}`]

export const inFull = (job: JobView, now: number): ReadonlyArray<string> => [
  `${plain(job.name)} (${job.id})`,
  `${job.schedule}: ${job.words} (${job.timezone})`,
  `state: ${next(job, now)}${job.stateReason === null ? "" : ` (${plain(job.stateReason)})`}, runs: ${repeat(job)}`,
  ...line("next", job.next.map((millis) => at(millis, job)).join(", ")),
  ...line("last run", job.lastRunAt === null ? null : `${at(job.lastRunAt, job)}, ${last(job)}`),
  ...line("last error", job.lastError),
  ...line("last delivery error", job.lastDeliveryError),
  ...line("to", job.deliver),
  ...line("that is", job.targets.map(({ chatId, platform, via }) => `${platform}:${chatId} (${via})`).join(", ")),
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

export const runColumns = ["id", "job", "scheduled (UTC)", "kind", "status", "took", "sent", "why"]

export const runRow = (run: RunView): ReadonlyArray<string> => [
  run.id,
  run.jobId,
  new Date(run.scheduledAt).toISOString().slice(0, 19).replace("T", " "),
  run.kind,
  run.count > 1 ? `${run.status} × ${run.count}` : run.status,
  seconds(run.startedAt, run.finishedAt),
  run.deliveries.join(" ") || "-",
  brief(run.reason ?? "", 60)
]
