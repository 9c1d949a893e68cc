import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const raised = "UPDATE sessions SET transcript_revision = transcript_revision + 1 WHERE id"

const statements = [
  // Each turn asks whether the rows that it knows are still the live ones: answered by this, it costs the same in a long
  // conversation. Whatever is done to a live row raises it, whoever does it; what is appended is found by its id.
  "ALTER TABLE sessions ADD COLUMN transcript_revision INTEGER NOT NULL DEFAULT 0",
  `CREATE TRIGGER messages_changed AFTER UPDATE ON messages WHEN OLD.active = 1 OR NEW.active = 1 BEGIN
    ${raised} IN (OLD.session_id, NEW.session_id);
  END`,
  `CREATE TRIGGER messages_deleted AFTER DELETE ON messages WHEN OLD.active = 1 BEGIN
    ${raised} = OLD.session_id;
  END`
]

export const transcriptRevision = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
