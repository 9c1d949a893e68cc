/** The database beside raw better-sqlite3 on the same disk, with the same schema and statements, in the same run. */
import Sqlite from "better-sqlite3"
import { Effect, Layer } from "effect"
import { statSync, writeFileSync } from "node:fs"
import path from "node:path"
import * as Ids from "../../src/layers/node/Ids.js"
import * as Blank from "../../src/layers/sqlite/care/Blank.js"
import * as SqliteDatabase from "../../src/layers/sqlite/Database.js"
import * as SessionStoreLayer from "../../src/layers/sqlite/SessionStore.js"
import * as TranscriptLayer from "../../src/layers/sqlite/Transcript.js"
import { SessionId } from "../../src/services/session/Session.js"
import { SessionStore } from "../../src/services/session/SessionStore.js"
import { type Message, Transcript } from "../../src/services/session/Transcript.js"
import { Database } from "../../src/services/state/Database.js"
import { asLaunched, collect, type Context, type Family, median, quantile, type Row } from "../harness.js"

const text = "a message of ordinary length, as people write them to one another when they have something to say "
const message: Message = { _tag: "user", text, platformMessageId: "1" }
const session = (number: number): SessionId => SessionId.make(`ses_${String(number).padStart(6, "0")}`)

const insertSession =
  "INSERT INTO sessions (id, key, title, source, platform, chat_id, started_at, last_activity_at) VALUES (?, ?, ?, 'telegram', 'telegram', ?, ?, ?)"
const insertMessage =
  "INSERT INTO messages (session_id, turn_id, at, role, text, platform_message_id) VALUES (?, 'trn', 1, 'user', ?, '1')"
const touchSession = "UPDATE sessions SET message_count = message_count + 1, last_activity_at = ? WHERE id = ?"

/** A file of the newest schema with some sessions, as a raw connection has it. */
const rawDatabase = async (file: string, sessions: number): Promise<Sqlite.Database> => {
  writeFileSync(file, await Effect.runPromise(Blank.image()))
  const db = new Sqlite(file)
  db.pragma("journal_mode = WAL")
  db.pragma("synchronous = FULL")
  db.pragma("foreign_keys = ON")
  const insert = db.prepare(insertSession)
  db.transaction(() => {
    for (let s = 0; s < sessions; s++) insert.run(session(s), `key ${s}`, `title ${s}`, String(s), s, s)
  })()
  db.pragma("wal_checkpoint(TRUNCATE)")
  return db
}

/** What the store does to append, in plain statements. */
const rawAppend = (db: Sqlite.Database) => {
  const [insert, touch] = [db.prepare(insertMessage), db.prepare(touchSession)]
  const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")]
  return (id: string, count: number, at: number): void => {
    begin.run()
    for (let i = 0; i < count; i++) {
      insert.run(id, text)
      touch.run(at, id)
    }
    commit.run()
  }
}

type Stores = Database | SessionStore | Transcript

const layerOf = (file: string) =>
  Layer.mergeAll(SessionStoreLayer.layer, TranscriptLayer.layer).pipe(
    Layer.provideMerge(Layer.merge(SqliteDatabase.layer({ file }), Ids.layer))
  )

const within = <A>(file: string, effect: Effect.Effect<A, unknown, Stores>): Promise<A> =>
  Effect.runPromise(asLaunched(Effect.provide(effect, layerOf(file))) as Effect.Effect<A>)

const prepare = async (file: string, sessions: number): Promise<void> => {
  const db = await rawDatabase(file, sessions)
  db.close()
}

/** As whoever appends has them: the services are asked for once. */
const appender = Effect.map(
  Effect.all([Database, Transcript]),
  ([database, transcript]) =>
    (number: number, messages: ReadonlyArray<Message> = [message]) =>
      database.write("bench", transcript.append(session(number), "trn", messages), "transcript")
)

/** Milliseconds of each of `count` runs. */
const eachTimed = <E, R>(count: number, act: (index: number) => Effect.Effect<unknown, E, R>) =>
  Effect.gen(function* () {
    const millis: Array<number> = []
    for (let index = 0; index < count; index++) {
      const began = performance.now()
      yield* act(index)
      millis.push(performance.now() - began)
    }
    return millis
  })

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

/** Alternating rounds, so that a slow minute of the disk falls on both. */
const singles = async ({ folder, quick }: Context): Promise<ReadonlyArray<Row>> => {
  const [rounds, count] = quick ? [3, 300] : [7, 1_000]
  const raw = await rawDatabase(path.join(folder, "raw.db"), 100)
  const add = rawAppend(raw)
  const file = path.join(folder, "ours.db")
  await prepare(file, 100)
  const figures = { ours: [] as Array<number>, raw: [] as Array<number> }
  const batches = { ours: [] as Array<number>, raw: [] as Array<number> }
  const many = { ours: [] as Array<number>, raw: [] as Array<number> }
  await within(
    file,
    Effect.gen(function* () {
      const append = yield* appender
      for (let round = -1; round < rounds; round++) {
        const a = yield* eachTimed(count, (i) => Effect.sync(() => add(session(i % 100), 1, i)))
        const b = yield* eachTimed(count, (i) => append(i % 100))
        const messages = Array.from({ length: 100 }, () => message)
        const total = quick ? 20 : 100
        const c = yield* eachTimed(total, (i) => Effect.sync(() => add(session(i % 100), 100, i)))
        const d = yield* eachTimed(total, (i) => append(i % 100, messages))
        const began = performance.now()
        yield* Effect.forEach(
          Array.from({ length: 100 }, (_, fiber) => fiber),
          (fiber) => Effect.forEach(Array.from({ length: count / 20 }), () => append(fiber), { discard: true }),
          { concurrency: "unbounded", discard: true }
        )
        const concurrent = (count * 5) / ((performance.now() - began) / 1000)
        if (round < 0) continue
        figures.raw.push((sum(a) * 1000) / count)
        figures.ours.push((sum(b) * 1000) / count)
        batches.raw.push((sum(c) * 1000) / (total * 100))
        batches.ours.push((sum(d) * 1000) / (total * 100))
        many.raw.push(count / (sum(a) / 1000))
        many.ours.push(concurrent)
      }
    })
  )
  raw.close()
  const row = (
    what: string,
    unit: string,
    ours: number,
    name: string,
    value: number,
    words: string,
    met: boolean
  ): Row => ({
    what,
    unit,
    ours,
    beside: [{ name, value }],
    memory: process.memoryUsage().rss / 2 ** 20,
    target: { words, met }
  })
  const name = "raw better-sqlite3, same schema and statements, FULL"
  return [
    row(
      "append a message, own commit",
      "µs",
      median(figures.ours),
      name,
      median(figures.raw),
      "≤ 1.5 × raw",
      median(figures.ours) <= 1.5 * median(figures.raw)
    ),
    row(
      "10,000 messages in batches of 100, a message",
      "µs",
      median(batches.ours),
      name,
      median(batches.raw),
      "≤ 1.5 × raw",
      median(batches.ours) <= 1.5 * median(batches.raw)
    ),
    row(
      "100 fibers append at once, each durable before it goes on",
      "appends/s",
      median(many.ours),
      `${name}, one by one`,
      median(many.raw),
      "≥ 3 × raw",
      median(many.ours) >= 3 * median(many.raw)
    )
  ]
}

/** The slowest of many commits: where a checkpoint inside of one would show. In turns, so that a slow moment falls on both. */
const spikes = async ({ folder, quick }: Context): Promise<Row> => {
  const [turns, count] = quick ? [2, 1_000] : [10, 1_000]
  const raw = await rawDatabase(path.join(folder, "raw-spikes.db"), 100)
  const add = rawAppend(raw)
  const file = path.join(folder, "ours-spikes.db")
  await prepare(file, 100)
  const { beside, log, ours } = await within(
    file,
    Effect.gen(function* () {
      const append = yield* appender
      const figures = { beside: [] as Array<number>, ours: [] as Array<number> }
      collect()
      for (let turn = -1; turn < turns; turn++) {
        const theirs = yield* eachTimed(count, (i) => Effect.sync(() => add(session(i % 100), 1, i)))
        const own = yield* eachTimed(count, (i) => append(i % 100))
        if (turn < 0) continue
        figures.beside.push(...theirs)
        figures.ours.push(...own)
      }
      return { ...figures, log: statSync(`${file}-wal`).size }
    })
  )
  raw.close()
  return {
    what: "p99 of appends, one after another",
    unit: "ms",
    ours: quantile(ours, 0.99),
    beside: [{ name: "raw, checkpoints in its commits (SQLite's default)", value: quantile(beside, 0.99) }],
    memory: null,
    target: { words: "no checkpoint (5.5 ms) inside a commit: p99.9 below", met: quantile(ours, 0.999) < 5.5 },
    note: `p99.9 ${quantile(ours, 0.999).toFixed(2)} ms beside ${quantile(beside, 0.999).toFixed(2)}; log at most ${(log / 1e6).toFixed(0)} MB`
  }
}

/** Reads while somebody commits 50 rows after 50 rows, without a pause. */
const readers = async ({ folder, quick }: Context): Promise<Row> => {
  const file = path.join(folder, "ours-readers.db")
  await prepare(file, 100)
  const count = quick ? 500 : 3_000
  const fifty = Array.from({ length: 50 }, () => message)
  const read = Effect.flatMap(Database, (database) =>
    database.read("bench", (sql) => sql`SELECT count(*) FROM messages WHERE session_id = ${session(1)}`)
  )
  const { alone, beside } = await within(
    file,
    Effect.gen(function* () {
      const append = yield* appender
      for (let i = 0; i < 20; i++) yield* append(i, fifty)
      const alone = yield* eachTimed(count, () => read)
      const writer = yield* Effect.fork(Effect.forever(append(2, fifty)))
      const beside = yield* eachTimed(count, () => Effect.zipLeft(read, Effect.yieldNow()))
      yield* Effect.interruptible(Effect.asVoid(Effect.sync(() => writer.unsafeInterruptAsFork(writer.id()))))
      return { alone, beside }
    })
  )
  return {
    what: "a read while a writer commits 50 rows after 50 rows, p99",
    unit: "ms",
    ours: quantile(beside, 0.99),
    beside: [{ name: "the same read alone, p99", value: quantile(alone, 0.99) }],
    memory: null,
    target: { words: "< 5 ms", met: quantile(beside, 0.99) < 5 }
  }
}

/** A home of a gigabyte and 100,000 conversations: until it is open and has answered. */
const large = async ({ folder, log, quick }: Context): Promise<ReadonlyArray<Row>> => {
  const file = path.join(folder, "large.db")
  const [sessions, perSession] = quick ? [10_000, 10] : [100_000, 30]
  log("filling a large home")
  const db = await rawDatabase(file, sessions)
  db.pragma("synchronous = OFF")
  const insert = db.prepare(insertMessage)
  const long = text.repeat(quick ? 3 : 3)
  db.transaction(() => {
    for (let m = 0; m < perSession; m++) for (let s = 0; s < sessions; s++) insert.run(session(s), long)
  })()
  db.pragma("wal_checkpoint(TRUNCATE)")
  db.close()
  const began = performance.now()
  const { first, lists } = await within(
    file,
    Effect.gen(function* () {
      const transcript = yield* Transcript
      const store = yield* SessionStore
      yield* transcript.page(session(4_711), { limit: 50 })
      const first = performance.now() - began
      const lists = yield* eachTimed(quick ? 20 : 100, () => store.list({ owner: null, limit: 50 }))
      return { first, lists }
    })
  )
  const gigabytes = statSync(file).size / 1e9
  return [
    {
      what: `open a home of ${gigabytes.toFixed(2)} GB and read a conversation`,
      unit: "ms",
      ours: first,
      beside: [],
      memory: process.memoryUsage().rss / 2 ** 20,
      target: { words: "< 1 s", met: first < 1_000 }
    },
    {
      what: `list 50 of ${sessions.toLocaleString("en")} conversations, p99`,
      unit: "ms",
      ours: quantile(lists, 0.99),
      beside: [],
      memory: null,
      target: { words: "< 10 ms", met: quantile(lists, 0.99) < 10 }
    }
  ]
}

export default {
  title: "State",
  run: async (context) => [
    ...(await singles(context)),
    await spikes(context),
    await readers(context),
    ...(await large(context))
  ]
} satisfies Family
