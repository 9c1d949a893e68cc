import { Clock, Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import { Incident, IncidentNotFound, Incidents, IncidentState, signature } from "../../services/schedule/Incident.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const longestError = 500

const many = Rows.all(Incident, "incidents")
const one = Rows.first(Incident)
const State = Rows.first(Schema.Struct({ state: IncidentState }))

const columns = `i.id, j.id AS jobId, j.name AS jobName, i.kind, i.error, i.state, i.count, i.first_at AS firstAt,
  i.last_at AS lastAt, i.alerted_at AS alertedAt, i.closed_at AS closedAt`

const idOf = (job: number, error: string): string =>
  `inc_${createHash("sha256")
    .update(`${job}\n${signature(error)}`)
    .digest("hex")
    .slice(0, 12)}`

const make = Effect.map(Database, (database) =>
  Incidents.of({
    note: (job, failure) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const now = yield* Clock.currentTimeMillis
        const id = idOf(job, failure.error)
        const row = yield* State(sql`INSERT INTO incidents ${sql.insert({
          id,
          job,
          kind: failure.kind,
          error: failure.error.slice(0, longestError),
          state: "detected",
          count: 1,
          first_at: now,
          last_at: now
        })} ON CONFLICT (id) DO UPDATE SET count = count + 1, last_at = excluded.last_at, error = excluded.error,
          state = CASE incidents.state WHEN 'resolved' THEN 'detected' ELSE incidents.state END
          RETURNING state`)
        return { id, acknowledged: row?.state === "closed" }
      }),
    alerted: (id) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        yield* sql`UPDATE incidents SET state = 'alerted', alerted_at = ${yield* Clock.currentTimeMillis}
          WHERE id = ${id} AND state = 'detected'`
      }),
    resolve: (job) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE incidents SET state = 'resolved'
          WHERE job = ${job} AND state IN ('detected', 'alerted')`)
      ),
    acknowledge: Effect.fn("Incidents.acknowledge")((id: string) =>
      database.write(
        "incident.acknowledge",
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`UPDATE incidents SET state = 'closed', closed_at = ${yield* Clock.currentTimeMillis} WHERE id = ${id}`
          const row =
            yield* one(sql`SELECT ${sql.literal(columns)} FROM incidents AS i JOIN jobs AS j ON j.number = i.job
            WHERE i.id = ${id}`)
          return row ?? (yield* new IncidentNotFound({ id }))
        })
      )
    ),
    list: Effect.fn("Incidents.list")((options) =>
      database.read("incident.list", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM incidents AS i JOIN jobs AS j ON j.number = i.job
          WHERE ${options.state === null ? sql`1` : sql`i.state = ${options.state}`}
          ORDER BY i.last_at DESC LIMIT ${options.limit}`)
      )
    )
  })
)

/** Incidents in SQLite. */
export const layer = Layer.effect(Incidents, make)
