import { Context, type Effect } from "effect"

/** Rung when something about what is due has changed: a sleeping scheduler looks again at once. */
export class Bell extends Context.Tag("hermes/schedule/Bell")<
  Bell,
  {
    /** Never waits; many rings before somebody hears are one. */
    readonly ring: Effect.Effect<void>
    /** Waits for a ring since the last that was heard. */
    readonly heard: Effect.Effect<void>
  }
>() {}
