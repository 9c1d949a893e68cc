/**
 * Which process is the gateway of a home, as a row of its database. The lock is a file, and people delete files that
 * look stale; the row names the process itself, which is there or is not, so nobody has to wait for a lease to run out.
 */
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { readFileSync, readlinkSync } from "node:fs"
import process from "node:process"
import * as Turn from "../../fibers/Turn.js"
import { GatewayLease } from "../../services/operation/GatewayLease.js"
import { GatewayLock, HomeInUse } from "../../services/operation/GatewayLock.js"
import * as SharedMinute from "../../services/operation/SharedMinute.js"
import { Database, Transaction } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as ProcessTable from "../node/process/ProcessTable.js"
import * as DatabaseFile from "./DatabaseFile.js"
import * as Rows from "./Rows.js"

const name = "home"

/** Where the system does not say when a process began, a row counts for as long as it is renewed. */
const expiryMillis = 60_000
const beatEvery = "15 seconds"

const orEmpty = (read: () => string): string => {
  try {
    return read().trim()
  } catch {
    return ""
  }
}

/** Pids mean the same only within one start of the machine and one of its containers. */
const machine = orEmpty(
  () => `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`
)

const Holder = Schema.Struct({
  pid: Schema.Int,
  /** Empty where the system does not say. */
  began: Schema.String,
  machine: Schema.String,
  /** The folder itself: a copy of a home is another home. */
  home: Schema.String
})
const HolderText = Schema.parseJson(Holder)

const row = Rows.first(Schema.Struct({ owner: Schema.String, expiresAt: Schema.Number }))

const ofThisProcess = (home: string) =>
  Effect.map(ProcessTable.find(process.pid), (entry): typeof Holder.Type => ({
    pid: process.pid,
    began: entry?.startedAt ?? "",
    machine,
    home: DatabaseFile.identityOf(home) ?? ""
  }))

/** The pid of another process that is this home's gateway and lives; null where none is known. */
const living = (home: string, found: { readonly owner: string; readonly expiresAt: number } | null) =>
  Effect.gen(function* () {
    const holder = found === null ? Option.none() : Schema.decodeUnknownOption(HolderText)(found.owner)
    if (found === null || Option.isNone(holder) || holder.value.pid === process.pid) return null
    const { began, machine: where, pid } = holder.value
    if (where !== machine || holder.value.home !== DatabaseFile.identityOf(home)) return null
    const entry = yield* ProcessTable.find(pid)
    if (entry === null) return null
    const known = began !== "" && entry.startedAt !== ""
    const same = known ? began === entry.startedAt : found.expiresAt > (yield* Clock.currentTimeMillis)
    return same ? pid : null
  })

const read = Effect.flatMap(Database, (database) =>
  database.read("gateway.holder", (sql) =>
    row(sql`SELECT owner, expires_at AS expiresAt FROM leases WHERE name = ${name}`)
  )
)

/** Which process is this home's gateway, whether it answers or not; null where none lives, or none is known. */
export const holder = (home: string): Effect.Effect<number | null, StateError, Database> =>
  Effect.flatMap(read, (found) => living(home, found))

const make = Effect.gen(function* () {
  const { home } = yield* GatewayLock
  const database = yield* Database
  const ours = yield* ofThisProcess(home)
  const owner = Schema.encodeSync(HolderText)(ours)

  const take = Effect.gen(function* () {
    const found = yield* read
    if ((yield* living(home, found)) !== null) return yield* new HomeInUse({ home })
    const taken = yield* database.write(
      "gateway.take",
      Effect.gen(function* () {
        const sql = yield* Transaction
        const now = yield* Clock.currentTimeMillis
        // Only in the place of the one that was looked at: another start may have been faster.
        return yield* sql`INSERT INTO leases
          ${sql.insert({ name, owner, token: "", expires_at: now + expiryMillis, beat_at: now })}
          ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at,
            beat_at = excluded.beat_at WHERE leases.owner = ${found?.owner ?? ""} RETURNING name`
      })
    )
    if (taken.length === 0) return yield* new HomeInUse({ home })
  })

  const release = database
    .write(
      "gateway.release",
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`DELETE FROM leases WHERE name = ${name} AND owner = ${owner}`)
      )
    )
    .pipe(
      Effect.catchAll((error) => Effect.logWarning("the home could not be given back; the next start sees that", error))
    )

  const beat = database
    .write(
      "gateway.beat",
      Effect.gen(function* () {
        const sql = yield* Transaction
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE leases SET expires_at = ${now + expiryMillis}, beat_at = ${now}
          WHERE name = ${name} AND owner = ${owner}`
      })
    )
    .pipe(Effect.catchAll((error) => Effect.logWarning("the hold on the home could not be renewed", error)))

  // A row that is gone was another's, who has given the home back.
  const isLost = Effect.matchEffect(Effect.provideService(read, Database, database), {
    onSuccess: (found) => Effect.succeed(found?.owner !== owner),
    onFailure: (error) => Effect.as(Effect.logWarning("it could not be seen who has the home", error), false)
  })

  yield* Effect.acquireRelease(take, () => release)
  if (ours.began === "") yield* beat.pipe(Effect.delay(beatEvery), Effect.forever, Turn.forkWorker)
  return GatewayLease.of({
    // Who was stopped for long, or works on another machine, was not seen to live by the one that took it.
    lost: Effect.flatMap(SharedMinute.wait, Effect.sleep).pipe(
      Effect.zipRight(isLost),
      Effect.repeat({ until: (gone) => gone }),
      Effect.asVoid
    )
  })
})

/** Held while the layer lives; refuses a home whose gateway lives although the lock was free. */
export const layer: Layer.Layer<GatewayLease, HomeInUse | StateError, GatewayLock | Database> = Layer.scoped(
  GatewayLease,
  make
)
