import type { SqlClient } from "@effect/sql"
import { Clock, Effect, Layer, Option, Schema } from "effect"
import process from "node:process"
import { Ids } from "../../services/operation/Ids.js"
import {
  type CompactionLease,
  CompactionLost,
  CompactionStale,
  CompactionStore
} from "../../services/session/CompactionStore.js"
import { Millis } from "../../services/operation/Instant.js"
import type { SessionId } from "../../services/session/Session.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

/** Three beats may be missed. After a crash the session can be compacted again when it has run out. */
const leaseMillis = 60_000

/** Runs that save nothing before it is left alone, and for how long. */
const mostIneffective = 2
const pauseMillis = 30 * 60_000

const nameOf = (sessionId: string): string => `compaction:${sessionId}`

/** Is a summary of the session being made? */
export const isLeased = (sql: SqlClient.SqlClient, sessionId: string, now: number) =>
  Effect.map(
    Rows.count(sql`SELECT count(*) AS count FROM leases WHERE name = ${nameOf(sessionId)} AND expires_at > ${now}`),
    (leases) => leases > 0
  )

const History = Rows.first(
  Schema.Struct({
    failures: Schema.Number,
    notBefore: Schema.NullOr(Millis),
    ineffective: Schema.Number,
    pausedUntil: Schema.NullOr(Millis),
    error: Schema.NullOr(Schema.String)
  })
)

const Inserted = Rows.first(Schema.Struct({ id: Schema.Number }))

const none = { failures: 0, notBefore: null, ineffective: 0, pausedUntil: null, error: null }

const countIneffective = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    const now = yield* Clock.currentTimeMillis
    yield* sql`INSERT INTO compactions (session_id, ineffective) VALUES (${sessionId}, 1)
      ON CONFLICT (session_id) DO UPDATE SET failures = 0, not_before = NULL, error = NULL,
        ineffective = ineffective + 1,
        paused_until = CASE WHEN ineffective + 1 >= ${mostIneffective} THEN ${now + pauseMillis} END`
  })

const make = Effect.gen(function* () {
  const database = yield* Database
  const ids = yield* Ids

  const isMine = ({ sessionId, token }: CompactionLease) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      const mine = yield* sql`SELECT 1 FROM leases
        WHERE name = ${nameOf(sessionId)} AND token = ${token} AND expires_at > ${now}`
      return mine.length > 0
    })

  return CompactionStore.of({
    history: (sessionId) =>
      Effect.map(
        database.read("compaction.history", (sql) =>
          History(sql`SELECT failures, not_before AS notBefore, ineffective, paused_until AS pausedUntil, error
            FROM compactions WHERE session_id = ${sessionId}`)
        ),
        (row) => row ?? none
      ),
    acquire: (sessionId) =>
      Effect.flatMap(ids.next("lease"), (token) =>
        database.write(
          "compaction.acquire",
          Effect.gen(function* () {
            const sql = yield* Transaction
            const now = yield* Clock.currentTimeMillis
            const lease = { owner: String(process.pid), token, expires_at: now + leaseMillis, beat_at: now }
            const taken = yield* sql`INSERT INTO leases ${sql.insert({ name: nameOf(sessionId), ...lease })}
              ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = excluded.token,
                expires_at = excluded.expires_at, beat_at = excluded.beat_at
              WHERE leases.expires_at <= ${now} RETURNING name`
            return taken.length === 0 ? Option.none() : Option.some({ sessionId, token })
          })
        )
      ),
    renew: ({ sessionId, token }) =>
      database.write(
        "compaction.renew",
        Effect.gen(function* () {
          const sql = yield* Transaction
          const now = yield* Clock.currentTimeMillis
          const kept = yield* sql`UPDATE leases SET expires_at = ${now + leaseMillis}, beat_at = ${now}
            WHERE name = ${nameOf(sessionId)} AND token = ${token} AND expires_at > ${now} RETURNING name`
          return kept.length > 0
        })
      ),
    release: ({ sessionId, token }) =>
      database.write(
        "compaction.release",
        Effect.flatMap(Transaction, (sql) =>
          Effect.asVoid(sql`DELETE FROM leases WHERE name = ${nameOf(sessionId)} AND token = ${token}`)
        )
      ),
    commit: (lease, { rows, position, summary, effective }) =>
      database.write(
        "compaction.commit",
        Effect.gen(function* () {
          const sql = yield* Transaction
          const { sessionId } = lease
          if (!(yield* isMine(lease))) return yield* new CompactionLost({ sessionId })
          const gone = yield* sql`UPDATE messages SET active = 0, compacted = 1
            WHERE id IN (SELECT value FROM json_each(${JSON.stringify(rows)}))
              AND session_id = ${sessionId} AND active = 1 RETURNING id`
          if (gone.length !== rows.length) return yield* new CompactionStale({ sessionId })
          const at = yield* Clock.currentTimeMillis
          const stored = yield* Inserted(
            sql`INSERT INTO messages ${sql.insert({ session_id: sessionId, at, role: "summary", text: summary, position })}
              RETURNING id`
          )
          if (effective) yield* sql`DELETE FROM compactions WHERE session_id = ${sessionId}`
          else yield* countIneffective(sessionId)
          return stored?.id ?? 0
        }),
        "transcript"
      ),
    failed: (sessionId, error, waitMillis) =>
      database.write(
        "compaction.failed",
        Effect.gen(function* () {
          const sql = yield* Transaction
          const until = (yield* Clock.currentTimeMillis) + waitMillis
          yield* sql`INSERT INTO compactions (session_id, failures, not_before, error)
            VALUES (${sessionId}, 1, ${until}, ${error})
            ON CONFLICT (session_id) DO UPDATE SET failures = failures + 1, error = excluded.error,
              not_before = max(coalesce(not_before, 0), excluded.not_before)`
        })
      ),
    ineffective: (sessionId) => database.write("compaction.ineffective", countIneffective(sessionId))
  })
})

/** Compactions in SQLite. */
export const layer: Layer.Layer<CompactionStore, never, Database | Ids> = Layer.effect(CompactionStore, make)
