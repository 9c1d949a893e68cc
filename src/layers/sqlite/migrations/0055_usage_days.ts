import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const statements = [
  // By day of the owner's zone first: what was used today is asked before every turn that a limit could stop.
  `CREATE TABLE usage_by_day (
    day TEXT NOT NULL,
    session_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    task TEXT NOT NULL DEFAULT '',
    job_id TEXT,
    calls INTEGER NOT NULL DEFAULT 0,
    unpriced_calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (day, session_id, provider, model, task)
  ) WITHOUT ROWID`,
  // What was counted without a day is of the day on which its session began.
  `INSERT INTO usage_by_day (day, session_id, provider, model, task, calls, unpriced_calls, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, reasoning_tokens)
    SELECT date(s.started_at / 1000, 'unixepoch'), u.session_id, u.provider, u.model, u.task, u.calls, u.calls,
      u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_tokens, u.reasoning_tokens
    FROM usage AS u JOIN sessions AS s ON s.id = u.session_id`,
  "DROP TABLE usage",
  "ALTER TABLE usage_by_day RENAME TO usage",
  "CREATE INDEX usage_session ON usage (session_id)"
]

/** What was used, by day, with its estimated cost and the job that it was for. */
export const usageDays = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
