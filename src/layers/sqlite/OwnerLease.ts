/** The lease of a process that works on a home without being its gateway (decision 14). */
import { Clock, Context, Deferred, Effect, Layer } from "effect"
import process from "node:process"
import * as Turn from "../../fibers/Turn.js"
import { Ids } from "../../services/operation/Ids.js"
import { Database, Transaction } from "../../services/state/Database.js"
import { Owner } from "../../services/state/Owner.js"
import type { StateError } from "../../services/state/StateError.js"

/** Four beats may be missed before somebody else may take the work over. */
const expiryMillis = 60_000
const beatEvery = "15 seconds"

/** Does a row of `table` stand under a lease that is alive at `now`? */
export const isOwned = (
  table: "turns" | "inbound_events" | "internal_events" | "processes" | "worktrees",
  now: number
): string =>
  `EXISTS (SELECT 1 FROM leases WHERE leases.name = ${table}.owner AND leases.expires_at > ${Math.trunc(now)})`

/** A row when a process that is not the gateway holds its lease at `?`. */
export const isAnybody = "SELECT 1 FROM leases WHERE name LIKE 'process:%' AND expires_at > ? LIMIT 1"

export class OwnerLease extends Context.Tag("hermes/sqlite/OwnerLease")<
  OwnerLease,
  {
    /** Succeeds when the lease was lost (this process was stopped for longer than it lasts): what it worked on may be somebody else's. */
    readonly lost: Effect.Effect<void>
  }
>() {}

const make = Effect.gen(function* () {
  const database = yield* Database
  const ids = yield* Ids
  const name = `process:${yield* ids.next("lease")}`
  const token = yield* ids.next("lease")
  const lost = yield* Deferred.make<void>()

  const take = database.write(
    "lease.take",
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      yield* sql`DELETE FROM leases WHERE name LIKE 'process:%' AND expires_at <= ${now - 24 * 60 * expiryMillis}`
      yield* sql`INSERT INTO leases ${sql.insert({
        name,
        owner: String(process.pid),
        token,
        expires_at: now + expiryMillis,
        beat_at: now
      })}`
    })
  )

  /** False when it had expired: from then on it is not ours any more. */
  const beat: Effect.Effect<boolean, StateError> = database.write(
    "lease.beat",
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      const kept = yield* sql`UPDATE leases SET expires_at = ${now + expiryMillis}, beat_at = ${now}
        WHERE name = ${name} AND token = ${token} AND expires_at > ${now} RETURNING name`
      return kept.length > 0
    })
  )

  const release = database
    .write(
      "lease.release",
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`DELETE FROM leases WHERE name = ${name} AND token = ${token}`)
      )
    )
    .pipe(Effect.catchAll((error) => Effect.logWarning("a lease could not be given back; it expires", error)))

  yield* Effect.acquireRelease(take, () => release)
  yield* beat.pipe(
    Effect.catchAll((error) => Effect.as(Effect.logWarning("a lease could not be renewed", error), true)),
    Effect.flatMap((kept) => (kept ? Effect.void : Deferred.succeed(lost, undefined))),
    Effect.delay(beatEvery),
    Effect.forever,
    Turn.forkWorker
  )
  return Context.make(OwnerLease, { lost: Deferred.await(lost) }).pipe(Context.add(Owner, name))
})

/** Held while the layer lives. What begins meanwhile is this process's; the row is taken away at a clean end. */
export const layer: Layer.Layer<OwnerLease | Owner, StateError, Database | Ids> = Layer.scopedContext(make)
