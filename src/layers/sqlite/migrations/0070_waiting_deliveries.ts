import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** What waits is asked for by chat, in the order of sending; which chats have something is answered from this alone. */
export const waitingDeliveries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`CREATE INDEX deliveries_waiting
    ON deliveries (platform, chat_id, coalesce(resend_of, id), not_before) WHERE state = 'pending'`)
})
