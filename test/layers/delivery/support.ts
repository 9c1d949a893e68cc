/** What the tests of delivery stand on: a platform that outlives the process, a process that can be killed, a turn to send from. */
import { Context, Effect, ExecutionStrategy, Exit, Layer, Ref, Scope } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as Registry from "../../../src/layers/adapter/AdapterRegistry.js"
import * as DeliveryLayer from "../../../src/layers/delivery/Delivery.js"
import * as IdsLayer from "../../../src/layers/node/Ids.js"
import * as ActivityLayer from "../../../src/layers/operation/Activity.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as SqliteOutbox from "../../../src/layers/sqlite/Outbox.js"
import {
  type Adapter,
  type AdapterCapabilities,
  type AdapterState,
  type OutboundMessage,
  type SendError,
  type SendReceipt,
  SendRefused
} from "../../../src/services/adapter/Adapter.js"
import { AdapterRegistry } from "../../../src/services/adapter/AdapterRegistry.js"
import { Delivery, type Outgoing } from "../../../src/services/delivery/Delivery.js"
import { MediaFiles, MediaRefused } from "../../../src/services/delivery/MediaFiles.js"
import { Outbox } from "../../../src/services/delivery/Outbox.js"
import { make as redactor, Redactor } from "../../../src/services/delivery/Redactor.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { Ids } from "../../../src/services/operation/Ids.js"
import { Database } from "../../../src/services/state/Database.js"
import { StateUnknown } from "../../../src/services/state/StateError.js"
import * as WriteDoor from "../support/writeDoor.js"

export const knownSecret = "the-secret-that-settings-hold"

const capabilities: AdapterCapabilities = {
  asyncDelivery: true,
  inChannelContinuation: false,
  messageEditing: true,
  typing: true,
  buttons: true,
  codeBlocks: true,
  splitsLongMessages: false,
  maxMessageLength: 4_096,
  lengthUnit: "utf16",
  commandPrefix: "/",
  platformIds: true
}

export interface Posted {
  readonly id: string
  readonly chatId: string
  readonly threadId: string | null
  text: string
  readonly deliveryId: string
}

/** A platform with its memory: what stands on it survives the gateway. */
export interface Platform {
  readonly adapter: Adapter
  readonly posted: Array<Posted>
  /** Every call of `send`, as the fiber that made it was bound. */
  readonly calls: Array<{ readonly message: OutboundMessage; readonly facts: Turn.Facts }>
  readonly edits: Array<{ readonly id: string; readonly text: string; readonly final: boolean }>
  readonly typed: Array<DeliveryOrigin.Address>
  /** What happens to a send; `arrive` puts the message on the platform. */
  onSend: (message: OutboundMessage, arrive: Effect.Effect<SendReceipt>) => Effect.Effect<SendReceipt, SendError>
  /** Told of each reaction; slack here has none. */
  onReact: (at: DeliveryOrigin.Address, id: string, emoji: string | null) => void
  onEdit: (id: string, text: string) => Effect.Effect<void, SendError>
  state: AdapterState
}

export const platform = (name = "telegram", changes: Partial<AdapterCapabilities> = {}): Platform => {
  const own = { ...capabilities, ...changes }
  let last = 0
  const arrive = (message: OutboundMessage): Effect.Effect<SendReceipt> =>
    Effect.sync(() => {
      const id = `m${++last}`
      const { chatId, threadId } = message.address
      made.posted.push({ id, chatId, threadId, text: message.text, deliveryId: message.deliveryId })
      return { platformMessageId: own.platformIds ? id : null, note: null }
    })
  const made: Platform = {
    posted: [],
    calls: [],
    edits: [],
    typed: [],
    state: { _tag: "Connected" },
    onSend: (_message, arrives) => arrives,
    onEdit: () => Effect.void,
    onReact: () => undefined,
    adapter: {
      platform: name,
      capabilities: own,
      state: Effect.sync(() => made.state),
      send: (message) =>
        Effect.flatMap(Turn.peek, (facts) => {
          made.calls.push({ message, facts })
          return made.onSend(message, arrive(message))
        }),
      ...(name === "slack" ? {} : { react: (at, id, emoji) => Effect.sync(() => made.onReact(at, id, emoji)) }),
      edit: (_address, id, text, options) =>
        Effect.suspend(() => made.onEdit(id, text)).pipe(
          Effect.zipRight(
            Effect.suspend(() => {
              const message = made.posted.find((posted) => posted.id === id)
              if (message === undefined)
                return new SendRefused({ platform: name, detail: "no such message", code: "message_gone" })
              message.text = text
              made.edits.push({ id, text, final: options.final })
              return Effect.void
            })
          )
        ),
      typing: (address) => Effect.sync(() => void made.typed.push(address)),
      chatInfo: (chatId) => Effect.succeed({ name: chatId, type: "dm" })
    }
  }
  return made
}

/** The database and the ids, which outlive a process. */
export const durable = Layer.merge(SqliteDatabase.layerMemory, IdsLayer.layer)
export type Durable = Database | Ids

/** One life of the gateway's delivery on that database. */
export interface Life {
  readonly context: Context.Context<Delivery | Outbox | Activity | AdapterRegistry>
  readonly delivery: Context.Tag.Service<Delivery>
  readonly outbox: Context.Tag.Service<Outbox>
  readonly activity: Context.Tag.Service<Activity>
  /** Commits since it began. */
  readonly commits: Array<string>
  /** As `kill -9`: from now on nothing is written, and no finalizer's write counts. */
  readonly kill: Effect.Effect<void>
  /** As SIGTERM. */
  readonly stop: Effect.Effect<void>
}

/** Nothing may be sent. */
const noFiles = Layer.succeed(MediaFiles, {
  admit: ({ explicit, written }) =>
    new MediaRefused({ name: written, detail: "there is no such file", silent: !explicit }),
  read: ({ name }) => new MediaRefused({ name, detail: "there is no such file", silent: false }),
  keep: ({ name }) => new MediaRefused({ name, detail: "nothing is kept here", silent: false }),
  recall: (_platform, name) => new MediaRefused({ name, detail: "nothing is kept here", silent: false }),
  largestIncoming: 0
})

export const life = (
  platforms: ReadonlyArray<Platform>,
  environment: Record<string, string> = {},
  files: Layer.Layer<MediaFiles> = noFiles
): Effect.Effect<Life, never, Durable | Scope.Scope> =>
  Effect.gen(function* () {
    const database = yield* Database
    const ids = yield* Ids
    const dead = yield* Ref.make(false)
    const commits: Array<string> = []
    const fenced = Layer.succeed(
      Database,
      WriteDoor.behind(database, (operation, write) =>
        Effect.flatMap(Ref.get(dead), (gone) =>
          gone
            ? Effect.fail(new StateUnknown({ operation, detail: "the process is gone" }))
            : Effect.tap(write, () => Effect.sync(() => commits.push(operation)))
        )
      )
    )
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
    const adapters = Layer.effectDiscard(
      Effect.flatMap(AdapterRegistry, (registry) =>
        Effect.forEach(platforms, ({ adapter }) =>
          Effect.provideService(registry.register(adapter), Scope.Scope, scope)
        )
      )
    )
    const layer = DeliveryLayer.layer.pipe(
      Layer.merge(adapters),
      Layer.provideMerge(SqliteOutbox.layer),
      Layer.provideMerge(Layer.mergeAll(fenced, Registry.layer, ActivityLayer.layer, Layer.succeed(Ids, ids))),
      Layer.provide(AmbientEnvironment.layer(environment)),
      Layer.provide(files),
      Layer.provide(Layer.succeed(Redactor, redactor([knownSecret])))
    )
    const context = yield* Layer.buildWithScope(layer, scope)
    return {
      context,
      delivery: Context.get(context, Delivery),
      outbox: Context.get(context, Outbox),
      activity: Context.get(context, Activity),
      commits,
      kill: Effect.zipRight(Ref.set(dead, true), Scope.close(scope, Exit.void)),
      stop: Scope.close(scope, Exit.void)
    }
  })

export const at = (chatId: string, threadId: string | null = null, name = "telegram"): DeliveryOrigin.Address =>
  DeliveryOrigin.address({ platform: name, chatId, threadId })

let causes = 0
/** A message to a chat, under a cause of its own. */
export const outgoing = (chatId: string, text: string, changes: Partial<Outgoing> = {}): Outgoing => ({
  cause: { kind: "turn", id: `cause-${++causes}` },
  address: at(chatId),
  text,
  via: "origin",
  transcriptId: null,
  replyToPerson: true,
  ...changes
})

export const turn = (chatId: string, changes: Partial<ConstructorParameters<typeof Turn.Turn>[0]> = {}): Turn.Turn =>
  new Turn.Turn({
    id: Turn.TurnId.make(`turn-${chatId}`),
    parent: null,
    depth: 0,
    identity: SessionIdentity.bind({
      platform: "telegram",
      chatId,
      sessionKey: `agent:main:telegram:dm:${chatId}`,
      sessionId: `ses_${chatId}`
    }),
    marker: CronMarker.notCron,
    origin: DeliveryOrigin.live(at(chatId)),
    presence: Presence.human(`agent:main:telegram:dm:${chatId}`),
    asyncDelivery: true,
    workingDirectory: null,
    ...changes
  })

/** Lets everything go on that is not waiting for time: fibers, and the commits of the event loop's next turns. */
export const settle: Effect.Effect<void> = Effect.promise(async () => {
  for (let round = 0; round < 16; round += 1) await new Promise((resolve) => setImmediate(resolve))
})
