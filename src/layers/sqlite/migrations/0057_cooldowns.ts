import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Backends that are left alone for a while, with which of their keys: its fingerprint stands in the seat. */
export const cooldowns = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(`CREATE TABLE cooldowns (
    seat TEXT PRIMARY KEY NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    reason TEXT NOT NULL
  ) WITHOUT ROWID`)
)
