import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** A delivery is forgotten after the one that was sent again for it, and finding that would be a look at every delivery. */
export const retention = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("CREATE INDEX deliveries_resend ON deliveries (resend_of) WHERE resend_of IS NOT NULL")
})
