import { Context, type Effect } from "effect"

/** Tells when the wall clock did not go as time did: it was set, or the machine slept. */
export class ClockWatch extends Context.Tag("hermes/operation/ClockWatch")<
  ClockWatch,
  {
    /** By how much the wall clock has jumped since the last time it was asked, milliseconds: forward positive, 0 for less than a second. */
    readonly jumped: Effect.Effect<number>
  }
>() {}
