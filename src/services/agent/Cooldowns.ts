/** Which backends are left alone for a while after a failure, with which of their keys (state-agent.md 3.8, 3.9). */
import { Context, type Effect, Schema } from "effect"
import type { StateError } from "../state/StateError.js"

/** A backend with one of its credentials, which is known by a fingerprint and never by itself. */
export const Seat = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  /** Where it is asked, without what an address may hold of secrets; null at the provider's own. */
  baseUrl: Schema.NullOr(Schema.String),
  /** Null where it has none. */
  credential: Schema.NullOr(Schema.String)
})
export type Seat = typeof Seat.Type

export interface Cooldown {
  readonly seat: Seat
  /** Epoch milliseconds. */
  readonly since: number
  readonly until: number
  /** What it failed with, or `exhausted` where nobody of its chain answered. */
  readonly reason: string
}

/** The name of a seat: two are the same where all of it is. */
export const nameOf = ({ baseUrl, credential, model, provider }: Seat): string =>
  JSON.stringify([provider, model, baseUrl, credential])

export class Cooldowns extends Context.Tag("hermes/agent/Cooldowns")<
  Cooldowns,
  {
    /** Never shortens one that is longer. What cannot be stored counts in this process. */
    readonly begin: (seat: Seat, millis: number, reason: string) => Effect.Effect<void>
    /** Until when (epoch milliseconds) each seat is left alone that is now, by its name: those of other processes too. */
    readonly current: Effect.Effect<ReadonlyMap<string, number>>
    readonly list: Effect.Effect<ReadonlyArray<Cooldown>, StateError>
    /** Lets these be asked again at once; answers how many were not. */
    readonly lift: (is: (seat: Seat) => boolean) => Effect.Effect<number, StateError>
  }
>() {}
