import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** A conversation shows the helpers that its turns had, and theirs. */
export const delegationParents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE INDEX delegations_parent ON delegations (parent_turn_id)`
})
