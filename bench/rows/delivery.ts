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
import { MediaFiles, MediaRefused } from "../../src/services/delivery/MediaFiles.js"
import { type NewDelivery, Outbox } from "../../src/services/delivery/Outbox.js"
import { make as redactor, Redactor } from "../../src/services/delivery/Redactor.js"
import { bare } from "../../src/services/delivery/Target.js"
import { TargetResolver } from "../../src/services/delivery/TargetResolver.js"
import { Settings } from "../../src/services/operation/Settings.js"
import { settings } from "../../src/testing/Settings.js"
import { Database, Transaction } from "../../src/services/state/Database.js"
import { type Context, type Family, median, quantile, type Row } from "../harness.js"

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
    globalThis.gc?.()
    const heapBefore = process.memoryUsage().heapUsed
    const began = performance.now()
    yield* delivery.recover
    while ((yield* outbox.inState(["pending", "sending"], 1)).length > 0) yield* Effect.sleep("5 millis")
    const drained = performance.now() - began
    globalThis.gc?.()
    const grown = (process.memoryUsage().heapUsed - heapBefore) / 1024 / 1024

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

const measured = async (context: Context): Promise<ReadonlyArray<Row>> => {
  const found = await Effect.runPromise(Effect.scoped(measure(context)))
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
    rowOf("a chat by its name among 50,000, p50", "ms", found.lookup, "< 2 ms", found.lookup < 2)
  ]
}

export default { title: "Delivery", run: measured } satisfies Family
