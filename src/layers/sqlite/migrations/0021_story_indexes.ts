import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** A story goes from a turn to its helpers, and from a message to its turns. */
export const storyIndexes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("CREATE INDEX turns_parent ON turns (parent_id) WHERE parent_id IS NOT NULL")
  yield* sql.unsafe("CREATE INDEX turns_inbox ON turns (inbox_id) WHERE inbox_id IS NOT NULL")
})
