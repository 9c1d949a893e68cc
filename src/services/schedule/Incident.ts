import { Context, type Effect, Schema } from "effect"
import { Millis } from "../operation/Instant.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import { JobId, type JobNumber } from "./Job.js"

/** `detected`: nobody was told yet; `alerted`: a notice left; `resolved`: the job ran well again; `closed`: its owner knows, and wants no more notices of it. */
export const IncidentState = Schema.Literal("detected", "alerted", "resolved", "closed")
export type IncidentState = typeof IncidentState.Type

/** One way in which a job fails, however often. Times are epoch milliseconds. */
export class Incident extends Schema.Class<Incident>("hermes/schedule/Incident")({
  id: Schema.String,
  jobId: JobId,
  jobName: Schema.String,
  kind: Schema.String,
  /** Redacted, cut at 500 characters. */
  error: Schema.String,
  state: IncidentState,
  count: Schema.Int,
  firstAt: Millis,
  lastAt: Millis,
  alertedAt: Schema.NullOr(Millis),
  closedAt: Schema.NullOr(Millis)
}) {}

/** What of an error makes it the same again: its first 200 characters, without numbers and ids that change. */
export const signature = (error: string): string =>
  error
    .toLowerCase()
    .replace(/\b(?:0x)?[0-9a-f]{8,}\b|\d+/g, "#")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 200)

/** There is no such incident. */
export class IncidentNotFound extends Schema.TaggedError<IncidentNotFound>()("IncidentNotFound", {
  id: Schema.String
}) {
  override get message(): string {
    return `there is no incident ${this.id}; \`hermes cron incidents\` lists them`
  }
}

/** Failures as incidents: told once, acknowledged, recovered (cron-delivery.md 3.11). */
export class Incidents extends Context.Tag("hermes/schedule/Incidents")<
  Incidents,
  {
    /** Counts the failure; answers whether its owner wants no notice of it. */
    readonly note: (
      job: JobNumber,
      failure: { readonly kind: string; readonly error: string }
    ) => Step<{ readonly id: string; readonly acknowledged: boolean }>
    readonly alerted: (id: string) => Step<void>
    /** The job ran well: all of it is over, and the same failure would be news again. */
    readonly resolve: (job: JobNumber) => Step<void>
    /** `acknowledge`: no more notices of it. */
    readonly acknowledge: (id: string) => Effect.Effect<Incident, IncidentNotFound | StateError>
    readonly list: (options: {
      readonly state: IncidentState | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Incident>, StateError>
  }
>() {}
