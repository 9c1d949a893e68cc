import { Context, type Effect } from "effect"

/** The gate at start-up: nothing new is taken in before what an earlier process left behind is in its place (gateway.md 3.1, step 4). */
export class Readiness extends Context.Tag("hermes/operation/Readiness")<
  Readiness,
  {
    /** Succeeds once the gate is open. */
    readonly await: Effect.Effect<void>
    readonly open: Effect.Effect<void>
  }
>() {}
