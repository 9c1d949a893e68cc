import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** The todo list of a conversation. */
export const todos = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`CREATE TABLE todos (
    session_id TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    items TEXT NOT NULL,
    updated_at INTEGER NOT NULL
  )`)
})
