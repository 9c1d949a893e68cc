import { Context, type Effect, Schema } from "effect"
import type { SessionId } from "../session/Session.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { TokenUsage } from "./TokenUsage.js"

/** What one backend was asked for: an empty task is the conversation itself, else `compression`, `title` … */
export interface Spent {
  readonly provider: string
  readonly model: string
  readonly task: string
  readonly calls: number
  readonly tokens: TokenUsage
}

export const Grouping = Schema.Literal("day", "session", "job", "model")
export type Grouping = typeof Grouping.Type

/** Calls, tokens and cost of one day, session, job or model. */
export const UsageLine = Schema.Struct({
  /** The day (`2026-11-29`, in the owner's time zone), the session's or job's id, or `provider/model`. */
  key: Schema.String,
  /** A session's title or a job's name, where it has one. */
  name: Schema.NullOr(Schema.String),
  calls: Schema.Int,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  cacheReadTokens: Schema.Int,
  cacheWriteTokens: Schema.Int,
  reasoningTokens: Schema.Int,
  /** An estimate in US dollars of the calls whose price is known. */
  costUsd: Schema.Number,
  /** Calls to models whose price nobody knows: the cost does not have them. */
  unpricedCalls: Schema.Int
}).annotations({ identifier: "UsageLine" })
export type UsageLine = typeof UsageLine.Type

/** What was used, as it was counted by who was asked (state-agent.md 2.7). */
export class Usage extends Context.Tag("hermes/agent/Usage")<
  Usage,
  {
    /** Adds to today's figures. `job` is the scheduled job that it was for. */
    readonly add: (session: SessionId, job: string | null, spent: Spent) => Step<void>
    /** Newest day first; else the most expensive first. `days` counts back from today, which is 1. */
    readonly by: (
      grouping: Grouping,
      options: { readonly days: number; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<UsageLine>, StateError>
    /** All of one session. */
    readonly ofSession: (id: SessionId) => Effect.Effect<UsageLine | null, StateError>
    /** Today's: of everything, or of one job. Tokens are those that were read and written. */
    readonly today: (
      job: string | null
    ) => Effect.Effect<{ readonly tokens: number; readonly costUsd: number }, StateError>
  }
>() {}
