import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Each turn asks which rows of its conversation are live: answered from this alone, it costs the same in a long one. */
export const liveMessages = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("CREATE INDEX messages_live ON messages (session_id) WHERE active = 1")
})
