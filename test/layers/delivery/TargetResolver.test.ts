/** A job's `deliver` as places: each cell is a word, an origin and the homes, and what comes of them. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import { type Address, address } from "../../../src/fibers/DeliveryOrigin.js"
import * as AdapterRegistryLayer from "../../../src/layers/adapter/AdapterRegistry.js"
import * as TargetResolverLayer from "../../../src/layers/delivery/TargetResolver.js"
import { type Adapter, plainText } from "../../../src/services/adapter/Adapter.js"
import { AdapterRegistry } from "../../../src/services/adapter/AdapterRegistry.js"
import { ChannelDirectory, type KnownChat } from "../../../src/services/adapter/ChannelDirectory.js"
import { HomeChannels } from "../../../src/services/delivery/HomeChannels.js"
import { bare } from "../../../src/services/delivery/Target.js"
import { TargetResolver } from "../../../src/services/delivery/TargetResolver.js"

const at = (platform: string, chatId: string, threadId: string | null = null) => address({ platform, chatId, threadId })

const adapter = (platform: string, references?: Adapter["references"]): Adapter => ({
  platform,
  capabilities: plainText,
  ...(references === undefined ? {} : { references }),
  state: Effect.succeed({ _tag: "Connected" }),
  send: () => Effect.dieMessage("nothing is sent here"),
  edit: () => Effect.dieMessage("nothing is sent here"),
  typing: () => Effect.void,
  chatInfo: (chatId) => Effect.succeed({ name: chatId, type: "dm" })
})

const rooms = adapter("rooms", {
  parse: (reference) => (reference.startsWith("r") ? { chatId: reference, threadId: null } : null),
  complaint: (place) => Effect.succeed(place.chatId === "r0" ? "room 0 takes no messages" : null)
})

const discordThread = "160000000000000005"
const discordChannel = "140000000000000001"
const otherThread = "160000000000000006"

const chats: ReadonlyArray<KnownChat> = [
  { platform: "telegram", chatId: "-100", threadId: null, name: "Team Rocket", type: "group", lastSeenAt: 1 },
  { platform: "telegram", chatId: "55", threadId: null, name: "Anna", type: "dm", lastSeenAt: 1 },
  { platform: "telegram", chatId: "56", threadId: null, name: "Anna Bell", type: "dm", lastSeenAt: 1 },
  { platform: "discord", chatId: discordThread, threadId: discordThread, name: "plans", type: "thread", lastSeenAt: 1 }
]

const home = at("telegram", "1", "9")
const slackHome = at("slack", "C0000001")
const origin = at("telegram", "-100", "7")
const slackOrigin = at("slack", "C0000001", "1700000000.1")

interface World {
  readonly homes?: ReadonlyArray<Address>
}

const world = ({ homes = [home, slackHome] }: World) => {
  const registry = Layer.scopedDiscard(
    Effect.gen(function* () {
      const registered = yield* AdapterRegistry
      for (const one of [adapter("telegram"), adapter("slack"), adapter("discord"), rooms, adapter("bot-chat")])
        yield* registered.register(one)
    })
  ).pipe(Layer.provideMerge(AdapterRegistryLayer.layer))
  return TargetResolverLayer.layer.pipe(
    Layer.provide(
      Layer.mergeAll(
        AmbientEnvironment.layer({}),
        Layer.succeed(
          ChannelDirectory,
          ChannelDirectory.of({
            list: (names, limit) =>
              Effect.succeed(chats.filter((chat) => names === null || names.includes(chat.platform)).slice(0, limit)),
            candidates: (name) => Effect.succeed(chats.filter((chat) => chat.platform === name)),
            topic: ({ chatId, name }) => Effect.succeed(chatId === "55" && bare(name) === "reports" ? "17" : null),
            rememberTopic: () => Effect.void
          })
        ),
        Layer.succeed(
          HomeChannels,
          HomeChannels.of({
            get: (name) => Effect.succeed(homes.find(({ platform }) => platform === name) ?? null),
            set: () => Effect.void,
            all: Effect.succeed(homes)
          })
        )
      )
    ),
    Layer.provide(registry)
  )
}

type Cell = readonly [
  deliver: string,
  origin: Address | null,
  targets: ReadonlyArray<readonly [string, string, string | null, string]>,
  problems?: ReadonlyArray<RegExp>,
  world?: World
]

const cells: ReadonlyArray<Cell> = [
  ["local", origin, []],
  ["origin", origin, [["telegram", "-100", "7", "origin"]]],
  ["ORIGIN", origin, [["telegram", "-100", "7", "origin"]]],
  ["origin", null, [["telegram", "1", "9", "origin_fallback"]]],
  ["origin", null, [["slack", "C0000001", null, "origin_fallback"]], [], { homes: [slackHome] }],
  ["origin", null, [], [], { homes: [] }],
  ["origin", at("gone", "5"), [], [/no platform "gone"/]],
  [
    "all",
    origin,
    [
      ["telegram", "1", "9", "broadcast"],
      ["slack", "C0000001", null, "broadcast"]
    ]
  ],
  ["all", origin, [], [/no home channel for any platform/], { homes: [] }],
  ["all", origin, [["slack", "C0000001", null, "broadcast"]], [], { homes: [slackHome, at("gone", "1")] }],
  ["telegram", origin, [["telegram", "1", "9", "home"]]],
  ["telegram", origin, [["telegram", "-100", "7", "home"]], [], { homes: [] }],
  ["discord", origin, [], [/no home channel for discord: set DISCORD_HOME_CHANNEL/]],
  ["telegram:-100:7", origin, [["telegram", "-100", "7", "origin"]]],
  ["telegram:-100", origin, [["telegram", "-100", null, "explicit"]]],
  ["telegram:#team rocket", null, [["telegram", "-100", null, "explicit"]]],
  ["telegram:Anna", null, [["telegram", "55", null, "explicit"]]],
  ["telegram:An", null, [], [/fits several chats/]],
  ["telegram:nobody", null, [["telegram", "nobody", null, "explicit"]]],
  [
    "telegraph:1",
    null,
    [],
    [/no platform "telegraph"; there are: bot-chat, discord, rooms, slack, telegram|no platform "telegraph"/]
  ],
  ["rooms:r7", null, [["rooms", "r7", null, "explicit"]]],
  ["rooms:x7", null, [], [/rooms does not know such a reference/]],
  ["rooms:r0", null, [], [/room 0 takes no messages/]],
  ["slack:C0000001", slackOrigin, [["slack", "C0000001", "1700000000.1", "origin"]]],
  // A chat of the same name on another platform is no origin.
  ["slack:-100", origin, [["slack", "-100", null, "explicit"]]],
  ["slack", slackOrigin, [["slack", "C0000001", "1700000000.1", "home"]]],
  ["slack", slackOrigin, [["slack", "C0000001", "17.5", "home"]], [], { homes: [at("slack", "C0000001", "17.5")] }],
  ["bot-chat", null, [["bot-chat", "bot-chat", null, "explicit"]]],
  ["bot-chat:work", null, [], [/no profile "work"/]],
  ["origin,telegram", at("telegram", "1", "9"), [["telegram", "1", "9", "origin"]]],
  ["telegram,origin", at("telegram", "1", "9"), [["telegram", "1", "9", "origin"]]],
  [
    "all,origin",
    at("telegram", "1", "9"),
    [
      ["telegram", "1", "9", "origin"],
      ["slack", "C0000001", null, "broadcast"]
    ]
  ],
  [
    "nowhere,telegram,telegram:55",
    null,
    [
      ["telegram", "1", "9", "home"],
      ["telegram", "55", null, "explicit"]
    ],
    [/no platform "nowhere"/]
  ],
  ["local,telegram", null, [["telegram", "1", "9", "home"]]],
  ["telegram:", null, [], [/nothing stands behind the colon/]],
  // One place is one target, however it is spelled.
  ["telegram:007,telegram:7,telegram:7:0,telegram:7:00", null, [["telegram", "7", null, "explicit"]]],
  ["telegram:-0100:07,telegram:-100:7", null, [["telegram", "-100", "7", "explicit"]]],
  ["telegram:-100:07", origin, [["telegram", "-100", "7", "origin"]]],
  ["telegram:-100:1,telegram:-100", null, [["telegram", "-100", null, "explicit"]]],
  ["telegram:7:1", null, [["telegram", "7", "1", "explicit"]]],
  // A topic of a private chat by its name, opened or not yet; by its number it is the same one.
  ["telegram:55:Reports", null, [["telegram", "55", "Reports", "explicit"]]],
  ["telegram:55:17,telegram:55:reports", null, [["telegram", "55", "reports", "explicit"]]],
  ["telegram:55:Reports", at("telegram", "55", "17"), [["telegram", "55", "Reports", "origin"]]],
  ["telegram:55:Reports", at("telegram", "55", "18"), [["telegram", "55", "Reports", "explicit"]]],
  ["telegram:055:Daily  news,telegram:55:daily news", null, [["telegram", "55", "Daily news", "explicit"]]],
  [
    "telegram:56:Reports,telegram:55:17",
    null,
    [
      ["telegram", "56", "Reports", "explicit"],
      ["telegram", "55", "17", "explicit"]
    ]
  ],
  // Not in groups, and numbers are no names.
  ["telegram:-100:Reports", null, [["telegram", "-100:Reports", null, "explicit"]]],
  ["telegram:55:17:3", null, [["telegram", "55:17:3", null, "explicit"]]],
  ["telegram:55:-3", null, [["telegram", "55:-3", null, "explicit"]]],
  ["telegram:@Foo_bar,telegram:@foo_BAR", null, [["telegram", "@foo_bar", null, "explicit"]]],
  [
    "telegram,telegram:@news",
    null,
    [["telegram", "@news", null, "explicit"]],
    [],
    { homes: [at("telegram", "@News")] }
  ],
  [
    `discord:${discordThread}:${discordThread},discord:${discordThread},discord:${discordChannel}:${discordThread},discord:plans`,
    null,
    [["discord", discordThread, discordThread, "explicit"]]
  ],
  [
    `discord:${discordChannel}:${otherThread},discord:${otherThread}:${otherThread}`,
    null,
    [["discord", otherThread, otherThread, "explicit"]]
  ],
  [
    `discord:${discordChannel}:${discordThread}`,
    at("discord", discordThread, discordThread),
    [["discord", discordThread, discordThread, "origin"]]
  ],
  [
    `discord,discord:${discordThread}`,
    null,
    [["discord", discordThread, discordThread, "explicit"]],
    [],
    { homes: [at("discord", discordChannel, discordThread)] }
  ],
  [`discord:${discordChannel}`, null, [["discord", discordChannel, null, "explicit"]]]
]

describe("where a job's output goes", () => {
  it.effect.each(cells)("%j", ([deliver, from, targets, problems = [], given = {}]) =>
    Effect.gen(function* () {
      const route = yield* (yield* TargetResolver).route(deliver, from)
      expect(route.targets.map(({ address: to, via }) => [to.platform, to.chatId, to.threadId, via])).toEqual(targets)
      expect(route.problems.length).toBe(problems.length)
      for (const [index, problem] of problems.entries()) expect(route.problems[index]?.error.message).toMatch(problem)
      expect(route.unanchored).toBe(targets.length === 0 && problems.length === 0 && /origin/i.test(deliver))
    }).pipe(Effect.provide(world(given)))
  )

  it.effect("a reference that nobody knows is passed on, and said so", () =>
    Effect.gen(function* () {
      const { targets } = yield* (yield* TargetResolver).route("telegram:nobody", null)
      expect(targets[0]?.note).toMatch(/passed on to telegram as it is written/)
      const strict = yield* Effect.flip((yield* TargetResolver).resolve("telegram:nobody"))
      expect(strict._tag).toBe("UnresolvedTarget")
    }).pipe(Effect.provide(world({})))
  )

  it.effect("says before anything is sent that a topic will be opened; in a group its name has to be known", () =>
    Effect.gen(function* () {
      const resolver = yield* TargetResolver
      const notesOf = (deliver: string) =>
        Effect.map(resolver.route(deliver, null), ({ targets }) => targets.map(({ note }) => note))
      expect(yield* notesOf("telegram:56:Reports")).toEqual([
        "the topic “Reports” is opened in that chat when something is first sent there"
      ])
      expect(yield* notesOf("telegram:55:Reports")).toEqual([null])
      expect((yield* resolver.resolve("telegram:56:Reports")).address).toMatchObject({
        chatId: "56",
        threadId: "Reports"
      })
      expect((yield* Effect.flip(resolver.resolve("telegram:-100:Reports")))._tag).toBe("UnresolvedTarget")
    }).pipe(Effect.provide(world({})))
  )

  it.effect("a message goes to one chat of this home, and to no other profile's", () =>
    Effect.gen(function* () {
      const resolver = yield* TargetResolver
      for (const written of ["bot-chat", "Bot-Chat:", "bot-chat:MAIN", "bot-chat:default"])
        expect(yield* resolver.resolve(written), written).toMatchObject({
          address: { platform: "bot-chat", chatId: "bot-chat", threadId: null },
          via: "explicit"
        })
      const refused = (written: string) =>
        Effect.map(Effect.flip(resolver.resolve(written)), ({ message }) => expect(message, written))
      ;(yield* refused("bot-chat:work")).toMatch(/no profile "work"/)
      for (const written of ["all", "LOCAL", "telegram,slack", "telegram:55,telegram:56", "telegram:55:7,telegram:56"])
        (yield* refused(written)).toMatch(/a message goes to one chat/)
      ;(yield* refused("discord")).toMatch(/set DISCORD_HOME_CHANNEL or say \/sethome/)
    }).pipe(Effect.provide(world({})))
  )

  it.effect(
    "the choices are the platforms with their homes, the chats they know, and the Bot Chat, each a word that resolves",
    () =>
      Effect.gen(function* () {
        const resolver = yield* TargetResolver
        const choices = yield* resolver.choices
        expect(choices.filter(({ home: isHome }) => isHome).map(({ target }) => target)).toEqual([
          "slack",
          "telegram",
          "telegram:1:9",
          "slack:C0000001"
        ])
        expect(choices.at(-1)).toMatchObject({ target: "bot-chat", name: "Bot Chat" })
        for (const { target, home: isHome, place } of choices) {
          // What a command is offered is what it can send to.
          if (place !== null) expect((yield* resolver.resolve(target)).address.chatId).toBe(place.chatId)
          const { problems } = yield* resolver.route(target, null)
          expect(problems.length === 0 || (!isHome && /no home channel/.test(problems[0]?.error.message ?? ""))).toBe(
            true
          )
        }
      }).pipe(Effect.provide(world({})))
  )
})
