import { Context, type Effect, Schema } from "effect"
import type { StateError } from "../state/StateError.js"

/** Where the gateway of this home answers. A row cannot say that the process is alive: whoever reads it asks `/health`. */
export class GatewayAddress extends Schema.Class<GatewayAddress>("hermes/operation/GatewayAddress")({
  pid: Schema.Int,
  url: Schema.String,
  version: Schema.String,
  /** Epoch milliseconds. */
  startedAt: Schema.Number,
  state: Schema.Literal("starting", "running", "draining")
}) {}

export class GatewayAddresses extends Context.Tag("hermes/operation/GatewayAddresses")<
  GatewayAddresses,
  {
    /** Replaces whatever an earlier gateway left there. Only who holds the home's lock calls it. */
    readonly publish: (address: GatewayAddress) => Effect.Effect<void, StateError>
    /** Takes the row away at a clean end, if it is still the one of `pid`. */
    readonly withdraw: (pid: number) => Effect.Effect<void, StateError>
    readonly current: Effect.Effect<GatewayAddress | null, StateError>
  }
>() {}
