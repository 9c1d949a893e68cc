import { Clock, Effect, Layer, Schema } from "effect"
import { Settings } from "../../services/operation/Settings.js"
import type { JobId } from "../../services/schedule/Job.js"
import { Occurrence, type OccurrenceId, Occurrences } from "../../services/schedule/Occurrence.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const dayMillis = 86_400_000
/** Decision 14. */
const keptMillis = 90 * dayMillis
const keptRows = 1_000
/** Deleted in one transaction: others want to write too. */
const atOnce = 2_000

const many = Rows.all(Occurrence, "occurrences")
const one = Rows.first(Occurrence)
const Ids = Rows.whole(Schema.Struct({ id: Schema.Number }))

const columns = `o.id, j.id AS jobId, j.name AS jobName, o.at AS scheduledAt, coalesce(o.last_at, o.at) AS lastAt, o.count, o.kind,
  o.state AS status, o.attempts, o.claimed_at AS claimedAt, o.started_at AS startedAt, o.finished_at AS finishedAt,
  o.reason, o.context, o.session_id AS sessionId, o.output`

const make = Effect.gen(function* () {
  const database = yield* Database
  const settings = yield* Settings

  const pruneSome = database.write(
    "occurrence.prune",
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      const gone = yield* Ids(sql`DELETE FROM occurrences WHERE id IN (
          SELECT o.id FROM occurrences AS o WHERE o.finished_at < ${now - keptMillis}
            AND (SELECT count(*) FROM (SELECT 1 FROM occurrences AS n WHERE n.job = o.job AND n.id > o.id LIMIT ${keptRows})) = ${keptRows}
          LIMIT ${atOnce}) RETURNING id`)
      return gone.length
    })
  )

  /** Finished jobs leave the list; their rows stay as long as others. */
  const retire = Effect.gen(function* () {
    const days = settings.cron.completedRetentionDays
    if (days === 0) return
    yield* database.write(
      "job.retire",
      Effect.gen(function* () {
        const sql = yield* Transaction
        const now = yield* Clock.currentTimeMillis
        yield* sql`UPDATE jobs SET removed_at = ${now}
          WHERE removed_at IS NULL AND state = 'completed' AND last_run_at < ${now - days * dayMillis}`
      })
    )
  })

  return Occurrences.of({
    get: Effect.fn("Occurrences.get")((id: OccurrenceId) =>
      database.read("occurrence.get", (sql) =>
        one(
          sql`SELECT ${sql.literal(columns)} FROM occurrences AS o JOIN jobs AS j ON j.number = o.job WHERE o.id = ${id}`
        )
      )
    ),
    list: Effect.fn("Occurrences.list")((options) =>
      database.read("occurrence.list", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM occurrences AS o JOIN jobs AS j ON j.number = o.job
          WHERE ${options.job === null ? sql`1` : sql`o.job = (SELECT number FROM jobs WHERE id = ${options.job})`}
            AND ${options.before === undefined ? sql`1` : sql`o.id < ${options.before}`}
          ORDER BY o.id DESC LIMIT ${options.limit}`)
      )
    ),
    latest: Effect.fn("Occurrences.latest")((jobs: ReadonlyArray<JobId>) =>
      database.read("occurrence.latest", (sql) =>
        Effect.map(
          many(sql`SELECT ${sql.literal(columns)} FROM jobs AS j JOIN occurrences AS o
            ON o.id = (SELECT max(id) FROM occurrences WHERE job = j.number)
            WHERE j.id IN (SELECT value FROM json_each(${JSON.stringify(jobs)}))`),
          (rows) => new Map(rows.map((row) => [row.jobId, row]))
        )
      )
    ),
    prune: Effect.gen(function* () {
      yield* retire
      let gone = 0
      for (;;) {
        const some = yield* pruneSome
        gone += some
        if (some < atOnce) return gone
      }
    })
  })
})

/** What became of each occurrence, in SQLite. */
export const layer = Layer.effect(Occurrences, make)
