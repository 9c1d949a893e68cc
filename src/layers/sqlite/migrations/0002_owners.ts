import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** The lease of the process that works on a row without being the gateway; null: the gateway's. */
export const owners = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE turns ADD COLUMN owner TEXT")
  yield* sql.unsafe("ALTER TABLE inbound_events ADD COLUMN owner TEXT")
})
