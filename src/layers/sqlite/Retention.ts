/** Forgets what has ended long ago (state-agent.md 1.11): conversations, and the rows of what was done for them. */
import type { SqlClient } from "@effect/sql"
import { Clock, Effect, Layer, Schema } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { Settings } from "../../services/operation/Settings.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Ids from "../node/Ids.js"
import * as Meta from "./Meta.js"
import * as Daily from "../operation/Daily.js"

/** Rows of one step, and conversations: a step is a millisecond or two of everybody's time. */
const rowsAtOnce = 100
const sessionsAtOnce = 5

const dayMillis = 86_400_000

/** What was used is asked for by month and year, also when its conversations are gone. */
const usageDays = 400

/** A start is no time for it: people wait. */
const firstAfter = "10 minutes"

/** When it was last done, so that a gateway that is started often does not do it often. */
const doneAt = Meta.fact("last_auto_prune", Schema.Number)

/**
 * Steps that delete rows of one kind that ended before an instant, oldest first; their ids tell the time, so that what is
 * younger is not looked at. What others refer to waits until those are gone.
 */
const steps = (before: number, now: number) => {
  const usedBefore = new Date(Math.min(before, now - usageDays * dayMillis)).toISOString().slice(0, 10)
  const olderThan = (kind: Parameters<typeof Ids.earliest>[0]) => Ids.earliest(kind, before)
  return [
    (sql: SqlClient.SqlClient) => sql`DELETE FROM usage WHERE (day, session_id, provider, model, task) IN (
      SELECT day, session_id, provider, model, task FROM usage WHERE day < ${usedBefore}
        ORDER BY day LIMIT ${rowsAtOnce}) RETURNING 1`,
    (sql: SqlClient.SqlClient) => sql`DELETE FROM inbound_events WHERE id IN (
      SELECT id FROM inbound_events WHERE id < ${olderThan("event")} AND accepted_at < ${before}
        AND state NOT IN ('accepted', 'running') ORDER BY id LIMIT ${rowsAtOnce}) RETURNING 1`,
    (sql: SqlClient.SqlClient) => sql`DELETE FROM approvals WHERE id IN (
      SELECT id FROM approvals WHERE id < ${olderThan("approval")} AND asked_at < ${before} AND state <> 'open'
        ORDER BY id LIMIT ${rowsAtOnce}) RETURNING 1`,
    (sql: SqlClient.SqlClient) => sql`DELETE FROM clarifications WHERE id IN (
      SELECT id FROM clarifications WHERE id < ${olderThan("call")} AND asked_at < ${before} AND state <> 'open'
        ORDER BY id LIMIT ${rowsAtOnce}) RETURNING 1`,
    (sql: SqlClient.SqlClient) => sql`DELETE FROM deliveries WHERE id IN (
      SELECT id FROM deliveries AS d WHERE id < ${olderThan("delivery")} AND settled_at < ${before}
        AND state IN ('sent', 'failed', 'suppressed', 'unknown')
        AND NOT EXISTS (SELECT 1 FROM deliveries AS again WHERE again.resend_of = d.id)
        ORDER BY id LIMIT ${rowsAtOnce}) RETURNING 1`,
    (sql: SqlClient.SqlClient) => sql`DELETE FROM internal_events WHERE (kind, cause_id) IN (
      SELECT kind, cause_id FROM internal_events WHERE settled_at IS NOT NULL AND settled_at < ${before}
        ORDER BY settled_at LIMIT ${rowsAtOnce}) RETURNING 1`,
    (sql: SqlClient.SqlClient) => sql`DELETE FROM processes WHERE id IN (
      SELECT id FROM processes WHERE id < ${olderThan("process")} AND ended_at < ${before}
        ORDER BY id LIMIT ${rowsAtOnce}) RETURNING 1`,
    (sql: SqlClient.SqlClient) => sql`DELETE FROM delegations WHERE id IN (
      SELECT id FROM delegations WHERE id < ${olderThan("delegation")} AND ended_at < ${before}
        ORDER BY id LIMIT ${rowsAtOnce}) RETURNING 1`,
    (sql: SqlClient.SqlClient) =>
      Effect.gen(function* () {
        const gone = yield* sql<{ readonly id: string }>`DELETE FROM turns WHERE id IN (
          SELECT id FROM turns AS t WHERE id < ${olderThan("turn")} AND ended_at < ${before}
            AND NOT EXISTS (SELECT 1 FROM turns AS child WHERE child.parent_id = t.id)
            ORDER BY id LIMIT ${rowsAtOnce}) RETURNING id`
        if (gone.length > 0) yield* sql`DELETE FROM tool_calls WHERE turn_id IN ${sql.in(gone.map(({ id }) => id))}`
        return gone
      })
  ]
}

/** What one run has forgotten. */
export interface Forgotten {
  readonly sessions: number
  readonly rows: number
}

/** Forgets everything that ended before an instant, in small steps between which others have their turn. */
export const forget = (before: number) =>
  Effect.gen(function* () {
    const database = yield* Database
    const store = yield* SessionStore
    let [sessions, rows] = [0, 0]
    for (let found = sessionsAtOnce; found === sessionsAtOnce; yield* Effect.sleep("20 millis")) {
      found = (yield* store.prune({ before, limit: sessionsAtOnce })).length
      sessions += found
    }
    for (const step of steps(before, yield* Clock.currentTimeMillis))
      // Until there is nothing: with a row may have gone what kept another.
      for (let found = 1; found > 0; yield* Effect.sleep("20 millis")) {
        found = (yield* database.write("retention", Effect.flatMap(Transaction, step))).length
        rows += found
      }
    return { sessions, rows } satisfies Forgotten
  })

const once = Effect.gen(function* () {
  const database = yield* Database
  const { retentionDays } = (yield* Settings).database
  if (retentionDays === null) return
  const now = yield* Clock.currentTimeMillis
  if (now - ((yield* doneAt.get) ?? 0) < dayMillis) return
  const forgotten = yield* forget(now - retentionDays * dayMillis)
  yield* database.write("retention.done", doneAt.put(now))
  if (forgotten.sessions + forgotten.rows > 0)
    yield* Effect.logInfo(
      `forgot ${forgotten.sessions} conversations and ${forgotten.rows} rows that ended more than ${retentionDays} days ago`
    )
})

/** Once a day, as long as the gateway lives. */
export const layer: Layer.Layer<never, never, Database | SessionStore | Settings> = Layer.scopedDiscard(
  Turn.forkWorker(Daily.repeated(once, { firstAfter, trouble: "what is old could not be forgotten" }))
)
