import { SqlClient, type SqlConnection, Statement } from "@effect/sql"
import { Cause, Effect, Schema } from "effect"
import { detailOf } from "./SqliteFailure.js"
import { StateUnopened } from "../../services/state/StateError.js"
import { foundation } from "./migrations/0001_foundation.js"
import { owners } from "./migrations/0002_owners.js"
import { retention } from "./migrations/0003_retention.js"
import { compaction } from "./migrations/0006_compaction.js"
import { search } from "./migrations/0007_search.js"
import { jobs } from "./migrations/0010_jobs.js"
import { channelNames } from "./migrations/0020_channel_names.js"
import { storyIndexes } from "./migrations/0021_story_indexes.js"
import { grants } from "./migrations/0030_grants.js"
import { media } from "./migrations/0036_media.js"
import { clarifications } from "./migrations/0041_clarifications.js"
import { todos } from "./migrations/0040_todos.js"
import { processes } from "./migrations/0045_processes.js"
import { internalEvents } from "./migrations/0050_internal_events.js"
import { cooldowns } from "./migrations/0057_cooldowns.js"
import { modelChoices } from "./migrations/0056_model_choices.js"
import { transcriptRevision } from "./migrations/0100_transcript_revision.js"
import { delegationParents } from "./migrations/0110_delegation_parents.js"
import { due } from "./migrations/0120_due.js"
import { occurrenceRules } from "./migrations/0130_occurrence_rules.js"
import { pairingAddress } from "./migrations/0140_pairing_address.js"
import { failingJobs } from "./migrations/0150_failing_jobs.js"
import { usageDays } from "./migrations/0055_usage_days.js"
import { waitingDeliveries } from "./migrations/0070_waiting_deliveries.js"
import { liveMessages } from "./migrations/0090_live_messages.js"
import { worktrees } from "./migrations/0095_worktrees.js"

/** Every step of the schema, in order. A released one never changes; what comes later is added as the next. */
const migrations = {
  "0001_foundation": foundation,
  "0002_owners": owners,
  "0003_retention": retention,
  "0006_compaction": compaction,
  "0007_search": search,
  "0010_jobs": jobs,
  "0020_channel_names": channelNames,
  "0021_story_indexes": storyIndexes,
  "0030_grants": grants,
  "0036_media": media,
  "0040_todos": todos,
  "0041_clarifications": clarifications,
  "0045_processes": processes,
  "0050_internal_events": internalEvents,
  "0055_usage_days": usageDays,
  "0056_model_choices": modelChoices,
  "0057_cooldowns": cooldowns,
  "0070_waiting_deliveries": waitingDeliveries,
  "0090_live_messages": liveMessages,
  "0095_worktrees": worktrees,
  "0100_transcript_revision": transcriptRevision,
  "0110_delegation_parents": delegationParents,
  "0120_due": due,
  "0130_occurrence_rules": occurrenceRules,
  "0140_pairing_address": pairingAddress,
  "0150_failing_jobs": failingJobs
}

const numberOf = (name: string): number => Number.parseInt(name, 10)
const known: ReadonlySet<number> = new Set(Object.keys(migrations).map(numberOf))

/** Every version that a database can have, in order. */
export const versions: ReadonlyArray<number> = [...known].toSorted((a, b) => a - b)

/** The version of a database that this program has brought up to date. */
export const newest = Math.max(...known)

const Versions = Schema.decodeUnknown(Schema.Array(Schema.Struct({ version: Schema.Number })))

/** The steps that a database has been through. */
const taken = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const table = yield* sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`
    if (table.length === 0) return new Set<number>()
    const rows = yield* Versions(yield* sql`SELECT migration_id AS version FROM migrations`)
    return new Set(rows.map((row) => row.version))
  })

/** A newer program may have changed the meaning of rows: what it wrote is not touched by an older one. */
export const refuseNewer = (file: string, sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const unknown = [...(yield* taken(sql))].filter((version) => !known.has(version))
    if (unknown.length > 0)
      return yield* new StateUnopened({
        file,
        reason: "newer",
        detail: `its schema is version ${Math.max(...unknown)} and this program knows ${newest}; update hermes-effect or use another home`
      })
  })

/**
 * Brings the schema up to date in one immediate transaction, so that two processes that start at once do it once. Steps
 * are known by their number, not by the highest one: a database that lacks one in between gets it. `upTo` stops at an
 * earlier version, as a program of then would have.
 */
export const run = (connection: SqlConnection.Connection, file: string, upTo = newest) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.make({
      acquirer: Effect.succeed(connection),
      transactionAcquirer: Effect.succeed(connection),
      compiler: Statement.makeCompilerSqlite(),
      beginTransaction: "BEGIN IMMEDIATE",
      spanAttributes: []
    })
    const wanted = Object.entries(migrations).filter(([name]) => numberOf(name) <= upTo)
    const lacks = Effect.map(taken(sql), (steps) => wanted.filter(([name]) => !steps.has(numberOf(name))))
    // Asked for once before the transaction: a start that has nothing to do writes nothing.
    if ((yield* lacks).length === 0) return
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`CREATE TABLE IF NOT EXISTS migrations (
          migration_id INTEGER PRIMARY KEY NOT NULL,
          created_at DATETIME NOT NULL DEFAULT current_timestamp,
          name VARCHAR(255) NOT NULL
        )`
        for (const [name, step] of yield* lacks) {
          yield* Effect.provideService(step, SqlClient.SqlClient, sql)
          yield* sql`INSERT INTO migrations (migration_id, name) VALUES (${numberOf(name)}, ${name.replace(/^\d+_/, "")})`
        }
      })
    )
  }).pipe(
    Effect.sandbox,
    Effect.mapError((cause) => new StateUnopened({ file, reason: "migration", detail: detailOf(Cause.squash(cause)) }))
  )
