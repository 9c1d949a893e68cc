import { Reactivity } from "@effect/experimental/Reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "@effect/sql"
import type { SqliteClient } from "@effect/sql-sqlite-node"
import Sqlite from "better-sqlite3"
import { Effect, Exit, type Scope, Stream } from "effect"

/** Statements kept ready, the one that was used longest ago given up first. */
const statementsKept = 256

type Row = SqlConnection.Row

/** Rows, which whoever asks knows the type of: as the package has it. */
type Rows = Effect.Effect.Success<ReturnType<SqlConnection.Connection["execute"]>>

/** What came of a statement, which runs when it is asked for. */
type Answer<A> = (sql: string, params: ReadonlyArray<unknown>) => Exit.Exit<A, SqlError.SqlError>

/** A connection that also runs a statement outside of any fiber: what a transaction itself needs. */
export interface SteadyConnection extends SqlConnection.Connection {
  readonly rows: Answer<Rows>
  /** Rows as lists, without the names of their columns. */
  readonly values: Answer<ReadonlyArray<ReadonlyArray<unknown>>>
  /** What the driver tells of a statement that answers no rows; the rows of another. */
  readonly told: Answer<unknown>
  /** The error, or null. */
  readonly runNow: (sql: string) => SqlError.SqlError | null
  /** How many statements that may change something were run through this connection by now. */
  readonly writes: () => number
  /** Does it change nothing? */
  readonly onlyLooks: (sql: string) => boolean
}

/** A statement, and the names of what its rows have; null where it answers none. */
interface Prepared {
  readonly statement: Sqlite.Statement<Array<unknown>, ReadonlyArray<unknown>>
  readonly columns: ReadonlyArray<string> | null
}

/** The driver looks the names up for each row anew, which costs more than the values. */
const named =
  (columns: ReadonlyArray<string>) =>
  (values: ReadonlyArray<unknown>): Row => {
    const row: Record<string, unknown> = {}
    columns.forEach((column, index) => (row[column] = values[index]))
    return row
  }

/**
 * A connection of our own over the driver that the package wraps. The package's looks each statement up in a cache of
 * fibers, which costs ten times the statement where a turn makes two dozen of them (bench/); it remembers for ten
 * minutes that a statement could not be prepared, although the file may have been locked for a moment only; and where
 * it prepares anew, it throws.
 */
const connect = (db: Sqlite.Database): SteadyConnection => {
  const kept = new Map<string, Prepared>()

  const prepareAnew = (sql: string): Prepared => {
    const statement = db.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql)
    if (!statement.reader) return { statement, columns: null }
    return { statement: statement.raw(true), columns: statement.columns().map(({ name }) => name) }
  }

  const prepare = (sql: string): Prepared => {
    const known = kept.get(sql)
    const statement = known ?? prepareAnew(sql)
    if (known !== undefined) kept.delete(sql)
    else if (kept.size >= statementsKept)
      for (const oldest of kept.keys()) {
        kept.delete(oldest)
        break
      }
    kept.set(sql, statement)
    return statement
  }

  let writes = 0

  const valuesOf = (
    { columns, statement }: Prepared,
    params: ReadonlyArray<unknown>
  ): ReadonlyArray<ReadonlyArray<unknown>> => {
    if (!statement.readonly) writes += 1
    if (columns !== null) return statement.all(...params)
    statement.run(...params)
    return []
  }

  const rowsOf = (statement: Prepared, params: ReadonlyArray<unknown>): ReadonlyArray<Row> => {
    const values = valuesOf(statement, params)
    return statement.columns === null ? [] : values.map(named(statement.columns))
  }

  const attempt = <A>(use: () => A): Exit.Exit<A, SqlError.SqlError> => {
    try {
      return Exit.succeed(use())
    } catch (cause) {
      return Exit.fail(new SqlError.SqlError({ cause, message: "Failed to execute statement" }))
    }
  }

  const rows: SteadyConnection["rows"] = (sql, params) => attempt(() => rowsOf(prepare(sql), params))

  const values: SteadyConnection["values"] = (sql, params) => attempt(() => valuesOf(prepare(sql), params))

  const told: SteadyConnection["told"] = (sql, params) =>
    attempt((): unknown => {
      const prepared = prepare(sql)
      if (prepared.columns !== null) return rowsOf(prepared, params)
      if (!prepared.statement.readonly) writes += 1
      return prepared.statement.run(...params)
    })

  return {
    rows,
    values,
    told,
    execute: (sql, params, transformRows) =>
      Effect.suspend(() =>
        transformRows === undefined ? rows(sql, params) : Exit.map(rows(sql, params), transformRows)
      ),
    executeRaw: (sql, params) => Effect.suspend(() => told(sql, params)),
    executeValues: (sql, params) => Effect.suspend(() => values(sql, params)),
    executeUnprepared: (sql, params, transformRows) =>
      Effect.suspend(() =>
        attempt(() => {
          const found = rowsOf(prepareAnew(sql), params)
          return transformRows === undefined ? found : transformRows(found)
        })
      ),
    executeStream: () => Stream.dieMessage("a database that answers at once has nothing to stream"),
    writes: () => writes,
    onlyLooks: (sql) => {
      try {
        return prepare(sql).statement.readonly
      } catch {
        // Nor does what cannot be prepared; why is told where it is run.
        return true
      }
    },
    runNow: (sql) => {
      try {
        prepare(sql).statement.run()
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
