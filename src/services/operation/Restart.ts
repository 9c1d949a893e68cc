import { Context, type Effect, Schema } from "effect"
import { Address } from "../../fibers/DeliveryOrigin.js"
import type { StateError } from "../state/StateError.js"
import { Instant } from "./Instant.js"

/** Who asked for a restart, and where it is said that the gateway is back. */
export const RestartRequest = Schema.Struct({
  at: Instant,
  by: Schema.String,
  sessionKey: Schema.String,
  address: Schema.NullOr(Address)
})
export type RestartRequest = typeof RestartRequest.Type

/** The next process would not start, so this one stays. */
export class RestartRefused extends Schema.TaggedError<RestartRefused>()("RestartRefused", {
  detail: Schema.String
}) {
  override get message(): string {
    return `I stay as I am: after a restart I would not come up again. ${this.detail}`
  }
}

/** A restart on request (gateway.md 3.9): new work is refused at once, what runs is waited for, and the next process says that it is back. */
export class Restart extends Context.Tag("hermes/operation/Restart")<
  Restart,
  {
    /** Stored when it returns; a second request while one is on its way changes nothing. Refused while the settings cannot be read. */
    readonly ask: (request: RestartRequest) => Effect.Effect<void, StateError | RestartRefused>
    /** Succeeds as soon as a restart is asked for. */
    readonly asked: Effect.Effect<RestartRequest>
    /** Succeeds when a restart was asked for and what ran has ended, or its time is over. */
    readonly due: Effect.Effect<void>
    /** What the process before this one was asked for; taken once. */
    readonly taken: Effect.Effect<RestartRequest | null, StateError>
  }
>() {}
