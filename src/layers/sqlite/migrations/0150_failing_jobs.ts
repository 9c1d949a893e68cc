import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** How many jobs fail is asked with every look at the gateway, also where there are 100,000 of them. */
export const failingJobs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE INDEX jobs_failing ON jobs (number) WHERE failure_streak > 0 AND removed_at IS NULL`
})
