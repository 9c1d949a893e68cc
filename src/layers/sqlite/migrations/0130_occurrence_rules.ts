import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** What asked for the occurrences of one row: the job may have another rule since. */
export const occurrenceRules = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE occurrences ADD COLUMN rule INTEGER`
})
