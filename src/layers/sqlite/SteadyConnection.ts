import { type SqlConnection, SqlError } from "@effect/sql"
import { SqliteClient } from "@effect/sql-sqlite-node"
import { Effect } from "effect"

const isUnprepared = (error: SqlError.SqlError): boolean => error.message?.startsWith("Failed to prepare") === true

/**
 * The driver's connection without two of its surprises. It remembers for ten minutes that a statement could not be
 * prepared, although the file may have been locked for a moment only; and where it prepares anew, it throws.
 */
const steady = (connection: SqlConnection.Connection): SqlConnection.Connection => {
  const executeUnprepared: SqlConnection.Connection["executeUnprepared"] = (sql, params, transformRows) =>
    Effect.flatten(
      Effect.try({
        try: () => connection.executeUnprepared(sql, params, transformRows),
        catch: (cause) => new SqlError.SqlError({ cause, message: "Failed to prepare statement" })
      })
    )
  const orUnprepared = <A>(
    sql: string,
    params: ReadonlyArray<unknown>,
    prepared: Effect.Effect<A, SqlError.SqlError>,
    adapt: (rows: ReadonlyArray<SqlConnection.Row>) => A
  ): Effect.Effect<A, SqlError.SqlError> =>
    Effect.catchAll(prepared, (error) =>
      isUnprepared(error) ? Effect.map(executeUnprepared(sql, params, undefined), adapt) : Effect.fail(error)
    )
  return {
    execute: (sql, params, transformRows) =>
      orUnprepared(sql, params, connection.execute(sql, params, undefined), (rows) =>
        transformRows === undefined ? rows : transformRows(rows)
      ),
    executeRaw: (sql, params) => orUnprepared(sql, params, connection.executeRaw(sql, params), (rows): unknown => rows),
    executeValues: (sql, params) =>
      orUnprepared(sql, params, connection.executeValues(sql, params), (rows) => rows.map((row) => Object.values(row))),
    executeStream: (sql, params, transformRows) => connection.executeStream(sql, params, transformRows),
    executeUnprepared
  }
}

/** Opens a file for as long as the scope lives. What the driver throws then, it throws as a defect. */
export const open = (config: SqliteClient.SqliteClientConfig) =>
  Effect.gen(function* () {
    const client = yield* SqliteClient.make(config)
    return { client, connection: steady(yield* client.reserve) }
  })
