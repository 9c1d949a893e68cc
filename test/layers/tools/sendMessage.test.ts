/** Where a message of the model goes (gateway.md 6.2, 6.4), from the tool's arguments to the platform. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as TargetResolverLayer from "../../../src/layers/delivery/TargetResolver.js"
import * as ToolRegistryLayer from "../../../src/layers/agent/ToolRegistry.js"
import * as SendMessage from "../../../src/layers/tools/sendMessage.js"
import { SendRefused, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import { ChannelDirectory, type KnownChat } from "../../../src/services/adapter/ChannelDirectory.js"
import { ToolRegistry } from "../../../src/services/agent/Toolbox.js"
import { Mirror } from "../../../src/services/delivery/Mirror.js"
import { HomeChannels } from "../../../src/services/delivery/HomeChannels.js"
import { make as redactor, Redactor } from "../../../src/services/delivery/Redactor.js"
import { TargetResolver } from "../../../src/services/delivery/TargetResolver.js"
import { StateUnknown } from "../../../src/services/state/StateError.js"
import { at, durable, life, type Platform, platform, turn } from "../delivery/support.js"

const known = (name: string, chatId: string, threadId: string | null = null): KnownChat => ({
  platform: "telegram",
  chatId,
  threadId,
  name,
  type: "group",
  lastSeenAt: 0
})

const chats: ReadonlyArray<KnownChat> = [
  known("Team Rocket", "-100"),
  known("Releases", "-100", "7"),
  known("Anna", "55"),
  known("Anna Bell", "56")
]

const directory = Layer.succeed(
  ChannelDirectory,
  ChannelDirectory.of({
    list: (names, limit) =>
      Effect.succeed(chats.filter((chat) => names === null || names.includes(chat.platform)).slice(0, limit)),
    candidates: (name) => Effect.succeed(chats.filter((chat) => chat.platform === name)),
    topic: () => Effect.succeed(null),
    rememberTopic: () => Effect.void
  })
)

/** Each mirrored message: chat, label and text. */
const mirrored: Array<string> = []
const mirror = Layer.succeed(
  Mirror,
  Mirror.of({
    into: (place, _userId, { label, text }) =>
      Effect.sync(() => {
        mirrored.push(`${place.platform} ${place.chatId} ${place.threadId}: ${label}: ${text}`)
        return true
      }),
    seed: () => Effect.void
  })
)

const homes = Layer.succeed(
  HomeChannels,
  HomeChannels.of({
    get: (name) => Effect.succeed(name === "telegram" ? at("home", "9") : null),
    set: () => Effect.void,
    all: Effect.succeed([at("home", "9")])
  })
)

const Result = Schema.parseJson(
  Schema.Struct(
    {
      success: Schema.Boolean,
      platform: Schema.optional(Schema.String),
      chat_id: Schema.optional(Schema.String),
      thread_id: Schema.optional(Schema.NullOr(Schema.String)),
      message_id: Schema.optional(Schema.NullOr(Schema.String)),
      delivery_id: Schema.optional(Schema.NullOr(Schema.String)),
      code: Schema.optional(Schema.String),
      error: Schema.optional(Schema.String),
      note: Schema.optional(Schema.String)
    },
    { key: Schema.String, value: Schema.Unknown }
  )
)

interface World {
  readonly telegram: Platform
  readonly slack: Platform
  readonly call: (args: object) => Effect.Effect<typeof Result.Type, never, Turn.CurrentTurn>
  readonly resolve: (target: string) => Effect.Effect<string>
  readonly rows: Effect.Effect<
    ReadonlyArray<{ readonly via: string; readonly isCron: boolean; readonly state: string }>
  >
}

let calls = 0

const world = (
  options: {
    readonly environment?: Record<string, string>
    readonly ambient?: Layer.Layer<AmbientEnvironment.AmbientEnvironment>
    readonly resolver?: typeof TargetResolverLayer.layer
    readonly homes?: Layer.Layer<HomeChannels>
  } = {}
) =>
  Effect.gen(function* () {
    const telegram = platform()
    const slack = platform("slack")
    const gateway = yield* life([telegram, slack], options.environment)
    const layer = SendMessage.layer.pipe(
      Layer.provideMerge(options.resolver ?? TargetResolverLayer.layer),
      Layer.provideMerge(ToolRegistryLayer.layer),
      Layer.provide([options.homes ?? homes, directory, mirror]),
      Layer.provide(options.ambient ?? AmbientEnvironment.layer(options.environment ?? {})),
      Layer.provide(Layer.succeed(Redactor, redactor([]))),
      Layer.provide(Layer.succeedContext(gateway.context))
    )
    const context = yield* Layer.build(layer)
    const resolver = yield* Effect.provide(TargetResolver, context)
    const tools = yield* Effect.flatMap(Effect.provide(ToolRegistry, context), (registry) => registry.all)
    const [tool] = tools
    if (tool === undefined) return assert.fail("the tool is registered")
    return {
      telegram,
      slack,
      call: (args) =>
        Effect.suspend(() =>
          tool.call(JSON.stringify(args), {
            callId: `call-${++calls}`,
            waiting: Effect.void,
            started: Effect.void
          })
        ).pipe(
          Effect.catchAll((failure) => Effect.succeed(failure.message)),
          Effect.flatMap((text) => Effect.orDie(Schema.decode(Result)(text)))
        ),
      resolve: (target) =>
        Effect.match(resolver.resolve(target), {
          onFailure: (error) => error.message,
          onSuccess: ({ address, via }) => `${via} ${address.platform} ${address.chatId} ${address.threadId}`
        }),
      rows: Effect.orDie(gateway.outbox.list({ limit: 100 }))
    } satisfies World
  })

/** A person's turn in a topic of a group. */
const inTopic = turn("-100", {
  identity: SessionIdentity.bind({
    platform: "telegram",
    chatId: "-100",
    threadId: "7",
    messageId: "31",
    sessionKey: "agent:main:telegram:group:-100:7",
    sessionId: "ses_topic"
  }),
  origin: DeliveryOrigin.live(
    DeliveryOrigin.address({ platform: "telegram", chatId: "-100", threadId: "7", anchor: "31" })
  )
})

const cli = turn("cli", {
  identity: SessionIdentity.bind({ source: "cli", sessionKey: "agent:main:cli:dm:me", sessionId: "ses_cli" }),
  origin: DeliveryOrigin.cleared
})

/** A job's run, as the job runner would bind it: here with a platform bound, which must not matter. */
const cron = (origin: DeliveryOrigin.DeliveryOrigin = DeliveryOrigin.cleared, changes = {}) =>
  turn("cron", {
    identity: SessionIdentity.bind({
      source: "cron",
      platform: "telegram",
      chatId: "55",
      sessionKey: "agent:main:telegram:dm:55",
      sessionId: "ses_cron"
    }),
    marker: CronMarker.cron({ job: "job-1", run: "run-1" }),
    origin,
    presence: Presence.nobody("cron"),
    asyncDelivery: false,
    ...changes
  })

const delegate = <A, E, R>(id: string, self: Effect.Effect<A, E, R>) =>
  Turn.delegate({ id: Turn.TurnId.make(id), sessionKey: `agent:main:subagent:dm:${id}`, sessionId: `ses_${id}` })(self)

const bare = { action: "send", target: "telegram", message: "hi" }

const landed = ({ slack, telegram }: World) =>
  [...telegram.posted, ...slack.posted].map((posted) => `${posted.chatId} ${posted.threadId}`)

describe("a bare send", () => {
  it.scoped("in a channel lands in the same chat and topic, at its anchor", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const result = yield* Turn.enter(inTopic)(here.call(bare))
      assert.deepInclude(result, {
        success: true,
        platform: "telegram",
        chat_id: "-100",
        thread_id: "7",
        message_id: "m1"
      })
      assert.isString(result.delivery_id)
      assert.deepStrictEqual(landed(here), ["-100 7"])
      assert.strictEqual(here.telegram.calls[0]?.message.address.anchor, "31")
      assert.deepStrictEqual(
        (yield* here.rows).map(({ isCron, state, via }) => ({ isCron, state, via })),
        [{ isCron: false, state: "sent", via: "origin" }]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("without any target lands there too", () =>
    Effect.gen(function* () {
      const here = yield* world()
      yield* Turn.enter(inTopic)(here.call({ message: "hi" }))
      yield* Turn.enter(inTopic)(here.call({ message: "hi", target: "" }))
      yield* Turn.enter(inTopic)(here.call({ message: "hi", target: "Telegram" }))
      assert.deepStrictEqual(landed(here), ["-100 7", "-100 7", "-100 7"])
      const nowhere = yield* Turn.enter(cli)(here.call({ message: "hi" }))
      assert.deepInclude(nowhere, { success: false, code: "UnresolvedTarget" })
    }).pipe(Effect.provide(durable))
  )

  it.scoped("from a delegate, a grandchild and one in a fiber of its own lands there too", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const nested = delegate("child", Effect.zipRight(here.call(bare), delegate("grandchild", here.call(bare))))
      const apart = Effect.flatMap(Turn.fork(delegate("background", here.call(bare))), Turn.result)
      yield* Turn.enter(inTopic)(Effect.zipRight(nested, apart))
      assert.deepStrictEqual(landed(here), ["-100 7", "-100 7", "-100 7"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("to another platform is an error, and nothing is sent, also from a delegate", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const toSlack = here.call({ ...bare, target: "slack" })
      for (const result of [
        yield* Turn.enter(inTopic)(toSlack),
        yield* Turn.enter(inTopic)(delegate("child", toSlack))
      ]) {
        assert.deepInclude(result, { success: false, code: "InTurnUnresolvable" })
        assert.include(result.error, "slack:<chat>")
      }
      assert.deepStrictEqual(landed(here), [])
      assert.lengthOf(yield* here.rows, 0)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("with an explicit chat is the same in every context", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const explicit = here.call({ ...bare, target: "telegram:-200:4" })
      for (const context of [inTopic, cli, cron()]) yield* Turn.enter(context)(explicit)
      yield* Turn.enter(inTopic)(delegate("child", explicit))
      assert.deepStrictEqual(landed(here), ["-200 4", "-200 4", "-200 4", "-200 4"])
      assert.isTrue((yield* here.rows).every((row) => row.via === "explicit"))
    }).pipe(Effect.provide(durable))
  )

  it.scoped("of a cron run goes home even when a platform is bound, and so do its delegates'", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const result = yield* Turn.enter(cron())(here.call(bare))
      assert.deepInclude(result, { success: true, chat_id: "home", thread_id: "9" })
      assert.include(result.note, "home channel of telegram (home)")
      yield* Turn.enter(cron())(delegate("child", here.call(bare)))
      assert.deepStrictEqual(landed(here), ["home 9", "home 9"])
      assert.deepStrictEqual(
        (yield* here.rows).map(({ isCron, via }) => ({ isCron, via })),
        [
          { isCron: true, via: "home" },
          { isCron: true, via: "home" }
        ]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("of a terminal goes home", () =>
    Effect.gen(function* () {
      const here = yield* world()
      yield* Turn.enter(cli)(here.call(bare))
      assert.deepStrictEqual(landed(here), ["home 9"])
      const missing = yield* Turn.enter(cli)(here.call({ ...bare, target: "slack" }))
      assert.deepInclude(missing, { success: false, code: "NoHomeChannel" })
      assert.include(missing.error, "SLACK_HOME_CHANNEL")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("of a person still goes to the origin after a cron tick in the same process", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const interleaved = Effect.all([Turn.enter(cron())(here.call(bare)), Turn.enter(inTopic)(here.call(bare))], {
        concurrency: "unbounded"
      })
      yield* Turn.enter(cron())(here.call(bare))
      yield* Turn.enter(inTopic)(here.call(bare))
      yield* interleaved
      yield* Turn.enter(inTopic)(Effect.zipRight(Turn.enter(cron())(here.call(bare)), here.call(bare)))
      assert.sameMembers(landed(here), ["home 9", "-100 7", "home 9", "-100 7", "home 9", "-100 7"])
      assert.strictEqual(landed(here)[1], "-100 7")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("negative control: a resolver that reads a latched flag sends a person's message home", () =>
    Effect.gen(function* () {
      let latched = false
      const real = TargetResolverLayer.layer
      const latching = Layer.map(real, (context) => context).pipe(
        Layer.flatMap((context) =>
          Layer.effect(
            TargetResolver,
            Effect.map(Effect.provide(TargetResolver, context), (resolver) => ({
              ...resolver,
              resolve: (target: string) =>
                Effect.flatMap(Turn.peek, ({ marker }) => {
                  latched ||= CronMarker.isCron(marker)
                  return latched && target === "telegram"
                    ? Effect.succeed({ address: at("home", "9"), via: "home" as const, tripwire: false })
                    : resolver.resolve(target)
                })
            }))
          )
        )
      )
      const here = yield* world({ resolver: latching })
      yield* Turn.enter(inTopic)(here.call(bare))
      yield* Turn.enter(cron())(here.call(bare))
      yield* Turn.enter(inTopic)(here.call(bare))
      assert.deepStrictEqual(landed(here), ["-100 7", "home 9", "home 9"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("in a process that a cron run started goes home, unless its work says that it is not cron", () =>
    Effect.gen(function* () {
      const here = yield* world({ environment: { HERMES_CRON_SESSION: "1" } })
      yield* Turn.enter(turn("55", { marker: CronMarker.unset }))(here.call(bare))
      yield* Turn.enter(inTopic)(here.call(bare))
      assert.deepStrictEqual(landed(here), ["home 9", "-100 7"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("in a process that a turn started goes to that turn's chat", () =>
    Effect.gen(function* () {
      const here = yield* world({
        environment: { HERMES_SESSION_PLATFORM: "telegram", HERMES_SESSION_CHAT_ID: "55", HERMES_SESSION_THREAD_ID: "" }
      })
      assert.strictEqual(yield* here.resolve("telegram"), "origin telegram 55 null")
      assert.include(yield* here.resolve("slack"), "say which chat on slack")
      assert.strictEqual(yield* Turn.cleared(here.resolve("telegram")), "home telegram home 9")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("whose look-up breaks goes home and crashes nothing", () =>
    Effect.gen(function* () {
      const broken = new Proxy(
        {},
        {
          get: () => {
            throw new Error("no environment to be had")
          }
        }
      )
      const here = yield* world({ ambient: Layer.succeed(AmbientEnvironment.AmbientEnvironment, broken) })
      assert.strictEqual(yield* here.resolve("telegram"), "home telegram home 9")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("knows the chat from the session key where nothing else is bound", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const keyed = (sessionKey: string) =>
        Turn.enter(
          turn("x", {
            identity: SessionIdentity.bind({ platform: "telegram", sessionKey }),
            origin: DeliveryOrigin.cleared
          })
        )(here.resolve("telegram"))
      assert.strictEqual(yield* keyed("agent:main:telegram:dm:55"), "origin telegram 55 null")
      assert.strictEqual(yield* keyed("agent:main:telegram:thread:-100:7"), "origin telegram -100 7")
      // The suffix of a group's key may be a participant: the chat is certain, the thread is not.
      assert.strictEqual(yield* keyed("agent:main:telegram:group:-100:500"), "origin telegram -100 null")
      assert.include(yield* keyed("something else"), "say which chat")
    }).pipe(Effect.provide(durable))
  )
})

describe("the tripwire", () => {
  const logged = () => {
    const lines: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.map(Logger.jsonLogger, (line) => void lines.push(line))
    )
    return { lines, logger }
  }

  it.scoped(
    "says once per chat that a send went home although a chat is known, without its text, and not for cron",
    () =>
      Effect.gen(function* () {
        const { lines, logger } = logged()
        const here = yield* world()
        const suspicious = turn("t", {
          identity: SessionIdentity.bind({
            source: "cli",
            chatName: "Ops",
            sessionKey: "agent:main:telegram:thread:-100:7"
          }),
          origin: DeliveryOrigin.cleared
        })
        const send = here.call({ ...bare, message: "the body of the message" })
        yield* Effect.gen(function* () {
          yield* Turn.enter(suspicious)(send)
          yield* Turn.enter(suspicious)(send)
          yield* Turn.enter(cron(DeliveryOrigin.cleared))(send)
          yield* Turn.enter(cli)(send)
          yield* Turn.enter(inTopic)(send)
        }).pipe(Effect.provide(logger))
        const warned = lines.filter((line) => line.includes("went to the home channel"))
        assert.lengthOf(warned, 1)
        for (const part of ["-100", '"7"', "Ops", "telegram", "bound session key"]) assert.include(warned[0], part)
        assert.notInclude(lines.join("\n"), "the body of the message")
        assert.deepStrictEqual(landed(here), ["home 9", "home 9", "home 9", "home 9", "-100 7"])
      }).pipe(Effect.provide(durable))
  )
})

describe("send_message", () => {
  it.scoped("of a job to its own target is skipped with success; any of its targets counts", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const job = cron(DeliveryOrigin.targets([at("-100", "7"), at("home", "9")]))
      const own = yield* Turn.enter(job)(here.call({ ...bare, target: "telegram:-100:7" }))
      assert.deepInclude(own, { success: true, skipped: true, code: "cron_auto_delivery_duplicate_target" })
      const home = yield* Turn.enter(job)(delegate("child", here.call(bare)))
      assert.deepInclude(home, { success: true, code: "cron_auto_delivery_duplicate_target" })
      assert.deepStrictEqual(landed(here), [])
      yield* Turn.enter(job)(here.call({ ...bare, target: "telegram:-100:8" }))
      yield* Turn.enter(job)(here.call({ ...bare, target: "telegram:-100" }))
      assert.deepStrictEqual(landed(here), ["-100 8", "-100 null"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("finds chats by name, and asks back when several fit or none", () =>
    Effect.gen(function* () {
      const here = yield* world()
      assert.strictEqual(yield* here.resolve("telegram:team rocket"), "explicit telegram -100 null")
      assert.strictEqual(yield* here.resolve("telegram:#Team Rocket"), "explicit telegram -100 null")
      assert.strictEqual(yield* here.resolve("telegram:Team Rocket / Releases"), "explicit telegram -100 7")
      assert.strictEqual(yield* here.resolve("telegram:team"), "explicit telegram -100 null")
      assert.strictEqual(yield* here.resolve("telegram:Anna"), "explicit telegram 55 null")
      const several = yield* here.resolve("telegram:ann")
      assert.include(several, "telegram:55 (Anna), telegram:56 (Anna Bell)")
      assert.include(yield* here.resolve("telegram:nobody"), "list")
      assert.include(yield* here.resolve("telegram:"), "list")
      assert.include(yield* here.resolve("signal"), "slack, telegram")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("lists the chats in the form that it takes them", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const result = yield* Turn.enter(inTopic)(here.call({ action: "list" }))
      assert.deepStrictEqual(result["platforms"], [
        { platform: "slack", home: false, chats: [] },
        {
          platform: "telegram",
          home: true,
          chats: [
            { target: "telegram:-100", name: "Team Rocket", type: "group" },
            { target: "telegram:-100:7", name: "Releases", type: "group" },
            { target: "telegram:55", name: "Anna", type: "group" },
            { target: "telegram:56", name: "Anna Bell", type: "group" }
          ]
        }
      ])
      for (const chat of chats) {
        const target = `telegram:${chat.chatId}${chat.threadId === null ? "" : `:${chat.threadId}`}`
        assert.strictEqual(yield* here.resolve(target), `explicit telegram ${chat.chatId} ${chat.threadId}`)
      }
    }).pipe(Effect.provide(durable))
  )

  it.scoped("says what went wrong without secrets, and what to do when it is in doubt", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const token = "123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr"
      here.telegram.onSend = () =>
        Effect.fail(
          new SendRefused({ platform: "telegram", detail: `POST /bot${token}/sendMessage`, code: "forbidden" })
        )
      const refused = yield* Turn.enter(inTopic)(here.call(bare))
      assert.deepInclude(refused, { success: false, code: "delivery_failed" })
      assert.notInclude(JSON.stringify(refused), token)
      here.telegram.onSend = () => Effect.fail(new SendUncertain({ platform: "telegram", detail: "timeout" }))
      const doubtful = yield* Turn.enter(inTopic)(here.call(bare))
      assert.deepInclude(doubtful, { success: false, code: "delivery_unknown" })
      assert.include(String(doubtful["advice"]), "Do not send it again")
      assert.lengthOf(here.telegram.calls, 2)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("refuses what it cannot do, and the empty message", () =>
    Effect.gen(function* () {
      const here = yield* world()
      for (const [args, code] of [
        [{ action: "react", target: "slack:C0000001", emoji: "👍", message_id: "1" }, "unsupported_action"],
        [{ action: "react", target: "telegram", message_id: "1" }, "no_emoji"],
        [{ action: "react", target: "telegram", emoji: "well done", message_id: "1" }, "no_emoji"],
        [{ action: "unreact", target: "telegram:-5" }, "no_message"],
        [{ action: "react", target: "telegram:", emoji: "👍", message_id: "1" }, "UnresolvedTarget"],
        [{ target: "telegram:", message: "hi" }, "UnresolvedTarget"],
        [{ target: "telegram:-5", message: "\u200b\u2060" }, "empty_message"],
        [{ target: "telegram:-5", message: "MEDIA:gone.png" }, "nothing_sent"],
        [{ target: "telegram", message: "  " }, "empty_message"],
        [{ target: "telegram" }, "empty_message"],
        [{ target: "telegram", message: "x".repeat(100_001) }, "too_long"]
      ] as const)
        assert.deepInclude(yield* Turn.enter(inTopic)(here.call(args)), { success: false, code })
      assert.lengthOf(here.telegram.calls, 0)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("says which file stayed behind, and that part of a message arrived", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const some = yield* Turn.enter(inTopic)(here.call({ target: "telegram:-5", message: "Look: MEDIA:gone.png" }))
      assert.isTrue(some.success)
      assert.include(some.note, "gone.png was not sent")
      here.telegram.onSend = (message, arrives) =>
        message.text.includes("(2/")
          ? new SendRefused({ platform: "telegram", code: "bad_request", detail: "no" })
          : arrives
      const half = yield* Turn.enter(inTopic)(here.call({ target: "telegram:-5", message: "word ".repeat(1_500) }))
      assert.deepInclude(half, { success: false, code: "delivery_failed" })
      assert.match(String(half["advice"]), /^1 of its 2 messages arrived: send again only what is missing/)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("reacts to the message that it answers, or to one that is named, also in a chat that nobody knows", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const reactions: Array<string> = []
      here.telegram.onReact = (at, messageId, emoji) => void reactions.push(`${at.chatId} ${messageId} ${emoji}`)
      for (const args of [
        { action: "react", emoji: "👍" },
        { action: "react", target: "telegram", emoji: "🎉", message_id: "12" },
        { action: "react", target: "telegram:nobody", emoji: "👀", message_id: "1" },
        { action: "unreact" }
      ])
        assert.deepInclude(yield* Turn.enter(inTopic)(here.call(args)), { success: true })
      assert.deepEqual(reactions, ["-100 31 👍", "-100 12 🎉", "nobody 1 👀", "-100 31 null"])
      const elsewhere = yield* Turn.enter(inTopic)(here.call({ action: "react", target: "slack", emoji: "👍" }))
      assert.deepInclude(elsewhere, { success: false, code: "InTurnUnresolvable" })
    }).pipe(Effect.provide(durable))
  )

  it.scoped("lets the other chat's conversation know, and not its own", () =>
    Effect.gen(function* () {
      const here = yield* world()
      mirrored.length = 0
      for (const target of ["telegram", "telegram:-100:7", "telegram:55", "slack:C0000001"])
        yield* Turn.enter(inTopic)(here.call({ target, message: `to ${target}` }))
      here.telegram.onSend = () =>
        Effect.fail(new SendRefused({ platform: "telegram", detail: "blocked", code: "forbidden" }))
      yield* Turn.enter(inTopic)(here.call({ target: "telegram:56", message: "refused" }))
      assert.deepEqual(mirrored, [
        "telegram 55 null: The agent, from a conversation in telegram,: to telegram:55",
        "slack C0000001 null: The agent, from a conversation in telegram,: to slack:C0000001"
      ])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("tells when the state cannot be read", () =>
    Effect.gen(function* () {
      const broken = new StateUnknown({ operation: "home.get", detail: "disk I/O error" })
      const here = yield* world({
        homes: Layer.succeed(
          HomeChannels,
          HomeChannels.of({ get: () => Effect.fail(broken), set: () => Effect.void, all: Effect.fail(broken) })
        )
      })
      const result = yield* Turn.enter(cli)(here.call(bare))
      assert.deepInclude(result, { success: false, code: "StateUnknown" })
    }).pipe(Effect.provide(durable))
  )
})
