import { Clock, Effect, Layer, Schema } from "effect"
import * as Price from "../../services/agent/Price.js"
import { type Grouping, Usage, UsageLine } from "../../services/agent/Usage.js"
import { Settings } from "../../services/operation/Settings.js"
import { localTime } from "../../services/schedule/LocalTime.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const sums = `sum(calls) AS calls, sum(input_tokens) AS inputTokens, sum(output_tokens) AS outputTokens,
  sum(cache_read_tokens) AS cacheReadTokens, sum(cache_write_tokens) AS cacheWriteTokens,
  sum(reasoning_tokens) AS reasoningTokens, sum(cost_usd) AS costUsd, sum(unpriced_calls) AS unpricedCalls`

/** What a line stands for, what it is called, and which rows have it. */
const groups: {
  readonly [Group in Grouping]: { readonly key: string; readonly name: string; readonly where: string }
} = {
  day: { key: "day", name: "NULL", where: "1" },
  session: { key: "session_id", name: "(SELECT title FROM sessions WHERE id = session_id)", where: "1" },
  job: {
    key: "job_id",
    name: "(SELECT name FROM jobs WHERE id = job_id)",
    where: "job_id IS NOT NULL"
  },
  model: { key: "provider || '/' || model", name: "NULL", where: "1" }
}

const lines = Rows.all(UsageLine, "usage")
const line = Rows.first(UsageLine)
const Total = Schema.Struct({ tokens: Schema.Number, costUsd: Schema.Number })
const total = Rows.first(Total)

const dayMillis = 86_400_000

/** Figures in SQLite, a row per day, session, model and task. */
export const layer = Layer.effect(
  Usage,
  Effect.gen(function* () {
    const database = yield* Database
    const { prices, timezone } = yield* Settings

    const dayOf = (millis: number): string => localTime(millis, timezone).slice(0, 10)
    const today = Effect.map(Clock.currentTimeMillis, dayOf)

    return Usage.of({
      add: Effect.fnUntraced(function* (session, job, { calls, model, provider, task, tokens }) {
        const sql = yield* Transaction
        const cost = Price.costOf({ provider, model }, tokens, prices)
        yield* sql`INSERT INTO usage (day, session_id, provider, model, task, job_id, calls, unpriced_calls,
              input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd)
            VALUES (${yield* today}, ${session}, ${provider}, ${model}, ${task}, ${job}, ${calls},
              ${cost === null ? calls : 0}, ${tokens.inputTokens}, ${tokens.outputTokens}, ${tokens.cacheReadTokens},
              ${tokens.cacheWriteTokens}, ${tokens.reasoningTokens}, ${cost ?? 0})
            ON CONFLICT (day, session_id, provider, model, task) DO UPDATE SET
            calls = calls + excluded.calls,
            unpriced_calls = unpriced_calls + excluded.unpriced_calls,
            input_tokens = input_tokens + excluded.input_tokens,
            output_tokens = output_tokens + excluded.output_tokens,
            cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
            cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
            reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
            cost_usd = cost_usd + excluded.cost_usd`
      }),
      by: Effect.fn("Usage.by")(function* (grouping, { days, limit }) {
        const since = dayOf((yield* Clock.currentTimeMillis) - (days - 1) * dayMillis)
        const { key, name, where } = groups[grouping]
        return yield* database.read("usage.by", (sql) =>
          lines(
            sql`SELECT ${sql.literal(key)} AS key, ${sql.literal(name)} AS name, ${sql.literal(sums)} FROM usage
              WHERE day >= ${since} AND ${sql.literal(where)} GROUP BY 1
              ORDER BY ${sql.literal(grouping === "day" ? "1 DESC" : "costUsd DESC, inputTokens DESC, 1")} LIMIT ${limit}`
          )
        )
      }),
      ofSession: (id) =>
        database.read("usage.session", (sql) =>
          line(sql`SELECT session_id AS key, NULL AS name, ${sql.literal(sums)} FROM usage
            WHERE session_id = ${id} GROUP BY 1`)
        ),
      today: Effect.fn("Usage.today")(function* (job) {
        const day = yield* today
        const found = yield* database.read("usage.today", (sql) =>
          total(sql`SELECT coalesce(sum(input_tokens + output_tokens), 0) AS tokens, coalesce(sum(cost_usd), 0) AS costUsd
            FROM usage WHERE day = ${day} AND (${job} IS NULL OR job_id = ${job})`)
        )
        return found ?? { tokens: 0, costUsd: 0 }
      })
    })
  })
)
