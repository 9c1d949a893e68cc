import { Deferred, Effect, Layer } from "effect"
import { Readiness } from "../../services/operation/Readiness.js"

/** Closed until `open`. */
export const layer: Layer.Layer<Readiness> = Layer.effect(
  Readiness,
  Effect.map(Deferred.make<void>(), (gate) => ({
    await: Deferred.await(gate),
    open: Effect.asVoid(Deferred.succeed(gate, undefined))
  }))
)

/** Open from the start: for compositions that recover nothing. */
export const layerOpen: Layer.Layer<Readiness> = Layer.succeed(Readiness, { await: Effect.void, open: Effect.void })
