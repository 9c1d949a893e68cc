import { Context, type Effect, Schema } from "effect"
import type { StateError } from "../state/StateError.js"

const Count = Schema.Struct({ state: Schema.String, count: Schema.Int })

/** What the database holds of what is still to be done. */
export const Stock = Schema.Struct({
  /** Deliveries that are not settled for good: pending, sending, unknown. */
  deliveries: Schema.Array(Count),
  /** Jobs by state: scheduled, paused, completed, error. */
  jobs: Schema.Array(Count),
  databaseBytes: Schema.Int
})
export type Stock = typeof Stock.Type

/** Counts for dashboards. Each look is a few reads by index. */
export class Inventory extends Context.Tag("hermes/operation/Inventory")<
  Inventory,
  { readonly stock: Effect.Effect<Stock, StateError> }
>() {}
