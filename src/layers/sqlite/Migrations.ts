import { SqlClient, type SqlConnection, Statement } from "@effect/sql"
import * as Migrator from "@effect/sql/Migrator"
import { Effect, Record, Schema } from "effect"
import { StateUnopened } from "../../services/state/StateError.js"
import { foundation } from "./migrations/0001_foundation.js"
import { owners } from "./migrations/0002_owners.js"
import { compaction } from "./migrations/0006_compaction.js"
import { jobs } from "./migrations/0010_jobs.js"
import { channelNames } from "./migrations/0020_channel_names.js"
import { storyIndexes } from "./migrations/0021_story_indexes.js"

/** Every step of the schema, in order. A released one never changes; what comes later is added as the next. */
const migrations = {
  "0001_foundation": foundation,
  "0002_owners": owners,
  "0006_compaction": compaction,
  "0010_jobs": jobs,
  "0020_channel_names": channelNames,
  "0021_story_indexes": storyIndexes
}

const table = "migrations"
/** The version of a database that this program has brought up to date. */
export const newest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

const until = (version: number): typeof migrations =>
  Record.filter(migrations, (_, name) => Number.parseInt(name, 10) <= version) as typeof migrations

const Versions = Schema.Array(Schema.Struct({ version: Schema.NullOr(Schema.Number) }))

/** A newer program may have changed the meaning of rows: what it wrote is not touched by an older one. */
export const refuseNewer = (file: string, sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const known = yield* sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ${table}`
    if (known.length === 0) return
    const rows = yield* Schema.decodeUnknown(Versions)(
      yield* sql`SELECT max(migration_id) AS version FROM ${sql(table)}`
    )
    const version = rows[0]?.version ?? 0
    if (version > newest)
      return yield* new StateUnopened({
        file,
        reason: "newer",
        detail: `its schema is version ${version} and this program knows ${newest}; update hermes-effect or use another home`
      })
  })

/**
 * Brings the schema up to date in one immediate transaction, so that two processes that start at once do it once.
 * `upTo` stops at an earlier version, as a program of then would have.
 */
export const run = (connection: SqlConnection.Connection, file: string, upTo = newest) =>
  Effect.gen(function* () {
    const client = yield* SqlClient.make({
      acquirer: Effect.succeed(connection),
      transactionAcquirer: Effect.succeed(connection),
      compiler: Statement.makeCompilerSqlite(),
      beginTransaction: "BEGIN IMMEDIATE",
      spanAttributes: []
    })
    yield* Migrator.make({})({ loader: Migrator.fromRecord(until(upTo)), table }).pipe(
      Effect.provideService(SqlClient.SqlClient, client),
      Effect.sandbox,
      Effect.mapError((cause) => new StateUnopened({ file, reason: "migration", detail: String(cause) }))
    )
  })
