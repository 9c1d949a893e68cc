import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Worktrees of helpers, so that those of a process that died are found, and nothing of them is lost. */
export const worktrees = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`CREATE TABLE worktrees (
    delegation_id TEXT PRIMARY KEY NOT NULL,
    repository TEXT NOT NULL,
    path TEXT NOT NULL,
    branch TEXT NOT NULL,
    base TEXT NOT NULL,
    owner TEXT,
    made_at INTEGER NOT NULL,
    kept_at INTEGER
  ) STRICT`)
})
