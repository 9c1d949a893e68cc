/** What a message out costs: its commits, the queue of a start, its story, and finding a chat by its name. */
import { Context as Services, Effect, Layer } from "effect"
import path from "node:path"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import { address } from "../../src/fibers/DeliveryOrigin.js"
import * as Registry from "../../src/layers/adapter/AdapterRegistry.js"
import * as DeliveryLayer from "../../src/layers/delivery/Delivery.js"
import * as ChannelDirectoryLayer from "../../src/layers/sqlite/ChannelDirectory.js"
import * as HomeChannelsLayer from "../../src/layers/sqlite/HomeChannels.js"
import * as IdsLayer from "../../src/layers/node/Ids.js"
import * as ActivityLayer from "../../src/layers/operation/Activity.js"
import * as DatabaseLayer from "../../src/layers/sqlite/Database.js"
import * as OutboxLayer from "../../src/layers/sqlite/Outbox.js"
import * as TargetResolverLayer from "../../src/layers/delivery/TargetResolver.js"
import { type Adapter, plainText } from "../../src/services/adapter/Adapter.js"
import { AdapterRegistry } from "../../src/services/adapter/AdapterRegistry.js"
import { Delivery } from "../../src/services/delivery/Delivery.js"
import { Explain } from "../../src/services/delivery/Explain.js"
import { MediaFiles, MediaRefused } from "../../src/services/delivery/MediaFiles.js"
import { type NewDelivery, Outbox } from "../../src/services/delivery/Outbox.js"
import { make as redactor, Redactor } from "../../src/services/delivery/Redactor.js"
import { bare } from "../../src/services/delivery/Target.js"
import { TargetResolver } from "../../src/services/delivery/TargetResolver.js"
import { Settings } from "../../src/services/operation/Settings.js"
import * as Testing from "../../src/testing/index.js"
import { settings } from "../../src/testing/Settings.js"
import { Database, Transaction } from "../../src/services/state/Database.js"
import { collect, type Context, type Family, median, quantile, type Row } from "../harness.js"

const platform = "telegram"
let posted = 0
const adapter: Adapter = {
  platform,
  capabilities: plainText,
  state: Effect.succeed({ _tag: "Connected" }),
  send: () => Effect.sync(() => ({ platformMessageId: String(++posted), note: null })),
  edit: () => Effect.void,
  typing: () => Effect.void,
  chatInfo: (chatId) => Effect.succeed({ name: chatId, type: "dm" })
}

const no = (name: string) => new MediaRefused({ name, detail: "none here", silent: true })
const noFiles = Layer.succeed(MediaFiles, {
  admit: ({ written }) => no(written),
  read: ({ name }) => no(name),
  keep: ({ name }) => no(name),
  recall: (_platform, name) => no(name),
  largestIncoming: 0
})

const row = (n: number): NewDelivery => ({
  cause: { kind: "turn", id: `turn-${n}` },
  address: address({ platform, chatId: String(n % 200) }),
  text: `message ${n}`,
  part: 1,
  parts: 1,
  transcriptId: null,
  via: "origin",
  state: "pending",
  replyToPerson: true,
  resendOf: null,
  turnId: null,
  sessionKey: null,
  isCron: false
})

/** Everything on one database in `file`; `commits` counts its write transactions. */
const world = (file: string, commits: { count: number }) => {
  const counted = Layer.map(DatabaseLayer.layer({ file }), (context) => {
    const database = Services.get(context, Database)
    return Services.add(context, Database, {
      ...database,
      write: (operation, step, patience) => {
        commits.count += 1
        return database.write(operation, step, patience)
      }
    } satisfies typeof Database.Service)
  })
  const surfaces = Layer.scopedDiscard(Effect.flatMap(AdapterRegistry, (registry) => registry.register(adapter)))
  return Layer.mergeAll(DeliveryLayer.layer, TargetResolverLayer.layer).pipe(
    Layer.provideMerge(surfaces),
    Layer.provideMerge(Layer.mergeAll(OutboxLayer.layer, ChannelDirectoryLayer.layer, HomeChannelsLayer.layer)),
    Layer.provideMerge(Layer.mergeAll(counted, Registry.layer, ActivityLayer.layer, IdsLayer.layer, noFiles)),
    Layer.provide(AmbientEnvironment.layer({})),
    Layer.provide(Layer.succeed(Settings, settings(path.dirname(file)))),
    Layer.provideMerge(Layer.succeed(Redactor, redactor([])))
  )
}

const measure = (context: Context) =>
  Effect.gen(function* () {
    const commits = { count: 0 }
    const scope = yield* Effect.scope
    const built = yield* Layer.buildWithScope(world(path.join(context.folder, "delivery.db"), commits), scope)
    const delivery = Services.get(built, Delivery)
    const database = Services.get(built, Database)
    const outbox = Services.get(built, Outbox)
    const resolver = Services.get(built, TargetResolver)

    const step = yield* delivery.prepare({ ...row(0), cause: { kind: "turn", id: "counted" } })
    commits.count = 0
    const rows = yield* database.write("turn", step(null))
    const before = commits.count
    yield* delivery.dispatch(rows)
    const after = commits.count - before

    const waiting = 1_000
    yield* database.write("queue", outbox.insert(Array.from({ length: waiting }, (_, n) => row(n + 1))))
    const heapBefore = collect()
    const began = performance.now()
    yield* delivery.recover
    while ((yield* outbox.inState(["pending", "sending"], 1)).length > 0) yield* Effect.sleep("5 millis")
    const drained = performance.now() - began
    const grown = collect() - heapBefore

    const chats = 50_000
    yield* database.write(
      "chats",
      Effect.gen(function* () {
        const sql = yield* Transaction
        for (let n = 0; n < chats; n += 1_000)
          yield* sql`INSERT INTO channels ${sql.insert(
            Array.from({ length: 1_000 }, (_, index) => ({
              platform,
              chat_id: String(1_000_000 + n + index),
              thread_id: "",
              name: `Room ${n + index} of the house`,
              spoken_name: bare(`Room ${n + index} of the house`),
              type: "group",
              last_seen_at: n + index
            }))
          )}`
      })
    )
    const lookups: Array<number> = []
    for (let n = 0; n < (context.quick ? 100 : 400); n += 1) {
      const at = performance.now()
      yield* resolver.resolve(`${platform}:#Room ${(n * 7_919) % chats} of the house`)
      lookups.push(performance.now() - at)
    }
    return { before, after, drained, grown, lookup: median(lookups), lookup99: quantile(lookups, 0.99) }
  })

/** `count` further lives of the one chain that is there: its message, its turn, its call and what it sent. */
const copies = (from: number, count: number) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    const numbers = `WITH RECURSIVE c(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM c WHERE n + 1 < ${from + count})`
    const copy = (table: string, changed: Record<string, string>) =>
      Effect.gen(function* () {
        const columns = (yield* sql.unsafe<{ readonly name: string }>(
          `SELECT name FROM pragma_table_info('${table}') WHERE name NOT IN ('sequence')`
        )).map(({ name }) => name)
        const picked = columns.map((name) => changed[name] ?? name).join(", ")
        yield* sql.unsafe(`${numbers} INSERT INTO ${table} (${columns.join(", ")})
          SELECT ${picked} FROM original_${table} CROSS JOIN c`)
      })
    const turn = "'trn_copy' || n"
    yield* copy("inbound_events", {
      id: "'evt_copy' || n",
      message_id: "'copy' || n",
      turn_id: turn
    })
    yield* copy("turns", { id: turn, inbox_id: "'evt_copy' || n" })
    yield* copy("tool_calls", { turn_id: turn })
    yield* copy("deliveries", {
      id: "'dlv_copy' || n || '_' || cause_kind",
      cause_id: `${turn} || CASE cause_kind WHEN 'turn' THEN '' ELSE ':note' END`,
      turn_id: turn
    })
  })

/** A story out of a database of a million messages out. */
const stories = (context: Context) =>
  Effect.gen(function* () {
    const { only } = yield* Testing.AdapterInMemory
    const database = yield* Database
    const explain = yield* Explain
    yield* only.say("please")
    yield* only.sent.waitFor("the answer", ({ text }) => text === "done", { seconds: 20 })
    yield* Effect.sleep("300 millis")
    yield* database.write(
      "originals",
      Effect.flatMap(Transaction, (sql) =>
        Effect.forEach(["inbound_events", "turns", "tool_calls", "deliveries"], (table) =>
          sql.unsafe(`CREATE TABLE original_${table} AS SELECT * FROM ${table}`)
        )
      )
    )
    const turns = context.quick ? 50_000 : 500_000
    const page = 2_500
    for (let from = 0; from < turns; from += page) yield* database.write("copies", copies(from, page))
    const took: Array<number> = []
    for (let round = 0; round < 100; round += 1) {
      const n = (round * 7_919) % turns
      for (const id of [`dlv_copy${n}_turn`, `dlv_copy${n}_send_message`, `trn_copy${n}`, `evt_copy${n}`]) {
        const began = performance.now()
        const story = yield* explain.story(id)
        took.push(performance.now() - began)
        if (story.passages.length < 4) return yield* Effect.dieMessage(`the story of ${id} is short`)
      }
    }
    return { rows: turns * 2, median: median(took), most: quantile(took, 0.99) }
  }).pipe(
    Effect.provide(
      Testing.gateway({
        model: (request) =>
          request.messages.at(-1)?._tag === "tool"
            ? Testing.say("done")
            : Testing.call("send_message", { target: "telegram:1000", message: "a note" }, "note"),
        database: Layer.orDie(DatabaseLayer.layer({ file: path.join(context.folder, "stories.db") }))
      })
    ),
    Effect.scoped
  )

const measured = async (context: Context): Promise<ReadonlyArray<Row>> => {
  const found = await Effect.runPromise(Effect.scoped(measure(context)))
  const told = await Effect.runPromise(stories(context))
  const rowOf = (what: string, unit: string, ours: number, words: string, met: boolean): Row => ({
    what,
    unit,
    ours,
    beside: [],
    memory: null,
    target: { words, met }
  })
  return [
    rowOf("commits of a delivery before it leaves, the turn's own", "", found.before, "at most 1", found.before <= 1),
    rowOf("commits of a delivery after it left", "", found.after, "at most 1", found.after <= 1),
    rowOf("1,000 rows that wait at a start, sent and settled", "ms", found.drained, "–", true),
    rowOf("heap grown by them", "MB", found.grown, "flat (< 16 MB)", found.grown < 16),
    rowOf("a chat by its name among 50,000, p50", "ms", found.lookup, "< 2 ms", found.lookup < 2),
    rowOf(
      `a story among ${told.rows.toLocaleString("en")} messages out, p99`,
      "ms",
      told.most,
      "< 50 ms",
      told.most < 50
    )
  ]
}

export default { title: "Delivery", run: measured } satisfies Family
