/** Targets to addresses (gateway.md 6.2): explicit ones the same everywhere, a bare platform by the origin of the fiber that asks. */
import { Effect, Layer } from "effect"
import { AmbientEnvironment, isCron, read } from "../../fibers/AmbientEnvironment.js"
import { type Address, address } from "../../fibers/DeliveryOrigin.js"
import { environmentNames } from "../../fibers/SessionIdentity.js"
import * as Turn from "../../fibers/Turn.js"
import type { Adapter } from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import * as Deliver from "../../services/delivery/Deliver.js"
import { HomeChannels, settingOf } from "../../services/delivery/HomeChannels.js"
import * as Target from "../../services/delivery/Target.js"
import {
  type Choice,
  InTurnUnresolvable,
  NoHomeChannel,
  offeredChats,
  TargetResolver,
  UnresolvedTarget
} from "../../services/delivery/TargetResolver.js"
import * as References from "./References.js"
import * as Routes from "./Routes.js"

/** Where the work came from. `address` is null when its platform is known and its chat is not. */
interface Origin {
  readonly platform: string
  readonly address: Address | null
}

/** Chats whose tripwire has been logged; more are not told apart. */
const toldCapacity = 1_000

const botChatChoice: Choice = {
  target: Deliver.botChat,
  name: "Bot Chat",
  platform: Deliver.botChat,
  place: { chatId: Deliver.botChat, threadId: null },
  home: false
}

/** The live session of this fiber, by the reader rule: what is bound, else what the process was started with. */
const liveOrigin: Effect.Effect<Origin | null, never, AmbientEnvironment> = Effect.gen(function* () {
  const platform = (yield* read(environmentNames.platform)).trim().toLowerCase()
  if (platform === "") return null
  const { origin } = yield* Turn.peek
  if (origin._tag === "Live" && origin.address.platform === platform) return { platform, address: origin.address }
  const chatId = yield* read(environmentNames.chatId)
  if (chatId === "") {
    const keyed = Target.ofSessionKey(yield* read(environmentNames.sessionKey))
    return { platform, address: keyed !== null && keyed.platform === platform ? address(keyed) : null }
  }
  return {
    platform,
    address: address({
      platform,
      chatId,
      threadId: (yield* read(environmentNames.threadId)) || null,
      anchor: (yield* read(environmentNames.messageId)) || null,
      scopeId: (yield* read(environmentNames.scopeId)) || null
    })
  }
})

/** cron first, always; then the live session; then what a delegate was given to route by. */
const originOf: Effect.Effect<Origin | null, never, AmbientEnvironment> = Effect.gen(function* () {
  if (yield* isCron) return null
  const live = yield* liveOrigin
  if (live !== null) return live
  const { origin } = yield* Turn.peek
  return origin._tag === "Routing" ? { platform: origin.address.platform, address: origin.address } : null
})

const make = Effect.gen(function* () {
  const environment = yield* AmbientEnvironment
  const registry = yield* AdapterRegistry
  const directory = yield* ChannelDirectory
  const homes = yield* HomeChannels
  const told = new Set<string>()

  const ambient = Effect.provideService(AmbientEnvironment, environment)

  /** A look-up that breaks means no origin, and so the home channel: never a crash. */
  const origin: Effect.Effect<Origin | null> = originOf.pipe(
    ambient,
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logWarning("the origin of a send could not be looked up; it goes home", cause), null)
    )
  )

  const routes = Routes.make(registry, directory, homes)
  const known = routes.connected

  const explicit = (written: string, adapter: Adapter, reference: string, asWritten: boolean) =>
    Effect.gen(function* () {
      const known = yield* References.read(directory, adapter, written, reference)
      const reading =
        known._tag === "Unknown" && asWritten
          ? yield* References.asWritten(directory, adapter, written, reference)
          : known
      if (reading._tag === "Unknown" && Deliver.isForJobs(written))
        return yield* new UnresolvedTarget({ target: written, hint: "a message goes to one chat; send it to each" })
      if (reading._tag !== "Place") return yield* reading.error
      return {
        address: address({ platform: adapter.platform, ...reading.place }),
        via: "explicit",
        tripwire: false
      } as const
    })

  /** Does this task know of a chat although it counts as having none? */
  const evidence = Effect.gen(function* () {
    if (yield* isCron) return null
    const key = yield* read(environmentNames.sessionKey)
    const seen = Target.ofSessionKey(key)
    if (seen === null || !(yield* known).includes(seen.platform)) return null
    const { identity } = yield* Turn.peek
    return {
      ...seen,
      threadName: yield* read(environmentNames.chatName),
      source: identity.sessionKey._tag === "Value" ? "bound session key" : "session key of the environment"
    }
  }).pipe(
    ambient,
    Effect.catchAllCause((cause) => Effect.as(Effect.logDebug("no evidence of a chat could be looked up", cause), null))
  )

  /** Says once per chat that a bare send went home although a conversation can be seen. It changes nothing. */
  const tripwire = (platform: string, home: Address) =>
    Effect.gen(function* () {
      const seen = yield* evidence
      if (seen === null) return false
      const key = `${platform}\n${home.chatId}`
      if (!told.has(key) && told.size < toldCapacity) {
        told.add(key)
        yield* Effect.logWarning("a bare send went to the home channel although a conversation is known here").pipe(
          Effect.annotateLogs({
            platform: seen.platform,
            chat: seen.chatId,
            thread: seen.threadId ?? "",
            threadName: seen.threadName,
            evidence: seen.source
          })
        )
      }
      return true
    })

  const home = (platform: string) =>
    Effect.gen(function* () {
      const at = yield* routes.homeOf(platform)
      if (at === null) return yield* new NoHomeChannel({ platform, setting: settingOf(platform) })
      return { address: at, via: "home", tripwire: yield* tripwire(platform, at) } as const
    })

  const bare = (platform: string) =>
    Effect.gen(function* () {
      const from = yield* origin
      if (from === null) return yield* home(platform)
      if (from.platform !== platform || from.address === null)
        return yield* new InTurnUnresolvable({ platform, origin: from.platform })
      return { address: from.address, via: "origin", tripwire: false } as const
    })

  const here = Effect.gen(function* () {
    const from = yield* origin
    if (from === null || from.address === null)
      return yield* new UnresolvedTarget({
        target: Target.originWord,
        hint: "no chat is being answered here; name one"
      })
    return { address: from.address, via: "origin", tripwire: false } as const
  })

  const choices = Effect.gen(function* () {
    const platforms = yield* known
    const connected = platforms.filter((platform) => platform !== Deliver.botChat)
    const homesHere = yield* routes.connectedHomes
    const chats = yield* directory.list(connected, offeredChats)
    const names = new Map(chats.map((chat) => [Target.write(chat), chat.name]))
    const homeTargets = new Set(homesHere.map(Target.write))
    const choice = (chat: Target.Place & { readonly platform: string }, home: boolean): Choice => {
      const { chatId, platform, threadId } = chat
      const target = Target.write(chat)
      return { target, name: names.get(target) ?? null, platform, place: { chatId, threadId }, home }
    }
    return [
      ...connected.map((platform): Choice => {
        const home = homesHere.some((at) => at.platform === platform)
        return { target: platform, name: platform, platform, place: null, home }
      }),
      ...homesHere.map((home) => choice(home, true)),
      ...chats.filter((chat) => !homeTargets.has(Target.write(chat))).map((chat) => choice(chat, false)),
      ...(platforms.includes(Deliver.botChat) ? [botChatChoice] : [])
    ]
  })

  return TargetResolver.of({
    resolve: Effect.fn("TargetResolver.resolve")(function* (target: string, unknownReference = "refused") {
      const { platform, reference } = Target.parse(target)
      if (platform === Target.originWord && reference === null) return yield* here
      if (platform === Deliver.botChat) {
        const profile = reference === "" ? null : reference
        return { address: yield* routes.toBotChat(profile), via: "explicit", tripwire: false } as const
      }
      if (reference === null && Deliver.isForJobs(target))
        return yield* new UnresolvedTarget({ target, hint: "a message goes to one chat; name that" })
      const adapter = yield* routes.adapterOf(platform)
      return reference === null
        ? yield* bare(platform)
        : yield* explicit(target, adapter, reference, unknownReference === "as-written")
    }),
    route: Effect.fn("TargetResolver.route")(routes.route),
    choices
  })
})

export const layer: Layer.Layer<
  TargetResolver,
  never,
  AdapterRegistry | AmbientEnvironment | ChannelDirectory | HomeChannels
> = Layer.effect(TargetResolver, make)
