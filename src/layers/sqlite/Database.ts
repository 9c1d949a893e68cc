/** The database in one SQLite file: one writer, one reader, and a checkpoint thread beside them. */
import * as Reactivity from "@effect/experimental/Reactivity"
import { type SqlClient, SqlError } from "@effect/sql"
import { Cause, Clock, Effect, Layer, type ParseResult, Random } from "effect"
import { Database } from "../../services/state/Database.js"
import { type StateError, StateLocked, StateReadOnly, StateUnopened } from "../../services/state/StateError.js"
import * as Checkpointer from "./Checkpointer.js"
import * as DatabaseFile from "./DatabaseFile.js"
import * as DirectClient from "./DirectClient.js"
import * as Migrations from "./Migrations.js"
import { codeOf, detailOf, isBusy, translated } from "./SqliteFailure.js"
import * as SteadyConnection from "./SteadyConnection.js"
import * as Writer from "./Writer.js"

/** How long opening waits for another process that migrates the same file (state-agent.md 1.7). */
const openPatienceMillis = 20_000

/** How long a read waits for a file that another process holds exclusively. */
const readPatienceMillis = 20_000

const unopened = (file: string, error: unknown): StateUnopened => {
  if (error instanceof StateUnopened) return error
  const code = codeOf(error) ?? ""
  const detail = detailOf(error)
  const is = (...prefixes: ReadonlyArray<string>) => prefixes.some((prefix) => code.startsWith(prefix))
  if (is("SQLITE_NOTADB", "SQLITE_CORRUPT"))
    return new StateUnopened({ file, reason: "damaged", detail: `${detail}; keep the file and restore a backup` })
  if (isBusy(error)) return new StateUnopened({ file, reason: "locked", detail: `${detail}; another process holds it` })
  return is("SQLITE_") || (error instanceof Error && "code" in error)
    ? new StateUnopened({ file, reason: "unreadable", detail: `${detail}; check its path and permissions` })
    : new StateUnopened({ file, reason: "unknown", detail })
}

/** What the driver throws while it opens is about the file, not a bug: it becomes a typed error. */
const opening =
  (file: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, StateUnopened, R> =>
    Effect.catchAllCause(self, (cause) =>
      Cause.isInterruptedOnly(cause) ? Effect.interrupt : Effect.fail(unopened(file, Cause.squash(cause)))
    )

const pragmas = (client: SqlClient.SqlClient, names: ReadonlyArray<string>) =>
  Effect.forEach(names, (pragma) => client.unsafe(`PRAGMA ${pragma}`), { discard: true })

/** The writer's client, its database at the newest version and set to commit durably. */
const openWriter = (filename: string) =>
  Effect.gen(function* () {
    const { client, connection } = yield* SteadyConnection.open({ filename })
    const direct = DirectClient.make(client, () => Effect.succeed(connection))
    yield* pragmas(direct, [
      `busy_timeout = ${openPatienceMillis}`,
      "synchronous = FULL",
      "foreign_keys = ON",
      "wal_autocheckpoint = 0",
      "journal_size_limit = 67108864",
      "temp_store = MEMORY",
      "cache_size = -8000"
    ])
    yield* Migrations.run(filename, direct, connection)
    // From here on nothing may block the event loop for a lock: the writer asks again later.
    yield* pragmas(direct, ["busy_timeout = 0"])
    return { client, connection, direct }
  })

const openReader = (filename: string) =>
  Effect.gen(function* () {
    const { client, connection } = yield* SteadyConnection.open({ filename, readonly: true })
    const direct = DirectClient.make(client, () => Effect.succeed(connection))
    yield* pragmas(direct, ["busy_timeout = 0", "query_only = ON", "temp_store = MEMORY"])
    return direct
  })

type Query<A, E> = (sql: SqlClient.SqlClient) => Effect.Effect<A, E | SqlError.SqlError | ParseResult.ParseError>

const makeRead = (client: SqlClient.SqlClient) => {
  const attempt = <A, E>(operation: string, query: Query<A, E>) =>
    Effect.mapError(
      Effect.suspend(() => query(client)),
      translated(operation)
    )
  const patiently = <A, E>(
    operation: string,
    query: Query<A, E>,
    since: number
  ): Effect.Effect<A, StateError | Exclude<E, SqlError.SqlError | ParseResult.ParseError>> =>
    Effect.gen(function* () {
      yield* Effect.sleep(yield* Random.nextIntBetween(20, 151))
      const now = yield* Clock.currentTimeMillis
      return yield* Effect.catchIf(
        attempt(operation, query),
        (error): error is StateLocked & typeof error => error instanceof StateLocked,
        (error) =>
          now - since > readPatienceMillis
            ? Effect.fail(new StateLocked({ ...error, waitedMillis: now - since }))
            : patiently(operation, query, since)
      )
    })
  return <A, E>(operation: string, query: Query<A, E>) =>
    Effect.catchIf(
      attempt(operation, query),
      (error): error is StateLocked & typeof error => error instanceof StateLocked,
      () => Effect.flatMap(Clock.currentTimeMillis, (since) => patiently(operation, query, since))
    )
}

const makeDatabase = (
  writer: { readonly client: SqlClient.SqlClient; readonly connection: import("@effect/sql").SqlConnection.Connection },
  reader: SqlClient.SqlClient,
  checkpointer: Checkpointer.Checkpointer,
  replaced: () => string | null
) =>
  Effect.gen(function* () {
    const { write } = yield* Writer.make({ ...writer, ...checkpointer, replaced })
    return Database.of({
      write: (operation, step, patience = "ordinary") => write(operation, step, patience),
      read: makeRead(reader)
    })
  })

/** The database in `file`, made with its folder where there is none. Fails when it cannot be used, and says why. */
export const layer = (options: { readonly file: string }): Layer.Layer<Database, StateUnopened> =>
  Layer.scoped(
    Database,
    Effect.gen(function* () {
      yield* DatabaseFile.prepare(options.file)
      const writer = yield* openWriter(options.file)
      const reader = yield* openReader(options.file)
      const checkpointer = yield* Checkpointer.make(options.file)
      const replaced = yield* DatabaseFile.watch(options.file)
      return yield* makeDatabase(writer, reader, checkpointer, replaced)
    }).pipe(Effect.provide(Reactivity.layer), opening(options.file))
  )

/** Looks into a database that is there already, and changes nothing: no migration, no checkpoint, no write. */
export const layerReadOnly = (options: { readonly file: string }): Layer.Layer<Database, StateUnopened> =>
  Layer.scoped(
    Database,
    Effect.map(
      Effect.tap(openReader(options.file), (reader) => Migrations.refuseNewer(options.file, reader)),
      (reader) =>
        Database.of({
          write: (operation) => Effect.fail(new StateReadOnly({ operation, detail: "it was opened to be read only" })),
          read: makeRead(reader)
        })
    ).pipe(Effect.provide(Reactivity.layer), opening(options.file))
  )

/** A database that lives as long as its scope and in memory only; writes and reads share its one connection. */
export const layerMemory: Layer.Layer<Database, StateUnopened> = Layer.scoped(
  Database,
  Effect.gen(function* () {
    const writer = yield* openWriter(":memory:")
    return yield* makeDatabase(writer, writer.direct, Checkpointer.none, () => null)
  }).pipe(Effect.provide(Reactivity.layer), opening(":memory:"))
)
