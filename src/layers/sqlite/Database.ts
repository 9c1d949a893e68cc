/** The database in one SQLite file: one writer, one reader, and a checkpoint thread beside them. */
import * as Reactivity from "@effect/experimental/Reactivity"
import { type SqlClient, SqlError } from "@effect/sql"
import { Cause, Clock, Effect, Layer, type ParseResult, Random, Scope } from "effect"
import { Database } from "../../services/state/Database.js"
import { type StateError, StateLocked, StateReadOnly, StateUnopened } from "../../services/state/StateError.js"
import * as Placing from "./care/Placing.js"
import * as Checkpointer from "./Checkpointer.js"
import * as ConnectionThread from "./ConnectionThread.js"
import * as Condition from "./Condition.js"
import * as DatabaseFile from "./DatabaseFile.js"
import * as DirectClient from "./DirectClient.js"
import * as JournalMode from "./JournalMode.js"
import * as LogIndex from "./LogIndex.js"
import * as LogSync from "./LogSync.js"
import * as Migrations from "./Migrations.js"
import { codeOf, detailOf, isBusy, translated } from "./SqliteFailure.js"
import * as SteadyConnection from "./SteadyConnection.js"
import * as WriteAheadLog from "./WriteAheadLog.js"
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
    return new StateUnopened({
      file,
      reason: "damaged",
      detail: `${detail}; keep the file and run \`hermes doctor --fix\``
    })
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
const openWriter = (filename: string, wanted: JournalMode.JournalMode) =>
  Effect.gen(function* () {
    const { client, connection } = yield* SteadyConnection.open({ filename, disableWAL: true })
    const direct = DirectClient.make(client, connection)
    yield* pragmas(direct, [
      `busy_timeout = ${openPatienceMillis}`,
      "synchronous = FULL",
      "foreign_keys = ON",
      "wal_autocheckpoint = 0",
      `journal_size_limit = ${DatabaseFile.logLimitBytes}`,
      "temp_store = MEMORY",
      "cache_size = -8000"
    ])
    yield* Migrations.refuseNewer(filename, direct)
    const journal = filename === ":memory:" ? "delete" : yield* JournalMode.settle(filename, connection, wanted)
    yield* pragmas(direct, [`busy_timeout = ${openPatienceMillis}`])
    yield* Migrations.run(connection, filename)
    // From here on nothing may block the event loop for a lock: the writer asks again later.
    yield* pragmas(direct, ["busy_timeout = 0"])
    // The log is taken to the disk after the commit, and whoever asked for it is told when it is there.
    if (journal === "wal") yield* pragmas(direct, ["synchronous = NORMAL"])
    return { client, connection, direct, journal }
  })

const openReader = (filename: string) =>
  Effect.gen(function* () {
    const { client, connection } = yield* SteadyConnection.open({ filename, readonly: true, disableWAL: true })
    const direct = DirectClient.make(client, connection)
    yield* pragmas(direct, ["busy_timeout = 0", "query_only = ON", "temp_store = MEMORY"])
    return direct
  })

/**
 * Both connections of a file. Whoever closes it last moves the log into the file, unless he may only read: so where
 * something is wrong the reader goes last, and the log stays as it is for a repair.
 */
const openPair = (file: string, wanted: JournalMode.JournalMode) =>
  Effect.gen(function* () {
    const [writing, reading] = [yield* Scope.make(), yield* Scope.make()]
    let condition: Condition.Condition | null = null
    let logIndex: LogIndex.LogIndex = LogIndex.none
    yield* Effect.addFinalizer((exit) => {
      const order = condition?.wrong() === null ? [reading, writing] : [writing, reading]
      return Effect.zipRight(
        Effect.forEach(order, (scope) => Scope.close(scope, exit), { discard: true }),
        Effect.sync(() => logIndex.close())
      )
    })
    const writer = yield* Scope.extend(openWriter(file, wanted), writing)
    const reader = yield* Scope.extend(openReader(file), reading)
    // It holds the file from its first statement on.
    yield* reader`SELECT 1 FROM sqlite_schema LIMIT 1`
    condition = Condition.make(yield* DatabaseFile.watch(file))
    if (writer.journal === "wal") logIndex = LogIndex.open(file)
    return { writer, reader, condition, logIndex }
  })

/**
 * What opening would make worse is not opened: a log that is damaged before commits would lose them without a word, and
 * between two databases a new empty one would be made.
 */
const refuseUnsafe = (file: string) =>
  Effect.gen(function* () {
    if (Placing.cutOff(file))
      return yield* new StateUnopened({
        file,
        reason: "damaged",
        detail: "a repair or a restore of it was cut off; nothing was changed, run `hermes doctor --fix`"
      })
    const damage = yield* Effect.try({ try: () => WriteAheadLog.damage(file), catch: (error) => error })
    if (damage !== null)
      return yield* new StateUnopened({
        file,
        reason: "damaged",
        detail: `its write-ahead log is damaged, and opening it would lose ${damage.forgotten} commits behind the damage; nothing was changed, run \`hermes doctor --fix\``
      })
  })

type Query<A, E> = (sql: SqlClient.SqlClient) => Effect.Effect<A, E | SqlError.SqlError | ParseResult.ParseError>

type Read<A, E> = Effect.Effect<A, StateError | Exclude<E, SqlError.SqlError | ParseResult.ParseError>>

const makeRead = (client: SqlClient.SqlClient, noted: Condition.Condition["noted"]) => {
  const attempt = <A, E>(operation: string, query: Query<A, E>, locked: (error: StateLocked) => Read<A, E>) =>
    Effect.catchAll(
      Effect.suspend(() => query(client)),
      (failed): Read<A, E> => {
        const error = translated(operation)(failed)
        return error instanceof StateLocked ? locked(error) : Effect.zipRight(noted(error), Effect.fail(error))
      }
    )

  const patiently = <A, E>(operation: string, query: Query<A, E>, since: number): Read<A, E> =>
    Effect.gen(function* () {
      yield* Effect.sleep(yield* Random.nextIntBetween(20, 151))
      const now = yield* Clock.currentTimeMillis
      return yield* attempt(operation, query, (error) =>
        now - since > readPatienceMillis
          ? Effect.fail(new StateLocked({ ...error, waitedMillis: now - since }))
          : patiently(operation, query, since)
      )
    })

  return <A, E>(operation: string, query: Query<A, E>) =>
    attempt(operation, query, () =>
      Effect.flatMap(Clock.currentTimeMillis, (since) => patiently(operation, query, since))
    )
}

interface Parts {
  readonly writer: Effect.Effect.Success<ReturnType<typeof openWriter>>
  readonly reader: SqlClient.SqlClient
  readonly checkpointer: Checkpointer.Checkpointer
  readonly condition: Condition.Condition
  readonly logIndex: LogIndex.LogIndex
  readonly logSync: LogSync.LogSync | null
  readonly lingerMillis: number
}

const makeDatabase = ({ checkpointer, condition, reader, writer, ...rest }: Parts) =>
  Effect.gen(function* () {
    const looking = DirectClient.make(writer.client, writer.connection, (sql) =>
      writer.connection.onlyLooks(sql) ? null : "a statement that only looks would have written"
    )
    const { write, writeAhead } = yield* Writer.make({ ...writer, ...checkpointer, ...rest, lost: condition.lost })
    return Database.of({
      wrong: Effect.sync(condition.wrong),
      write: (operation, step, patience = "ordinary", commit = "now") =>
        Effect.tapError(write(operation, step, patience, commit), condition.noted),
      writeAhead: (operation, step, patience = "ordinary") =>
        Effect.map(Effect.tapError(writeAhead(operation, step, patience), condition.noted), ({ kept, value }) => ({
          value,
          kept: Effect.tapError(kept, condition.noted)
        })),
      read: makeRead(reader, condition.noted),
      glance: makeRead(looking, condition.noted)
    })
  })

export interface Options {
  readonly file: string
  /** `delete` does without a write-ahead log; `wal` has one where that is safe, and is what counts without an answer. */
  readonly journalMode?: JournalMode.JournalMode
  /** How long a write whose commit may come `soon` waits for others, in milliseconds; 0 without an answer: not at all. */
  readonly lingerMillis?: number
  /** How a log gets onto the disk; the system's way without an answer. */
  readonly openLogSync?: (file: string) => LogSync.LogSync
}

const acquireLogSync = (file: string, openLogSync: (file: string) => LogSync.LogSync) =>
  Effect.acquireRelease(
    Effect.sync(() => openLogSync(file)),
    (log) => Effect.sync(log.close)
  )

/** Opens a database for as long as the scope lives, and makes it with its folder where there is none. */
export const open = ({ file, journalMode = "wal", lingerMillis = 0, openLogSync = LogSync.open }: Options) =>
  Effect.gen(function* () {
    yield* refuseUnsafe(file)
    yield* DatabaseFile.prepare(file)
    const { condition, logIndex, reader, writer } = yield* openPair(file, journalMode)
    const hasLog = writer.journal === "wal"
    const checkpointer = hasLog
      ? yield* Checkpointer.make(yield* ConnectionThread.make(file, "FULL"), condition, logIndex)
      : Checkpointer.none
    const logSync = hasLog ? yield* acquireLogSync(file, openLogSync) : null
    return yield* makeDatabase({ writer, reader, checkpointer, condition, logIndex, logSync, lingerMillis })
  }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make), opening(file))

/**
 * The database in a file, for a command that works alone and ends. What lives long takes it from the registry, so that
 * a file has one writer in a process. Fails when it cannot be used, and says why.
 */
export const layer = (options: Options): Layer.Layer<Database, StateUnopened> => Layer.scoped(Database, open(options))

const refused = (operation: string) =>
  Effect.fail(new StateReadOnly({ operation, detail: "it was opened to be read only" }))

/** Looks into a database that is there already, and changes nothing: no migration, no checkpoint, no write. */
export const layerReadOnly = (options: { readonly file: string }): Layer.Layer<Database, StateUnopened> =>
  Layer.scoped(
    Database,
    Effect.map(
      Effect.tap(openReader(options.file), (reader) => Migrations.refuseNewer(options.file, reader)),
      (reader) => {
        const read = makeRead(reader, () => Effect.void)
        return Database.of({ wrong: Effect.succeed(null), write: refused, writeAhead: refused, read, glance: read })
      }
    ).pipe(Effect.provide(Reactivity.layer), opening(options.file))
  )

/** A database that lives as long as its scope and in memory only; writes and reads share its one connection. */
export const layerMemory: Layer.Layer<Database, StateUnopened> = Layer.scoped(
  Database,
  Effect.gen(function* () {
    const writer = yield* openWriter(":memory:", "delete")
    const condition = Condition.make({ lost: () => null, logBytes: () => 0 })
    return yield* makeDatabase({
      writer,
      reader: writer.direct,
      checkpointer: Checkpointer.none,
      condition,
      logIndex: LogIndex.none,
      logSync: null,
      lingerMillis: 0
    })
  }).pipe(Effect.provide(Reactivity.layer), opening(":memory:"))
)
