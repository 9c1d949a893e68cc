import { Reactivity } from "@effect/experimental/Reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "@effect/sql"
import type { SqliteClient } from "@effect/sql-sqlite-node"
import Sqlite from "better-sqlite3"
import { Effect, type Scope, Stream } from "effect"

/** Statements kept ready, the one that was used longest ago given up first. */
const statementsKept = 256

type Row = SqlConnection.Row

/** A connection that also runs a statement outside of any fiber: what a transaction itself needs. */
export interface SteadyConnection extends SqlConnection.Connection {
  /** The error, or null. */
  readonly runNow: (sql: string) => SqlError.SqlError | null
  /** How far the next commits go: FULL onto the disk, NORMAL with a log only into the system's hands. Between transactions. */
  readonly synchronous: (level: "FULL" | "NORMAL") => void
  /** How many statements that may change something were run through this connection by now. */
  readonly writes: () => number
}

/**
 * A connection of our own over the driver that the package wraps. The package's looks each statement up in a cache of
 * fibers, which costs ten times the statement where a turn makes two dozen of them (bench/); it remembers for ten
 * minutes that a statement could not be prepared, although the file may have been locked for a moment only; and where
 * it prepares anew, it throws.
 */
const connect = (db: Sqlite.Database): SteadyConnection => {
  const prepared = new Map<string, Sqlite.Statement<Array<unknown>, Row>>()

  const prepare = (sql: string): Sqlite.Statement<Array<unknown>, Row> => {
    const known = prepared.get(sql)
    const statement = known ?? db.prepare<Array<unknown>, Row>(sql)
    if (known !== undefined) prepared.delete(sql)
    else if (prepared.size >= statementsKept)
      for (const oldest of prepared.keys()) {
        prepared.delete(oldest)
        break
      }
    prepared.set(sql, statement)
    return statement
  }

  let writes = 0

  const rowsOf = (
    statement: Sqlite.Statement<Array<unknown>, Row>,
    params: ReadonlyArray<unknown>
  ): ReadonlyArray<Row> => {
    if (!statement.readonly) writes += 1
    if (statement.reader) return statement.all(...params)
    statement.run(...params)
    return []
  }

  /** Rows as lists: the names of the columns cost more than what is in them. */
  const valuesOf = (
    statement: Sqlite.Statement<Array<unknown>, Row>,
    params: ReadonlyArray<unknown>
  ): ReadonlyArray<ReadonlyArray<unknown>> => {
    if (!statement.readonly) writes += 1
    if (!statement.reader) {
      statement.run(...params)
      return []
    }
    statement.raw(true)
    try {
      return statement.all(...params) as unknown as ReadonlyArray<ReadonlyArray<unknown>>
    } finally {
      statement.raw(false)
    }
  }

  const attempt = <A>(run: () => A): Effect.Effect<A, SqlError.SqlError> =>
    Effect.suspend(() => {
      try {
        return Effect.succeed(run())
      } catch (cause) {
        return Effect.fail(new SqlError.SqlError({ cause, message: "Failed to execute statement" }))
      }
    })

  return {
    execute: (sql, params, transformRows) =>
      attempt(() => {
        const rows = rowsOf(prepare(sql), params)
        return transformRows === undefined ? rows : transformRows(rows)
      }),
    executeRaw: (sql, params) =>
      attempt((): unknown => {
        const statement = prepare(sql)
        if (!statement.readonly) writes += 1
        return statement.reader ? statement.all(...params) : statement.run(...params)
      }),
    executeValues: (sql, params) => attempt(() => valuesOf(prepare(sql), params)),
    executeUnprepared: (sql, params, transformRows) =>
      attempt(() => {
        const rows = rowsOf(db.prepare<Array<unknown>, Row>(sql), params)
        return transformRows === undefined ? rows : transformRows(rows)
      }),
    executeStream: () => Stream.dieMessage("a database that answers at once has nothing to stream"),
    // Such a statement acts when it is prepared: one that is kept ready would do nothing.
    synchronous: (level) => void db.pragma(`synchronous = ${level}`),
    writes: () => writes,
    runNow: (sql) => {
      try {
        prepare(sql).run()
        return null
      } catch (cause) {
        return new SqlError.SqlError({ cause, message: "Failed to execute statement" })
      }
    }
  }
}

/** Opens a file for as long as the scope lives. What the driver throws then, it throws as a defect. */
export const open = (
  config: SqliteClient.SqliteClientConfig
): Effect.Effect<
  { readonly client: SqlClient.SqlClient; readonly connection: SteadyConnection },
  never,
  Scope.Scope | Reactivity
> =>
  Effect.gen(function* () {
    const db = yield* Effect.acquireRelease(
      Effect.sync(() => new Sqlite(config.filename, { readonly: config.readonly === true })),
      (opened) => Effect.sync(() => opened.close())
    )
    if (config.disableWAL !== true) db.pragma("journal_mode = WAL")
    const connection = connect(db)
    const client = yield* SqlClient.make({
      acquirer: Effect.succeed(connection),
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]]
    })
    return { client, connection }
  })
