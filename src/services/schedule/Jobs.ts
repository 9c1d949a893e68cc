import { Context, type Effect, Schema } from "effect"
import { WellFormed } from "../operation/WellFormed.js"
import type { StateError } from "../state/StateError.js"
import type { Job, JobId, JobNumber, JobOrigin } from "./Job.js"
import type { JobAmbiguous, JobError, JobNotFound } from "./JobError.js"
import type { JobSummary } from "./JobSummary.js"

const text = Schema.optional(Schema.NullOr(WellFormed))
const list = Schema.optional(Schema.NullOr(Schema.Union(WellFormed, Schema.Array(WellFormed))))
const flag = Schema.optional(Schema.NullOr(Schema.Boolean))

const fields = {
  name: text,
  prompt: text,
  skills: list,
  model: text,
  provider: text,
  baseUrl: text,
  reasoningEffort: text,
  script: text,
  noAgent: flag,
  monitorScript: text,
  monitorUrl: text,
  /** Ids or exact names of jobs; `self` is the job's own last answer. */
  contextFrom: list,
  timezone: text,
  /** A number, or a word such as `forever` or `once` (cron-delivery.md 1.5). */
  repeat: Schema.optional(Schema.NullOr(Schema.Union(Schema.Number, WellFormed))),
  deliver: list,
  failureDeliver: list,
  attachToSession: flag,
  enabledToolsets: list,
  workdir: text
}

/** What somebody asks for when a job is made. Null and "" count as not given. */
export const JobDraft = Schema.Struct({
  schedule: WellFormed,
  ...fields,
  paused: Schema.optional(Schema.Boolean),
  pausedReason: text
})
export type JobDraft = typeof JobDraft.Type

/** What an edit changes: a field that is absent stays; null, "" and an empty list clear what may be empty. */
export const JobPatch = Schema.Struct({ schedule: Schema.optional(WellFormed), ...fields })
export type JobPatch = typeof JobPatch.Type

/** Who makes a job, as far as the job has to know. */
export interface JobMaker {
  /** The chat it is made in; null where nothing can be delivered later. */
  readonly origin: JobOrigin | null
  readonly createdBy: { readonly platform: string; readonly userId: string } | null
}

/** A job as every answer shows it. */
export interface JobView {
  readonly job: Job
  /** The schedule as a person says it. */
  readonly words: string
  /** The next three instants, epoch milliseconds; fewer when no more come. */
  readonly next: ReadonlyArray<number>
  /** The time zone in which the schedule is read. */
  readonly timezone: string
  /** What the asker should know: where results go, what was settled for them. */
  readonly notes: ReadonlyArray<string>
}

/** The jobs: the one way in which they are made and changed, whoever asks (cron-delivery.md 1.7). Everything is validated before it is stored. */
export class Jobs extends Context.Tag("hermes/schedule/Jobs")<
  Jobs,
  {
    readonly create: (draft: JobDraft, maker: JobMaker) => Effect.Effect<JobView, JobError>
    /** What was due under the old schedule and not yet begun is recorded as skipped; the new one counts from now. */
    readonly edit: (reference: string, patch: JobPatch) => Effect.Effect<JobView, JobError>
    readonly pause: (reference: string, reason?: string | null) => Effect.Effect<JobView, JobError>
    /** `at` gives a single run a new time. A recurring job whose time passed meanwhile is late, and runs or is skipped as such. */
    readonly resume: (reference: string, options?: { readonly at?: string }) => Effect.Effect<JobView, JobError>
    /** Runs beside its schedule as soon as a gateway can. `context` is said to the run and not kept. Refused while it runs or is about to. */
    readonly runNow: (reference: string, context?: string | null) => Effect.Effect<JobView, JobError>
    /** A completed or missed single run gets a new time. */
    readonly rearm: (reference: string, schedule: string) => Effect.Effect<JobView, JobError>
    /** Answers the job as it was. A run that is under way ends and is delivered; its history stays. */
    readonly remove: (reference: string) => Effect.Effect<JobView, JobError>
    /** Exact id, else exact name without regard to case. */
    readonly find: (reference: string) => Effect.Effect<JobView, JobNotFound | JobAmbiguous | StateError>
    readonly get: (id: JobId) => Effect.Effect<Job | null, StateError>
    /** The job of a run, also when it was removed meanwhile. */
    readonly ofRun: (job: JobNumber) => Effect.Effect<Job | null, StateError>
    /** Next to run first, then those that wait for somebody, then the finished ones. Without `all`: no completed ones. */
    readonly list: (options: { readonly all: boolean }) => Effect.Effect<ReadonlyArray<JobView>, StateError>
    /** How many are scheduled, and when the next is due (epoch milliseconds). */
    readonly summary: Effect.Effect<JobSummary, StateError>
    /** Takes what an unpinned job runs on from the settings of now (`resnap`). */
    readonly resnap: (reference: string) => Effect.Effect<JobView, JobError>
  }
>() {}
