import type { SqlConnection, SqlError, Statement } from "@effect/sql"
import { Array, Effect, Either, ParseResult, Predicate, Schema } from "effect"
import { isMillis, Millis } from "../../services/operation/Instant.js"
import * as Misfit from "../../services/operation/Misfit.js"

/** SQLite has no booleans and the driver binds none: 0 or 1. */
export const Flag = Schema.transform(Schema.Literal(0, 1), Schema.Boolean, {
  strict: true,
  decode: (flag) => flag === 1,
  encode: (flag) => (flag ? 1 : 0)
})

export const flag = (value: boolean): 0 | 1 => (value ? 1 : 0)

/** A time that is only shown: what it belongs to is there without one that can be read, and says the first of all. */
export const Shown = Schema.transform(Schema.Unknown, Millis, {
  strict: true,
  decode: (at) => (isMillis(at) ? at : 0),
  encode: (at): unknown => at
})

/**
 * A column whose texts are read again and again, for reading alone: what a text means is decoded once, for as many texts
 * as are kept.
 */
export const remembered = <A extends object>(
  schema: Schema.Schema<A, string>,
  most: number
): Schema.Schema<A, string> => {
  const decode = ParseResult.decodeEither(schema)
  const known = new Map<string, A>()
  const meanings = new WeakSet<object>()
  const Meaning = Schema.declare((value): value is A => Predicate.isObject(value) && meanings.has(value))
  return Schema.transformOrFail(Schema.String, Meaning, {
    strict: true,
    decode: (text) => {
      const meaning = known.get(text)
      if (meaning !== undefined) return Either.right(meaning)
      return Either.map(decode(text), (decoded) => {
        if (known.size >= most) known.clear()
        known.set(text, decoded)
        meanings.add(decoded)
        return decoded
      })
    },
    encode: ParseResult.encode(schema)
  })
}

type Query = Effect.Effect<ReadonlyArray<SqlConnection.Row>, SqlError.SqlError>
type Failure = SqlError.SqlError | ParseResult.ParseError

/** Decodes every row of a query; one that does not fit fails all: for what is only right when it is whole. */
export const whole = <A, I>(
  schema: Schema.Schema<A, I>
): ((query: Query) => Effect.Effect<ReadonlyArray<A>, Failure>) => {
  const decode = Misfit.decoder(Schema.Array(schema))
  return (query) => Effect.flatMap(query, decode)
}

/** A row that was written by hand or by another program, and what of it does not fit. */
export interface Unreadable {
  readonly row: SqlConnection.Row
  readonly problem: string
}

interface Parted<A> {
  readonly rows: ReadonlyArray<A>
  readonly unreadable: ReadonlyArray<Unreadable>
}

/** Decodes the rows of a query, and tells those that do not fit from the others. */
export const parted = <A, I>(
  schema: Schema.Schema<A, I>
): ((query: Query) => Effect.Effect<Parted<A>, SqlError.SqlError>) => {
  const decodeAll = Misfit.decoder(Schema.Array(schema))
  const decode = Misfit.decoder(schema)
  return (query) =>
    Effect.map(query, (found): Parted<A> => {
      const together = decodeAll(found)
      if (Either.isRight(together)) return { rows: together.right, unreadable: [] }
      const rows: Array<A> = []
      const unreadable: Array<Unreadable> = []
      for (const row of found) {
        const decoded = decode(row)
        if (Either.isRight(decoded)) rows.push(decoded.right)
        else unreadable.push({ row, problem: Misfit.text(decoded.left) })
      }
      return { rows, unreadable }
    })
}

/** What a row is called in the log, without its contents. */
const nameOf = (row: SqlConnection.Row): string => {
  const name: unknown = row["id"] ?? row["number"] ?? row["key"] ?? row["userId"]
  return typeof name === "string" || typeof name === "number" ? String(name).slice(0, 100) : "without a name"
}

/**
 * Decodes every row of a query that fits. Another one is left out and told, so that one row which somebody spoilt stops
 * nothing but itself. `table` is said with it.
 */
export const all = <A, I>(
  schema: Schema.Schema<A, I>,
  table: string
): ((query: Query) => Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>) => {
  const read = parted(schema)
  return (query) =>
    Effect.flatMap(read(query), ({ rows, unreadable }) =>
      unreadable.length === 0
        ? Effect.succeed(rows)
        : Effect.as(
            Effect.forEach(
              unreadable,
              ({ problem, row }) =>
                Effect.logWarning("a stored row cannot be read and is left out").pipe(
                  Effect.annotateLogs({ table, row: nameOf(row), problem })
                ),
              { discard: true }
            ),
            rows
          )
    )
}

/** Decodes the first row of a query; null when there is none. */
export const first = <A, I>(schema: Schema.Schema<A, I>): ((query: Query) => Effect.Effect<A | null, Failure>) => {
  const decode = Misfit.decoder(schema)
  return (query) => Effect.flatMap(query, ([row]) => (row === undefined ? Effect.succeed(null) : decode(row)))
}

const Counted = Schema.Struct({ count: Schema.Number })

/** The `count` column of the one row of a query. */
export const count = (query: Query): Effect.Effect<number, Failure> =>
  Effect.map(first(Counted)(query), (row) => row?.count ?? 0)

interface Told {
  readonly changes: number
  readonly lastInsertRowid: number
}

const isTold = (result: unknown): result is Told =>
  Predicate.hasProperty(result, "changes") &&
  typeof result.changes === "number" &&
  Predicate.hasProperty(result, "lastInsertRowid") &&
  typeof result.lastInsertRowid === "number"

/** Runs an INSERT and answers by what the driver tells of it: a RETURNING costs a row to make and to decode. */
const telling =
  <A>(answer: (told: Told) => A) =>
  (insert: Statement.Statement<object>): Effect.Effect<A, SqlError.SqlError> =>
    Effect.flatMap(insert.raw, (result) =>
      isTold(result) ? Effect.succeed(answer(result)) : Effect.dieMessage("an INSERT did not tell what it made")
    )

/** Runs an INSERT of one row and answers its id. */
export const insertedId = telling(({ lastInsertRowid }) => lastInsertRowid)

/** As {@link insertedId}, where the INSERT does nothing for a row that is there already: then null. */
export const freshId = telling(({ changes, lastInsertRowid }) => (changes === 0 ? null : lastInsertRowid))

/** Runs an INSERT of several rows and answers how many it made; where that is all of them, their ids follow each other up to the last. */
export const insertedIds = telling(({ changes, lastInsertRowid }) => ({ count: changes, last: lastInsertRowid }))

/** Rows in one INSERT at most: SQLite binds 32,766 values to a statement, and the widest table has some 25 columns. */
const rowsAtOnce = 500

/** Inserts rows in as many statements as their number needs; answers what each returned, in order. */
export const inserted = <V, A, E, R>(
  values: ReadonlyArray<V>,
  insert: (some: ReadonlyArray<V>) => Effect.Effect<ReadonlyArray<A>, E, R>
): Effect.Effect<ReadonlyArray<A>, E, R> =>
  values.length <= rowsAtOnce
    ? insert(values)
    : Effect.map(Effect.forEach(Array.chunksOf(values, rowsAtOnce), insert), Array.flatten)
