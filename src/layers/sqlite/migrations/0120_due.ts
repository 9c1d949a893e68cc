import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const statements = [
  // An edit beside a removal could leave them.
  `DELETE FROM schedule WHERE job IN (SELECT number FROM jobs WHERE removed_at IS NOT NULL)`,
  `CREATE TABLE due (
    next_at INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (next_at, settled, job)
  ) WITHOUT ROWID`,
  `INSERT INTO due (next_at, settled, job) SELECT next_at, settled, job FROM schedule`,
  `DROP INDEX schedule_next`,
  `ALTER TABLE schedule DROP COLUMN next_at`,
  `ALTER TABLE schedule DROP COLUMN settled`
]

/**
 * When jobs are due stands in the order in which they come due; a job's own row changes with an edit only. Of one instant
 * those stand last that were put there last, beside each other.
 */
export const due = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
