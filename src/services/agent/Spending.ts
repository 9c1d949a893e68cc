import { Context, type Effect, Schema } from "effect"
import { Instant } from "../operation/Instant.js"
import type { Spent } from "./Usage.js"
import type { StateError } from "../state/StateError.js"

/** One limit of the owner and how far it is used. */
export const Limit = Schema.Struct({
  name: Schema.Literal("limits.daily_usd", "limits.daily_tokens", "limits.per_job_usd"),
  /** Dollars or tokens a day. */
  limit: Schema.Number,
  used: Schema.Number,
  reached: Schema.Boolean,
  /** When the day of the limit ends. */
  liftsAt: Instant
}).annotations({ identifier: "SpendingLimit" })
export type Limit = typeof Limit.Type

const amount = ({ name, limit }: Limit): string =>
  name === "limits.daily_tokens" ? `${limit.toLocaleString("en-US")} tokens` : `$${limit}`

/** A limit that is reached, as a person is told: which, and when work begins again. */
export const describe = (reached: Limit, liftsAt: string): string =>
  reached.name === "limits.per_job_usd"
    ? `The job has used its ${amount(reached)} of today (${reached.name}); it runs again from ${liftsAt}.`
    : `Today's limit of ${amount(reached)} is used up (${reached.name}); I go on at ${liftsAt}.`

/** The owner's limits (contract §3): reached, nothing new is begun and what runs ends at its next call of the model. */
export class Spending extends Context.Tag("hermes/agent/Spending")<
  Spending,
  {
    /** Null while there is something left. `job` is what the work is for; `open` what it has used that is no row yet. */
    readonly reached: (job: string | null, open: ReadonlyArray<Spent>) => Effect.Effect<Limit | null, StateError>
    /** Every limit that is set, of the whole gateway. */
    readonly limits: Effect.Effect<ReadonlyArray<Limit>, StateError>
    /** What the person is told. */
    readonly words: (limit: Limit) => string
  }
>() {}
