import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** The model that a person chose for a conversation, or for all of them (`all`). */
export const modelChoices = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(`CREATE TABLE model_choices (
    scope TEXT PRIMARY KEY NOT NULL,
    wanted TEXT NOT NULL,
    chosen_at INTEGER NOT NULL
  ) WITHOUT ROWID`)
)
