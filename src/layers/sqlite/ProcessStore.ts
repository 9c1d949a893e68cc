import { Clock, Effect, Layer, Schema } from "effect"
import { Parcel } from "../../fibers/Parcel.js"
import { Millis } from "../../services/operation/Instant.js"
import { ProcessSpec } from "../../services/shell/Process.js"
import { ProcessStore } from "../../services/shell/ProcessStore.js"
import { Database, Transaction } from "../../services/state/Database.js"
import { Owner } from "../../services/state/Owner.js"
import { isOwned } from "./OwnerLease.js"
import * as Rows from "./Rows.js"

const Started = Schema.parseJson(Parcel.schema(ProcessSpec))
const encode = Schema.encode(Started)

const Row = Schema.Struct({
  id: Schema.String,
  parcel: Started,
  sessionKey: Schema.String,
  token: Schema.String,
  pid: Schema.NullOr(Schema.Number),
  born: Schema.NullOr(Schema.String),
  startedAt: Millis
})
const many = Rows.all(Row, "processes")

/** Background processes in SQLite. */
export const layer = Layer.effect(
  ProcessStore,
  Effect.gen(function* () {
    const database = yield* Database
    const owner = yield* Owner
    return ProcessStore.of({
      insert: (row) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`INSERT INTO processes ${sql.insert({
            id: row.id,
            parcel: yield* encode(row.parcel),
            session_key: row.sessionKey,
            token: row.token,
            pid: row.pid,
            born: row.born,
            state: "running",
            started_at: row.startedAt,
            owner
          })}`
        }),
      runs: (id, pid, born) =>
        Effect.flatMap(Transaction, (sql) =>
          Effect.asVoid(sql`UPDATE processes SET pid = ${pid}, born = ${born} WHERE id = ${id}`)
        ),
      settle: (id, { exitCode, signal, state }) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          const now = yield* Clock.currentTimeMillis
          const settled = yield* sql`UPDATE processes SET state = ${state}, exit_code = ${exitCode}, signal = ${signal},
            ended_at = ${now} WHERE id = ${id} AND ended_at IS NULL RETURNING id`
          return settled.length > 0
        }),
      open: Effect.flatMap(Clock.currentTimeMillis, (now) =>
        database.read("process.open", (sql) =>
          many(sql`SELECT id, parcel, session_key AS sessionKey, token, pid, born, started_at AS startedAt
            FROM processes WHERE ended_at IS NULL AND NOT ${sql.literal(isOwned("processes", now))}
            ORDER BY started_at, id`)
        )
      )
    })
  })
)
