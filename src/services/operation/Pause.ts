import { Context, type Effect, Schema } from "effect"
import type { StateError } from "../state/StateError.js"
import { Instant } from "./Instant.js"

/** Since when nothing new is begun, who said so and why. */
export const Paused = Schema.Struct({
  at: Instant,
  by: Schema.String,
  reason: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Paused" })
export type Paused = typeof Paused.Type

/**
 * The emergency stop (gateway.md 3.1, contract §2): while it is on, no turn and no scheduled run begins. Commands, open
 * questions and what runs go on; what comes in is kept. It outlives the gateway.
 */
export class Pause extends Context.Tag("hermes/operation/Pause")<
  Pause,
  {
    /** Null while work begins as usual. Asking touches no disk. */
    readonly current: Effect.Effect<Paused | null>
    /** Returns once it is stored and holds; a second one keeps the first. */
    readonly begin: (options: {
      readonly by: string
      readonly reason: string | null
    }) => Effect.Effect<Paused, StateError>
    /** False when there was none. */
    readonly lift: Effect.Effect<boolean, StateError>
    /** Runs `told` whenever a pause was lifted, for as long as the program lives. */
    readonly whenLifted: (told: Effect.Effect<void>) => Effect.Effect<void>
  }
>() {}
