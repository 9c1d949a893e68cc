/**
 * The search index: a file of its own beside the database, made from the messages and never the only place of anything.
 * It can be deleted at any time. Damage is answered with a new, empty file: no message hangs on it, no commit waits for
 * it, and the database's file never sees it.
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import type { SqlClient } from "@effect/sql"
import { Cause, Clock, Context, Effect, Exit, Layer, Schema, Scope } from "effect"
import { rmSync } from "node:fs"
import type { StateError } from "../../services/state/StateError.js"
import * as Checkpointer from "./Checkpointer.js"
import * as Condition from "./Condition.js"
import * as ConnectionThread from "./ConnectionThread.js"
import * as DatabaseFile from "./DatabaseFile.js"
import * as DirectClient from "./DirectClient.js"
import * as LogIndex from "./LogIndex.js"
import * as Rows from "./Rows.js"
import { detailOf, isBusy } from "./SqliteFailure.js"
import * as SteadyConnection from "./SteadyConnection.js"

/** Another layout is made anew. */
const layout = 2

/** After it could not be made, because the disk is full or read-only. */
const retryMillis = 60_000

/** Words that the ranking looks at: the newest so many messages that answer at all. All of them would take 100 ms for a common word. */
const candidates = 1_000

/** Pages that one merge writes, which bounds how long the thread is not there for anything else. */
const mergePages = { words: 96, letters: 48 }

/** Pieces of one size that SQLite joins on its own account, in one go: never so many, because they are joined before. */
const mostPieces = 64

/** What is indexed of a message: its words with marks of where it belongs, and its letters for parts of words. */
export interface IndexedMessage {
  readonly id: number
  readonly words: string
  /** Null for what is only found by whole words. */
  readonly letters: string | null
}

/** The last message that the index has seen, and what tells that it is still the same one. */
export interface Watermark {
  readonly id: number
  readonly mark: string
}

/** The index cannot be used now; whoever searches looks through the messages. */
export class IndexUnusable extends Schema.TaggedError<IndexUnusable>()("IndexUnusable", { detail: Schema.String }) {}

export class SearchIndex extends Context.Tag("hermes/sqlite/SearchIndex")<
  SearchIndex,
  {
    readonly watermark: Effect.Effect<Watermark, IndexUnusable>
    /** Ids of messages that answer, newest first, from below an id where one is named. */
    readonly newest: (
      match: string,
      below: number | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<number>, IndexUnusable>
    /** Ids of the best of the newest that answer, best first. */
    readonly best: (match: string, limit: number) => Effect.Effect<ReadonlyArray<number>, IndexUnusable>
    /** Ids of messages that have the letters in them, newest first. */
    readonly within: (
      match: string,
      below: number | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<number>, IndexUnusable>
    /** Adds messages and moves the watermark, both or neither. */
    readonly add: (messages: ReadonlyArray<IndexedMessage>, to: Watermark) => Effect.Effect<void, IndexUnusable>
    /** Joins some of the pieces that it has grown from, which makes it faster to read; false when nothing is left to join. */
    readonly merge: Effect.Effect<boolean, IndexUnusable>
    readonly forget: (ids: ReadonlyArray<number>) => Effect.Effect<void, IndexUnusable>
    /** Empties it, whatever state it is in. */
    readonly clear: Effect.Effect<void>
    /** Is its structure whole? */
    readonly check: Effect.Effect<void, IndexUnusable>
  }
>() {}

const schema = [
  "CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), layout INTEGER NOT NULL, id INTEGER NOT NULL, mark TEXT NOT NULL)",
  `INSERT INTO progress (one, layout, id, mark) VALUES (1, ${layout}, 0, '')`,
  // Contentless: the text is in the database already, and may be gone from there when it is taken out here.
  `CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0')`,
  `CREATE VIRTUAL TABLE letters USING fts5 (text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1')`,
  ...["words", "letters"].flatMap((table) => [
    `INSERT INTO ${table} (${table}, rank) VALUES ('usermerge', 2)`,
    // What is joined inside of an INSERT holds it for as long as it takes: 40 ms and more.
    `INSERT INTO ${table} (${table}, rank) VALUES ('automerge', 0)`,
    `INSERT INTO ${table} (${table}, rank) VALUES ('crisismerge', ${mostPieces})`
  ])
]

/** Without a bound it is a sixth faster. */
const newestOf = (table: string) => {
  const text = (bound: string) =>
    `SELECT rowid FROM ${table} WHERE ${table} MATCH ? ${bound} ORDER BY rowid DESC LIMIT ?`
  return { of: text(""), below: text("AND rowid < ?") }
}
const newestWords = newestOf("words")
const newestLetters = newestOf("letters")
const bestWords = `SELECT id FROM (
    SELECT rowid AS id, bm25(words) AS score FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${candidates})
  ORDER BY score, id DESC LIMIT ?`

const Progress = Rows.first(Schema.Struct({ layout: Schema.Number, id: Schema.Number, mark: Schema.String }))
const unusable = (error: unknown): IndexUnusable => new IndexUnusable({ detail: detailOf(error) })

/** What the driver throws is about the file, not a bug. */
const attempted = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, IndexUnusable, R> =>
  Effect.catchAllCause(self, (cause) =>
    Cause.isInterruptedOnly(cause) ? Effect.interrupt : Effect.fail(unusable(Cause.squash(cause)))
  )

/** It ended or hangs: that says nothing about the file. */
const isOfTheThread = (error: unknown): boolean => error instanceof ConnectionThread.ThreadFailed && error.code === null

/** One transaction; answers how many rows it changed. */
type Write = (statements: ReadonlyArray<ConnectionThread.Statement>) => Effect.Effect<number, unknown>

interface Opened {
  readonly sql: SqlClient.SqlClient
  readonly write: Write
  readonly scope: Scope.CloseableScope
}

/** In a thread beside: to sort a slice into its place, to join pieces and to sync the disk takes tens of milliseconds. */
const besideOf = (file: string) =>
  Effect.gen(function* () {
    const condition = Condition.make(yield* DatabaseFile.watch(file))
    const thread = yield* ConnectionThread.make(file, "NORMAL")
    const checkpointer = yield* Checkpointer.make(thread, condition, LogIndex.none)
    const write: Write = (statements) =>
      checkpointer.room.pipe(
        Effect.zipRight(
          Effect.suspend(() => {
            const wrong = condition.wrong()
            return wrong === null ? Effect.void : Effect.fail<StateError>(wrong)
          })
        ),
        Effect.zipRight(Effect.uninterruptible(Effect.tap(thread.transaction(statements), checkpointer.committed)))
      )
    return write
  })

/** In memory there is one connection only. */
const hereOf = (sql: SqlClient.SqlClient): Write => {
  const changes = Rows.count(sql`SELECT total_changes() AS count`)
  return (statements) =>
    Effect.gen(function* () {
      const before = yield* changes
      yield* run(sql, ["BEGIN IMMEDIATE"])
      yield* Effect.forEach(
        statements.flatMap(([text, ...runs]) =>
          runs.length === 0 ? [sql.unsafe(text)] : runs.map((params) => sql.unsafe(text, params))
        ),
        (statement) => statement,
        { discard: true }
      )
      yield* run(sql, ["COMMIT"])
      return (yield* changes) - before
    }).pipe(
      Effect.tapErrorCause(() => Effect.ignore(run(sql, ["ROLLBACK"]))),
      Effect.uninterruptible
    )
}

const run = (sql: SqlClient.SqlClient, statements: ReadonlyArray<string>) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })

const connect = (file: string, readonly: boolean) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    return yield* Effect.gen(function* () {
      if (!readonly && file !== ":memory:") yield* DatabaseFile.prepare(file)
      const { client, connection } = yield* SteadyConnection.open({ filename: file, readonly, disableWAL: readonly })
      const sql = DirectClient.make(client, connection)
      // Losing the last of it with the power costs nothing: it is made again from the watermark.
      yield* run(sql, [
        "PRAGMA busy_timeout = 0",
        ...(readonly
          ? []
          : [
              "PRAGMA synchronous = NORMAL",
              `PRAGMA wal_autocheckpoint = ${file === ":memory:" ? 256 : 0}`,
              "PRAGMA cache_size = -8000"
            ])
      ])
      if (!readonly) {
        const made = yield* sql`SELECT 1 FROM sqlite_schema WHERE name = 'progress'`
        if (made.length === 0) yield* run(sql, ["BEGIN IMMEDIATE", ...schema, "COMMIT"])
      }
      const progress = yield* Progress(sql`SELECT layout, id, mark FROM progress`)
      if (progress?.layout !== layout) return yield* new IndexUnusable({ detail: "it has another layout" })
      const write = readonly || file === ":memory:" ? hereOf(sql) : yield* besideOf(file)
      return { sql, scope, write } satisfies Opened
    }).pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.provide(Reactivity.layer),
      Effect.tapErrorCause(() => Scope.close(scope, Exit.void))
    )
  }).pipe(attempted)

const remove = (file: string) =>
  Effect.try({
    try: () => {
      if (file !== ":memory:")
        for (const name of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) rmSync(name, { force: true })
    },
    catch: unusable
  })

const make = (file: string, readonly: boolean) =>
  Effect.gen(function* () {
    let opened: Opened | null = null
    /** Only who writes it knows it without asking. */
    let last: Watermark | null = null
    let failedAt = Number.NEGATIVE_INFINITY
    let failure = new IndexUnusable({ detail: "it was never opened" })
    /** The pieces of which are joined now. */
    let merging: "words" | "letters" = "words"

    const close = Effect.suspend(() => {
      const open = opened
      opened = null
      last = null
      return open === null ? Effect.void : Effect.ignore(attempted(Scope.close(open.scope, Exit.void)))
    })
    yield* Effect.addFinalizer(() => close)

    const keep = (open: Opened): Opened => {
      opened = open
      return open
    }

    const open = Effect.suspend(() => (opened === null ? reopen : Effect.succeed(opened)))

    /** Opens it; where that fails, makes it anew. Without success it is left alone for a minute. */
    const reopen: Effect.Effect<Opened, IndexUnusable> = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (now - failedAt < retryMillis) return yield* failure
      return yield* connect(file, readonly).pipe(
        Effect.catchAll((error) =>
          readonly
            ? Effect.fail(error)
            : Effect.zipRight(
                Effect.logWarning("the search index cannot be used and is made anew; no message is affected", error),
                Effect.zipRight(remove(file), connect(file, false))
              )
        ),
        Effect.map(keep),
        Effect.tapError((error) =>
          Effect.sync(() => {
            failedAt = now
            failure = error
          })
        )
      )
    })

    const clear = close.pipe(
      Effect.zipRight(
        Effect.suspend(() => {
          failedAt = Number.NEGATIVE_INFINITY
          return readonly ? Effect.void : remove(file)
        })
      ),
      Effect.catchAll((error) => Effect.logWarning("the search index cannot be removed", error))
    )

    /** Whatever fails in the index is its damage: it is thrown away, and its next user makes it anew. */
    const using = <A, E>(work: (open: Opened) => Effect.Effect<A, E>): Effect.Effect<A, IndexUnusable> =>
      Effect.flatMap(open, (one) =>
        attempted(
          Effect.tapError(
            Effect.suspend(() => work(one)),
            (error) =>
              readonly || isBusy(error) || isOfTheThread(error)
                ? Effect.void
                : Effect.zipRight(
                    Effect.logWarning("the search index is damaged and is made anew; no message is affected").pipe(
                      Effect.annotateLogs({ detail: detailOf(error) })
                    ),
                    clear
                  )
          )
        )
      )
    const use = <A, E>(work: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) => using(({ sql }) => work(sql))
    const write = (statements: ReadonlyArray<ConnectionThread.Statement>) => using((one) => one.write(statements))

    /**
     * A run for each row: before a statement of several, SQLite makes a savepoint, at which FTS5 writes what it has
     * gathered as a piece of its own.
     */
    const inserts = (messages: ReadonlyArray<IndexedMessage>): ReadonlyArray<ConnectionThread.Statement> => {
      const insert = (table: string) => `INSERT INTO ${table} (rowid, text) VALUES (?, ?)`
      const words = messages.map(({ id, words }) => [id, words])
      const letters = messages.flatMap(({ id, letters }) => (letters === null ? [] : [[id, letters]]))
      return [
        ...(words.length === 0 ? [] : [[insert("words"), ...words] as const]),
        ...(letters.length === 0 ? [] : [[insert("letters"), ...letters] as const])
      ]
    }

    /** By hand: to decode them costs more than to find them. */
    const isId = (row: ReadonlyArray<unknown>): row is readonly [id: number] => typeof row[0] === "number"
    const idsOf = (text: string, params: ReadonlyArray<string | number>) =>
      use((sql) =>
        Effect.flatMap(sql.unsafe(text, params).values, (rows) =>
          rows.every(isId)
            ? Effect.succeed(rows.map(([id]) => id))
            : new IndexUnusable({ detail: "it names messages by what is no number" })
        )
      )

    const newestBy =
      ({ below: bounded, of: all }: ReturnType<typeof newestOf>) =>
      (match: string, below: number | null, limit: number) =>
        below === null ? idsOf(all, [match, limit]) : idsOf(bounded, [match, below, limit])

    return SearchIndex.of({
      watermark: Effect.suspend(() =>
        last !== null && opened !== null
          ? Effect.succeed(last)
          : use((sql) =>
              Effect.map(Progress(sql`SELECT layout, id, mark FROM progress`), (row): Watermark => {
                const stored = { id: row?.id ?? 0, mark: row?.mark ?? "" }
                if (!readonly) last = stored
                return stored
              })
            )
      ),
      newest: newestBy(newestWords),
      best: (match, limit) => idsOf(bestWords, [match, limit]),
      within: newestBy(newestLetters),
      add: (messages, to) =>
        Effect.ensuring(
          Effect.asVoid(
            write([...inserts(messages), ["UPDATE progress SET id = ?, mark = ? WHERE one = 1", [to.id, to.mark]]])
          ),
          // Whoever asked meanwhile was told the old one.
          Effect.sync(() => {
            last = null
          })
        ),
      merge: Effect.suspend(() => {
        const table = merging
        return Effect.map(
          write([[`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ${mergePages[table]})`]]),
          (changed) => {
            // It counts as a change by itself, whatever it found to do.
            if (changed > 1) return true
            merging = table === "words" ? "letters" : "words"
            return table === "words"
          }
        )
      }),
      forget: (gone) =>
        Effect.asVoid(
          write(
            ["words", "letters"].map((table) => [
              `DELETE FROM ${table} WHERE rowid IN (SELECT value FROM json_each(?))`,
              [JSON.stringify(gone)]
            ])
          )
        ),
      clear,
      check: use((sql) =>
        run(sql, [
          "INSERT INTO words (words) VALUES ('integrity-check')",
          "INSERT INTO letters (letters) VALUES ('integrity-check')"
        ])
      )
    })
  })

/** The index in `file`, made where there is none. Never fails: what cannot be opened is unusable, and search goes on without. */
export const layer = (options: { readonly file: string }): Layer.Layer<SearchIndex> =>
  Layer.scoped(SearchIndex, make(options.file, false))

/** Looks into an index that a gateway may be writing, and changes nothing. */
export const layerReadOnly = (options: { readonly file: string }): Layer.Layer<SearchIndex> =>
  Layer.scoped(SearchIndex, make(options.file, true))

/** An index in memory. */
export const layerMemory: Layer.Layer<SearchIndex> = Layer.scoped(SearchIndex, make(":memory:", false))
