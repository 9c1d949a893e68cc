import { Context, type Effect } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { Job, JobDefinition, JobId, JobNumber, JobState } from "./Job.js"
import type { JobAmbiguous, JobNameTaken, JobNotFound } from "./JobError.js"
import type { MonitorState } from "./Monitor.js"
import type { Schedule } from "./Schedule.js"
import type { JobSummary } from "./JobSummary.js"

/** A job with what only the scheduler has to know of it. */
export interface StoredJob {
  readonly number: JobNumber
  readonly job: Job
  /** Null when nothing is scheduled any more. */
  readonly schedule: Schedule | null
  /** Runs left; null for ever. */
  readonly remaining: number | null
  /** A run is claimed or under way. */
  readonly open: boolean
  /** Its provider's limit holds it back until then (epoch milliseconds): what is due before is skipped. */
  readonly holdUntil: number | null
  /** When what could not be reached is tried again, beside the schedule. */
  readonly retryAt: number | null
  /** A run was asked for beside the schedule, and no gateway has claimed it yet. */
  readonly asked: boolean
  /** Runs of the schedule that are claimed or under way: they count as completed when they end. */
  readonly begun: number
  readonly removed: boolean
  readonly monitor: MonitorState | null
  /** The owner was told that its configuration blocks it, and it has not run well since. */
  readonly preflightAlerted: boolean
}

/** When a job is due from now on. */
export interface Appointment {
  readonly schedule: Schedule
  /** Epoch milliseconds. */
  readonly nextAt: number
  readonly remaining: number | null
}

/** A job that a clock which was ahead had put off; `from` is null for a single run that it had given up. */
export interface Righted {
  readonly job: JobNumber
  readonly from: number | null
  readonly to: number
}

/** Jobs as rows. Times are epoch milliseconds; a name is unique without regard to case. */
export class JobStore extends Context.Tag("hermes/schedule/JobStore")<
  JobStore,
  {
    readonly insert: (job: {
      readonly id: JobId
      readonly definition: JobDefinition
      readonly appointment: Appointment
      /** Not scheduled before somebody resumes it. */
      readonly paused: { readonly reason: string } | null
    }) => Step<JobNumber, JobNameTaken>
    readonly define: (job: JobNumber, definition: JobDefinition) => Step<void, JobNameTaken>
    /**
     * Gives a job another appointment, or none. What was due until now and not claimed is recorded as skipped for
     * `reason`, so nothing vanishes; what is claimed or runs is left alone.
     */
    readonly reschedule: (job: JobNumber, appointment: Appointment | null, reason: string) => Step<void>
    /** Puts the appointment aside, or takes it back: of what came meanwhile the last instant is due, the rest is recorded as skipped. */
    readonly setPaused: (job: JobNumber, paused: { readonly reason: string } | null) => Step<void>
    readonly setState: (job: JobNumber, state: JobState, reason: string | null) => Step<void>
    readonly resetCompleted: (job: JobNumber) => Step<void>
    /** A run that the schedule does not ask for. */
    readonly wake: (wake: {
      readonly job: JobNumber
      readonly at: number
      readonly kind: "manual" | "retry"
      readonly attempt: number
      readonly context: string | null
    }) => Step<void>
    readonly dropRetries: (job: JobNumber) => Step<void>
    readonly hold: (job: JobNumber, until: number | null) => Step<void>
    readonly setMonitor: (job: JobNumber, state: MonitorState) => Step<void>
    readonly setPreflightAlerted: (job: JobNumber, alerted: boolean) => Step<void>
    readonly remove: (job: JobNumber) => Step<void>
    /** The name, or the first with a number behind it that nobody bears: it stays free as long as the transaction lasts. */
    readonly freeName: (name: string) => Step<string>
    /** As a step too, so that what is decided from a row is written against the same row; it reads as `findSpoilt` does. */
    readonly load: (job: JobNumber) => Step<StoredJob | null>
    readonly ofRun: (job: JobNumber) => Effect.Effect<StoredJob | null, StateError>
    readonly get: (id: JobId) => Effect.Effect<StoredJob | null, StateError>
    /** Exact id, else exact name without regard to case. */
    readonly find: (reference: string) => Effect.Effect<StoredJob, JobNotFound | JobAmbiguous | StateError>
    /** As `find`, for who takes the job away: a count or a time of its own that nobody can read is told as none. */
    readonly findSpoilt: (reference: string) => Effect.Effect<StoredJob, JobNotFound | StateError>
    readonly list: (options: { readonly all: boolean }) => Effect.Effect<ReadonlyArray<StoredJob>, StateError>
    readonly summary: Effect.Effect<JobSummary, StateError>
    /**
     * Ends, as skipped, what is claimed of an earlier schedule and has not begun; the occurrence at `nextAt` is one of the
     * new schedule too (cron-delivery.md 1.7).
     */
    readonly recall: (job: JobNumber, nextAt: number | null, reason: string) => Step<void>
    /** Schedules without a zone of their own follow the configured one (once, at a start). */
    readonly rezone: (timezone: string) => Effect.Effect<number, StateError>
    /**
     * After the wall clock was put back: each job is due at its first instant to come that never ran, and no other is.
     * Answers the jobs that are due sooner than they were; nothing changes where nothing was ahead.
     */
    readonly rightClock: (timezone: string) => Effect.Effect<ReadonlyArray<Righted>, StateError>
  }
>() {}
