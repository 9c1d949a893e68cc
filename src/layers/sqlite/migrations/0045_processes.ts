import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const statements = [
  `CREATE TABLE processes (
    id TEXT PRIMARY KEY NOT NULL,
    parcel TEXT NOT NULL,
    session_key TEXT NOT NULL,
    token TEXT NOT NULL,
    pid INTEGER,
    born TEXT,
    state TEXT NOT NULL,
    exit_code INTEGER,
    signal TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    owner TEXT
  ) WITHOUT ROWID`,
  `CREATE INDEX processes_running ON processes (started_at) WHERE ended_at IS NULL`
]

/** Commands that outlive their turn. */
export const processes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
