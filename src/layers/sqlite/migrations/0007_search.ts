import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const statements = [
  // The index is a file of its own; what is deleted here has to be taken out there, and survives a crash in between.
  "CREATE TABLE search_forgotten (id INTEGER PRIMARY KEY)",
  `CREATE TRIGGER messages_forgotten AFTER DELETE ON messages BEGIN
    INSERT OR IGNORE INTO search_forgotten (id) VALUES (OLD.id);
  END`
]

/** What the search index still has to forget. */
export const search = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
