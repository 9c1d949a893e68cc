import type { SqlConnection, SqlError, Statement } from "@effect/sql"
import { Array, Effect, type ParseResult, Predicate, Schema } from "effect"

/** SQLite has no booleans and the driver binds none: 0 or 1. */
export const Flag = Schema.transform(Schema.Literal(0, 1), Schema.Boolean, {
  strict: true,
  decode: (flag) => flag === 1,
  encode: (flag) => (flag ? 1 : 0)
})

export const flag = (value: boolean): 0 | 1 => (value ? 1 : 0)

type Query = Effect.Effect<ReadonlyArray<SqlConnection.Row>, SqlError.SqlError>
type Failure = SqlError.SqlError | ParseResult.ParseError

/** Decodes every row of a query; a row that does not fit fails it with the path and the shape. */
export const all = <A, I>(
  schema: Schema.Schema<A, I>
): ((query: Query) => Effect.Effect<ReadonlyArray<A>, Failure>) => {
  const decode = Schema.decodeUnknown(Schema.Array(schema))
  return (query) => Effect.flatMap(query, decode)
}

/** Decodes the first row of a query; null when there is none. */
export const first = <A, I>(schema: Schema.Schema<A, I>): ((query: Query) => Effect.Effect<A | null, Failure>) => {
  const decode = Schema.decodeUnknown(schema)
  return (query) => Effect.flatMap(query, ([row]) => (row === undefined ? Effect.succeed(null) : decode(row)))
}

const Counted = Schema.Struct({ count: Schema.Number })

/** The `count` column of the one row of a query. */
export const count = (query: Query): Effect.Effect<number, Failure> =>
  Effect.map(first(Counted)(query), (row) => row?.count ?? 0)

const idOf = (result: unknown): Effect.Effect<number> =>
  Predicate.hasProperty(result, "lastInsertRowid") && typeof result.lastInsertRowid === "number"
    ? Effect.succeed(result.lastInsertRowid)
    : Effect.dieMessage("an INSERT did not tell the id of its row")

/** Runs an INSERT of one row and answers its id, as the driver tells it: a RETURNING costs a row to make and to decode. */
export const insertedId = (insert: Statement.Statement<object>): Effect.Effect<number, SqlError.SqlError> =>
  Effect.flatMap(insert.raw, idOf)

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
