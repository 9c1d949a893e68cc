/**
 * The database beside raw better-sqlite3 on the same disk in the same run: durable commits one after another, by 100
 * writers at once, statements in a step, reads; and the slowest of many commits, which is where a checkpoint would show.
 *
 * Usage: npx tsx bench/state.ts [folder]
 */
import Sqlite from "better-sqlite3"
import { Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as CronMarker from "../src/fibers/CronMarker.js"
import { address, live } from "../src/fibers/DeliveryOrigin.js"
import { human } from "../src/fibers/Presence.js"
import * as SessionIdentity from "../src/fibers/SessionIdentity.js"
import { Turn, TurnId } from "../src/fibers/Turn.js"
import * as Ids from "../src/layers/node/Ids.js"
import * as SqliteDatabase from "../src/layers/sqlite/Database.js"
import * as InboxLayer from "../src/layers/sqlite/Inbox.js"
import * as OutboxLayer from "../src/layers/sqlite/Outbox.js"
import * as SessionLayer from "../src/layers/sqlite/SessionStore.js"
import * as TranscriptLayer from "../src/layers/sqlite/Transcript.js"
import * as TurnLayer from "../src/layers/sqlite/TurnStore.js"
import { Inbox } from "../src/services/conversation/Inbox.js"
import { InboundEvent, Source } from "../src/services/conversation/InboundEvent.js"
import { TurnStore } from "../src/services/conversation/TurnStore.js"
import { Outbox } from "../src/services/delivery/Outbox.js"
import { SessionKey } from "../src/services/session/SessionKey.js"
import { SessionStore } from "../src/services/session/SessionStore.js"
import { Transcript } from "../src/services/session/Transcript.js"
import { Database, Transaction } from "../src/services/state/Database.js"

const nobody = {
  platform: "telegram",
  surface: null,
  botId: "bot",
  chatId: null,
  chatName: null,
  chatType: "dm",
  threadId: null,
  parentChatId: null,
  scopeId: null,
  userId: null,
  userIdAlt: null,
  userName: null,
  isBot: false,
  profile: null,
  uiSessionId: null
} as const
const arrival = { asyncDelivery: true, marker: CronMarker.unset, unattended: null, workingDirectory: null }

const folder = mkdtempSync(path.join(process.argv[2] ?? tmpdir(), "hermes-bench-state-"))
const body = "x".repeat(200)

const line = (name: string, values: { readonly [name: string]: string | number }) =>
  console.log(
    name.padEnd(46),
    Object.entries(values)
      .map(([key, value]) => `${key} ${value}`)
      .join("  ")
  )

const quantile = (sorted: ReadonlyArray<number>, share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2)

const summary = (millis: Array<number>) => {
  const sorted = millis.toSorted((a, b) => a - b)
  return {
    "p50 ms": quantile(sorted, 0.5),
    "p99 ms": quantile(sorted, 0.99),
    "p99.9 ms": quantile(sorted, 0.999),
    "max ms": quantile(sorted, 1)
  }
}

const raw = () => {
  const db = new Sqlite(path.join(folder, "raw.db"))
  db.pragma("journal_mode = WAL")
  db.pragma("synchronous = FULL")
  db.exec("CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID")
  return db
}

const rawSingle = (db: Sqlite.Database, count: number): number => {
  const [begin, insert, commit] = ["BEGIN IMMEDIATE", "INSERT INTO meta VALUES (?, ?)", "COMMIT"].map((sql) =>
    db.prepare(sql)
  )
  const millis: Array<number> = []
  const started = performance.now()
  for (let i = 0; i < count; i++) {
    const at = performance.now()
    begin?.run()
    insert?.run(`raw-${started}-${i}`, body)
    commit?.run()
    millis.push(performance.now() - at)
  }
  const rate = count / ((performance.now() - started) / 1000)
  line("raw better-sqlite3, one by one, FULL", { "commits/s": Math.round(rate), ...summary(millis) })
  return rate
}

const insert = (key: string) =>
  Effect.flatMap(Transaction, (sql) => sql`INSERT INTO meta (key, value) VALUES (${key}, ${body})`)

const ours = Effect.gen(function* () {
  const database = yield* Database
  const single = (name: string, count: number) =>
    Effect.gen(function* () {
      const millis: Array<number> = []
      const started = performance.now()
      for (let i = 0; i < count; i++) {
        const at = performance.now()
        yield* database.write("bench", insert(`single-${started}-${i}`))
        millis.push(performance.now() - at)
      }
      const rate = count / ((performance.now() - started) / 1000)
      line(name, { "commits/s": Math.round(rate), ...summary(millis) })
      return rate
    })
  const many = (name: string, writers: number, each: number, statements: number) =>
    Effect.gen(function* () {
      const millis: Array<number> = []
      const started = performance.now()
      yield* Effect.forEach(
        Array.from({ length: writers }, (_, writer) => writer),
        (writer) =>
          Effect.gen(function* () {
            for (let i = 0; i < each; i++) {
              const at = performance.now()
              yield* database.write(
                "bench",
                Effect.forEach(
                  Array.from({ length: statements }, (_, statement) => statement),
                  (statement) => insert(`${name}-${writer}-${i}-${statement}`),
                  { discard: true }
                )
              )
              millis.push(performance.now() - at)
            }
          }),
        { concurrency: "unbounded", discard: true }
      )
      const rate = (writers * each) / ((performance.now() - started) / 1000)
      line(name, { "steps/s": Math.round(rate), ...summary(millis) })
      return rate
    })
  const db = raw()
  for (let round = 0; round < 3; round++) {
    const floor = rawSingle(db, 2_000)
    yield* single("ours, one by one, FULL", 2_000)
    const grouped = yield* many(`ours, 100 writers, FULL, round ${round}`, 100, 200, 1)
    line("ratio: 100 writers / raw one by one", { times: (grouped / floor).toFixed(2) })
    const turns = yield* many(`ours, 100 writers of 3 statements, round ${round}`, 100, 100, 3)
    line("turns of 4 commits and 12 statements", { "turns/s": Math.round(turns / 4) })
  }
  const reads = 20_000
  const started = performance.now()
  for (let i = 0; i < reads; i++)
    yield* database.read("bench", (sql) => sql`SELECT value FROM meta WHERE key = ${`single-${i}`}`)
  line("ours, SELECT by key", { µs: (((performance.now() - started) * 1000) / reads).toFixed(1) })
  db.close()
})

/** A plain turn as the gateway stores it: four commits of the real stores, by 100 conversations at once. */
const turns = Effect.gen(function* () {
  const database = yield* Database
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const inbox = yield* Inbox
  const store = yield* TurnStore
  const outbox = yield* Outbox
  const conversations = 100
  const each = 100
  const one = (conversation: number, number: number) =>
    Effect.gen(function* () {
      const chatId = `${conversation}`
      const source = new Source({ ...nobody, chatId, userId: chatId })
      const key = SessionKey.make(`agent:main:telegram:dm:${chatId}`)
      const text = "a message of ordinary length, as people write them to one another"
      const event = new InboundEvent({
        source,
        text,
        messageId: `${number}`,
        replyTo: null,
        media: [],
        sentAt: 1,
        sessionId: null
      })
      const entry = yield* inbox.accept(key, event, arrival)
      if (entry === null) return yield* Effect.dieMessage("dropped")
      const session = yield* sessions.resolve(key, source)
      const turn = new Turn({
        id: TurnId.make(`${chatId}-${number}`),
        parent: null,
        depth: 0,
        identity: SessionIdentity.bind({
          platform: "telegram",
          chatId,
          chatType: "dm",
          userId: chatId,
          sessionKey: key,
          sessionId: session.id,
          messageId: `${number}`,
          profile: "default"
        }),
        marker: CronMarker.notCron,
        origin: live(address({ platform: "telegram", chatId, anchor: `${number}` })),
        presence: human(key),
        asyncDelivery: true,
        workingDirectory: null
      })
      yield* database.write(
        "turn.begin",
        Effect.all([
          inbox.settle(entry.id, "running", turn.id),
          store.begin(turn, entry.id),
          transcript.append(session.id, turn.id, [{ _tag: "user", text, platformMessageId: `${number}` }])
        ]),
        "transcript"
      )
      const [row] = yield* database.write(
        "turn.answer",
        Effect.gen(function* () {
          const [answer] = yield* transcript.append(session.id, turn.id, [
            { _tag: "assistant", text: body, reasoning: null, toolCalls: [], finishReason: "stop" }
          ])
          yield* store.answering(turn.id)
          return yield* outbox.insert([
            {
              cause: { kind: "turn", id: turn.id },
              address: address({ platform: "telegram", chatId }),
              text: body,
              part: 0,
              parts: 1,
              transcriptId: answer?.id ?? null,
              via: "origin",
              state: "sending",
              replyToPerson: true,
              resendOf: null,
              turnId: turn.id,
              sessionKey: key,
              isCron: false
            }
          ])
        }),
        "transcript"
      )
      yield* database.write(
        "turn.end",
        Effect.all([
          outbox.settle(row?.id ?? "", { state: "sent", platformMessageId: "1", note: null }),
          store.end(turn.id, "answered"),
          inbox.settle(entry.id, "answered", turn.id)
        ])
      )
    })
  for (let round = 0; round < 3; round++) {
    const started = performance.now()
    const before = process.cpuUsage()
    yield* Effect.forEach(
      Array.from({ length: conversations }, (_, conversation) => conversation),
      (conversation) =>
        Effect.forEach(
          Array.from({ length: each }, (_, number) => round * each + number),
          (number) => one(conversation, number),
          { discard: true }
        ),
      { concurrency: "unbounded", discard: true }
    )
    const used = process.cpuUsage(before)
    line("turns through the stores, FULL", {
      "turns/s": Math.round((conversations * each) / ((performance.now() - started) / 1000)),
      "CPU µs/turn": Math.round((used.user + used.system) / (conversations * each)),
      "RSS MB": Math.round(process.memoryUsage().rss / 2 ** 20)
    })
  }
})

const database = SqliteDatabase.layer({ file: path.join(folder, "ours.db") })
const stores = Layer.mergeAll(
  SessionLayer.layer,
  TranscriptLayer.layer,
  InboxLayer.layer,
  TurnLayer.layer,
  OutboxLayer.layer
)

Effect.zipRight(ours, turns).pipe(
  Effect.provide(Layer.provideMerge(stores, Layer.merge(database, Ids.layer))),
  Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true, force: true }))),
  Effect.runPromise
)
