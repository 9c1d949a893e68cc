import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Where a stranger asked to be let in: there they are told that they were. Nobody knows it of who asked before. */
export const pairingAddress = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE pairing_requests ADD COLUMN address TEXT`
})
