import { Context, type Effect } from "effect"

/** Rung when something about what is due has changed: a sleeping scheduler looks again at once. */
export class Bell extends Context.Tag("hermes/schedule/Bell")<
  Bell,
  {
    /** Never waits; many rings before somebody hears are one. */
    readonly ring: Effect.Effect<void>
    /** The same for what is there from now on and due at `instant`: whoever wakes in time for it is left asleep. */
    readonly ringFor: (instant: number) => Effect.Effect<void>
    /** Waits for a ring since the last that was heard, so many milliseconds at most. */
    readonly heardWithin: (millis: number) => Effect.Effect<void>
  }
>() {}
