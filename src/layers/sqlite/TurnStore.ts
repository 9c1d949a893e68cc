import type { SqlClient, SqlError } from "@effect/sql"
import { Clock, Effect, Layer, type ParseResult, Schema } from "effect"
import * as SessionIdentity from "../../fibers/SessionIdentity.js"
import * as Turn from "../../fibers/Turn.js"
import { TurnRefused, type TurnRow, TurnStore } from "../../services/conversation/TurnStore.js"
import { Millis } from "../../services/operation/Instant.js"
import * as Misfit from "../../services/operation/Misfit.js"
import { Database, Transaction } from "../../services/state/Database.js"
import { Owner } from "../../services/state/Owner.js"
import { isOwned } from "./OwnerLease.js"
import * as Rows from "./Rows.js"
import { codeOf, detailOf } from "./SqliteFailure.js"

const Json = Schema.parseJson()
const decodeTurn = Misfit.decoder(Turn.Turn)

/** A capability that was never declared is null, which `Flag` is not. */
const Row = Schema.Struct({
  id: Schema.String,
  parent: Schema.NullOr(Schema.String),
  depth: Schema.Number,
  identity: Json,
  marker: Json,
  origin: Json,
  presence: Json,
  asyncDelivery: Schema.NullOr(Rows.Flag),
  workingDirectory: Schema.NullOr(Schema.String),
  inboxId: Schema.NullOr(Schema.String),
  state: Schema.Literal("running", "answering", "ended"),
  outcome: Schema.NullOr(Schema.Literal("answered", "interrupted", "failed", "suspended", "unknown")),
  startedAt: Millis,
  endedAt: Schema.NullOr(Millis),
  strikes: Schema.Number
})

const columns = `id, parent_id AS parent, depth, identity, marker, origin, presence, async_delivery AS asyncDelivery,
  working_directory AS workingDirectory, inbox_id AS inboxId, state, outcome, started_at AS startedAt,
  ended_at AS endedAt, strikes`

const many = Rows.all(Row, "turns")
const one = Rows.first(Row)
const Strikes = Rows.first(Schema.Struct({ strikes: Schema.Number }))

const rowOf = ({ inboxId, state, outcome, startedAt, endedAt, strikes, ...facts }: typeof Row.Type) =>
  Effect.map(decodeTurn(facts), (turn): TurnRow => ({ turn, inboxId, state, outcome, startedAt, endedAt, strikes }))

/** What a trigger or a key of the table says no to is no fault of the database: the turn is not one that may be. */
const refusal =
  (turnId: string) =>
  (error: SqlError.SqlError): Effect.Effect<never, SqlError.SqlError | TurnRefused> =>
    codeOf(error)?.startsWith("SQLITE_CONSTRAINT")
      ? new TurnRefused({ turnId, detail: detailOf(error) })
      : Effect.fail(error)

const make = Effect.gen(function* () {
  const database = yield* Database
  const owner = yield* Owner
  const list = (
    operation: string,
    query: (
      sql: SqlClient.SqlClient
    ) => Effect.Effect<ReadonlyArray<typeof Row.Type>, SqlError.SqlError | ParseResult.ParseError>
  ) =>
    database.read(operation, (sql) =>
      Effect.gen(function* () {
        const [unreadable, rows] = yield* Effect.partition(yield* query(sql), (row) =>
          Effect.mapError(rowOf(row), (error) => ({ turn: row.id, problem: Misfit.text(error) }))
        )
        yield* Effect.forEach(
          unreadable,
          (about) => Effect.logWarning("a stored turn cannot be read and is left out").pipe(Effect.annotateLogs(about)),
          { discard: true }
        )
        return rows
      })
    )

  return TurnStore.of({
    begin: Effect.fnUntraced(function* (turn, inboxId) {
      const sql = yield* Transaction
      // All but the identity are written as they are; a turn is no outside input that a Schema would have to look at.
      const { asyncDelivery, depth, id, marker, origin, parent, presence, workingDirectory } = turn
      const identity = SessionIdentity.encode(turn.identity)
      yield* sql`INSERT INTO turns (id, parent_id, depth, identity, marker, origin, presence, async_delivery,
            working_directory, inbox_id, owner, state, started_at)
          VALUES (${id}, ${parent}, ${depth}, ${JSON.stringify(identity)}, ${JSON.stringify(marker)},
            ${JSON.stringify(origin)}, ${JSON.stringify(presence)},
            ${asyncDelivery === null ? null : Rows.flag(asyncDelivery)}, ${workingDirectory}, ${inboxId}, ${owner},
            'running', ${yield* Clock.currentTimeMillis})`.pipe(Effect.catchAll(refusal(id)))
    }),
    answering: (turnId) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE turns SET state = 'answering' WHERE id = ${turnId} AND state = 'running'`)
      ),
    end: Effect.fnUntraced(function* (turnId, outcome) {
      const sql = yield* Transaction
      yield* sql`UPDATE turns SET state = 'ended', outcome = ${outcome}, ended_at = ${yield* Clock.currentTimeMillis}
          WHERE id = ${turnId} AND ended_at IS NULL`
    }),
    get: Effect.fn("TurnStore.get")((turnId: string) =>
      database.read("turn.get", (sql) =>
        Effect.flatMap(one(sql`SELECT ${sql.literal(columns)} FROM turns WHERE id = ${turnId}`), (row) =>
          row === null ? Effect.succeed(null) : rowOf(row)
        )
      )
    ),
    children: Effect.fn("TurnStore.children")((turnId: string) =>
      list("turn.children", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM turns WHERE parent_id = ${turnId} ORDER BY started_at, id`)
      )
    ),
    ofEvent: Effect.fn("TurnStore.ofEvent")((inboxId: string) =>
      list("turn.ofEvent", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM turns WHERE inbox_id = ${inboxId} ORDER BY started_at, id`)
      )
    ),
    open: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      list("turn.open", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM turns
          WHERE ended_at IS NULL AND NOT ${sql.literal(isOwned("turns", now))} ORDER BY started_at, id`)
      )
    ),
    strike: (turnId) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const struck = yield* Strikes(sql`UPDATE turns SET strikes = strikes + 1
          WHERE id = ${turnId} AND ended_at IS NULL RETURNING strikes`)
        return struck?.strikes ?? 0
      })
  })
})

/** Turns in SQLite. Triggers keep a child at its parent's marker and origin, and the facts of every turn as they were. */
export const layer = Layer.effect(TurnStore, make)
