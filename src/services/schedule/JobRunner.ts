import { Context, type Effect } from "effect"
import type { Claimed, FireClaim } from "./FireClaim.js"
import type { Righted } from "./JobStore.js"

/** Why a run is being interrupted: the gateway stops, or somebody else holds its occurrence. */
export type RunInterrupt = "shutdown" | "lost"

export interface RunControl {
  /** Read when the run is interrupted. */
  readonly interrupt: Effect.Effect<RunInterrupt>
}

/** The one firing path: whatever made a job due, it is run, saved, delivered and recorded here (cron-delivery.md 3.1). */
export class JobRunner extends Context.Tag("hermes/schedule/JobRunner")<
  JobRunner,
  {
    /**
     * Never fails: whatever happens is recorded and told. What a run holds is let go only after its delivery. It opens
     * itself to interruption where that is safe, so it is to be run where nothing else interrupts.
     */
    readonly run: (claim: FireClaim, control: RunControl) => Effect.Effect<void>
    /** Tells the owner of what did not run, or of which nobody knows whether it did. */
    readonly tell: (claimed: Claimed, what: "missed" | "unknown") => Effect.Effect<void>
    /** Tells each owner once of all their jobs that a clock which was ahead had put off for long. */
    readonly tellRighted: (righted: ReadonlyArray<Righted>) => Effect.Effect<void>
  }
>() {}
