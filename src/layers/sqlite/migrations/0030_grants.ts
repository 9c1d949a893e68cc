import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Answers that cover later questions are looked up at each question. */
export const grants = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(
    "CREATE INDEX approvals_granted ON approvals (tool) WHERE state = 'approved' AND answer IN ('session', 'always')"
  )
})
