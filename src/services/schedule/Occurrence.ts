import { Context, type Effect, Schema } from "effect"
import { Millis } from "../operation/Instant.js"
import type { StateError } from "../state/StateError.js"
import { JobId, RunStatus } from "./Job.js"

/** The number of an occurrence; never used twice. */
export const OccurrenceId = Schema.Int.pipe(Schema.positive(), Schema.brand("hermes/OccurrenceId"))
export type OccurrenceId = typeof OccurrenceId.Type

/**
 * Why a run is there: on its time, late within grace, after a backlog, asked for by a person, or tried again after a
 * failure that never reached a model. A `manual` run and a `retry` are no occurrence of the schedule.
 */
export const OccurrenceKind = Schema.Literal("on_time", "late", "catch_up", "manual", "retry")
export type OccurrenceKind = typeof OccurrenceKind.Type

/**
 * One instant of a job's schedule and what became of it (decision 14), or a range of them that were missed or skipped
 * together. The sum of `count` over a job's rows is what its schedule asked for. Times are epoch milliseconds.
 */
export class Occurrence extends Schema.Class<Occurrence>("hermes/schedule/Occurrence")({
  id: OccurrenceId,
  jobId: JobId,
  /** Also of a job that was removed. */
  jobName: Schema.String,
  scheduledAt: Millis,
  /** The last of a range; the same as `scheduledAt` for one. */
  lastAt: Millis,
  /** 0 for what the schedule did not ask for. */
  count: Schema.Int,
  kind: OccurrenceKind,
  status: RunStatus,
  /** Times that it was claimed: a second death before its start makes it missed. */
  attempts: Schema.Int,
  claimedAt: Schema.NullOr(Millis),
  startedAt: Schema.NullOr(Millis),
  finishedAt: Schema.NullOr(Millis),
  /** Why it is what it is, for people. */
  reason: Schema.NullOr(Schema.String),
  /** Said to this run only. */
  context: Schema.NullOr(Schema.String),
  sessionId: Schema.NullOr(Schema.String),
  /** The run's document, relative to the home. */
  output: Schema.NullOr(Schema.String)
}) {}

/** The id that people and programs see, and the cause of the run's deliveries. */
export const runId = (id: OccurrenceId): string => `run_${id}`

/** An occurrence's number from the id that people see; null when it is none. */
export const ofRunId = (text: string): OccurrenceId | null => {
  const number = /^run_([1-9]\d{0,14})$/.exec(text)?.[1]
  return number === undefined ? null : OccurrenceId.make(Number(number))
}

export class Occurrences extends Context.Tag("hermes/schedule/Occurrences")<
  Occurrences,
  {
    readonly get: (id: OccurrenceId) => Effect.Effect<Occurrence | null, StateError>
    /** Newest first; of one job, or of all. */
    readonly list: (options: {
      readonly job: JobId | null
      readonly limit: number
      readonly before?: OccurrenceId
    }) => Effect.Effect<ReadonlyArray<Occurrence>, StateError>
    /** The newest of each job that has any. */
    readonly latest: (jobs: ReadonlyArray<JobId>) => Effect.Effect<ReadonlyMap<JobId, Occurrence>, StateError>
    /** Forgets settled rows beyond 90 days, but for the newest 1,000 of each job (decision 14), and finished jobs beyond their time. */
    readonly prune: Effect.Effect<number, StateError>
  }
>() {}
