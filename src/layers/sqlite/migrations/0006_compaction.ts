import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const statements = [
  // Where a summary stands; null for every other row, which stands at its id and so never moves.
  "ALTER TABLE messages ADD COLUMN position INTEGER",
  "ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
  // One of them is touched with each message, so what is archived has an index of its own.
  "DROP INDEX sessions_activity",
  "CREATE INDEX sessions_shown ON sessions (last_activity_at) WHERE hidden = 0 AND archived = 0",
  "CREATE INDEX sessions_archived ON sessions (last_activity_at) WHERE hidden = 0 AND archived = 1",
  "CREATE INDEX sessions_pinned ON sessions (last_activity_at) WHERE hidden = 0 AND pinned = 1",
  `CREATE TABLE compactions (
    session_id TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    failures INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER,
    ineffective INTEGER NOT NULL DEFAULT 0,
    paused_until INTEGER,
    error TEXT
  ) WITHOUT ROWID`,
  // Nothing wrote the first one. An empty task is the conversation itself, else what else the model was asked for.
  "DROP TABLE usage",
  `CREATE TABLE usage (
    session_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    task TEXT NOT NULL DEFAULT '',
    calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL,
    PRIMARY KEY (session_id, provider, model, task)
  ) WITHOUT ROWID`
]

/** Summaries in their place, what is known of each session's compactions, and sessions put away or pinned. */
export const compaction = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
