import { Context, type Effect } from "effect"
import type { StateError } from "../state/StateError.js"
import type { FireClaim } from "./FireClaim.js"

/** The trigger: claims what is due and starts it, so many at a time (cron-delivery.md 2). It begins when the gate opens. */
export class Scheduler extends Context.Tag("hermes/schedule/Scheduler")<
  Scheduler,
  {
    /** Once at boot, before the gate opens: what the gateway before had claimed and begun is put in its place. */
    readonly recover: Effect.Effect<
      { readonly resumed: number; readonly unknown: number; readonly missed: number },
      StateError
    >
    readonly running: Effect.Effect<ReadonlyArray<FireClaim>>
    /** Claimed and waiting for a place. */
    readonly waiting: Effect.Effect<number>
    /** Interrupts what runs and waits, bounded, until each is recorded. What waits is given back. */
    readonly stop: Effect.Effect<void>
  }
>() {}
