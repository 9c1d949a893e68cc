import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import { Monitor } from "./Job.js"

/** What a monitor saw last, kept with its job. */
export const MonitorState = Schema.Struct({
  /** What was looked at: an edit gives the job another target, also while a run of it looks. Absent in older rows. */
  of: Schema.optional(Monitor),
  /** SHA-256 of the exact bytes, hexadecimal. */
  hash: Schema.String,
  /** For the next difference; cut at 64 KiB. */
  output: Schema.String,
  changedAt: Schema.Number
})
export type MonitorState = typeof MonitorState.Type

/** Was this seen at the monitor's target of now? What another one showed is nothing to compare with. */
export const isOf = ({ of }: MonitorState, monitor: Monitor): boolean =>
  of === undefined || (of.kind === monitor.kind && of.target === monitor.target)

/** The monitor could not look; what it saw before stays. */
export class MonitorFailed extends Schema.TaggedError<MonitorFailed>()("MonitorFailed", { detail: Schema.String }) {
  override get message(): string {
    return `the monitor could not look: ${this.detail}`
  }
}

export type MonitorSight =
  | { readonly _tag: "NoChange" }
  /** `block` is said to the agent: the baseline, or the difference and what is there now. `state` is stored once the run's answer is out. */
  | { readonly _tag: "Changed"; readonly block: string; readonly state: MonitorState }

/** Looks before anything expensive happens, and wakes the agent on change only (cron-delivery.md 3.8). */
export class Monitors extends Context.Tag("hermes/schedule/Monitors")<
  Monitors,
  {
    readonly look: (
      monitor: Monitor,
      previous: MonitorState | null,
      options: { readonly workdir: string | null }
    ) => Effect.Effect<MonitorSight, MonitorFailed, CurrentTurn>
    /** Can this be looked at? Says why not, before a job with it is stored. */
    readonly check: (monitor: Monitor) => Effect.Effect<void, MonitorFailed>
  }
>() {}
