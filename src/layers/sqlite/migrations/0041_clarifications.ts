import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Questions of the agent's own, and their answers. */
export const clarifications = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`CREATE TABLE clarifications (
    id TEXT PRIMARY KEY NOT NULL,
    session_key TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    question TEXT NOT NULL,
    choices TEXT NOT NULL,
    several INTEGER NOT NULL,
    state TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    answer TEXT,
    answered_by TEXT
  ) WITHOUT ROWID`)
  yield* sql.unsafe("CREATE INDEX clarifications_call ON clarifications (turn_id, call_id)")
})
