/** Targets to addresses (gateway.md 6.2): explicit ones the same everywhere, a bare platform by the origin of the fiber that asks. */
import { Effect, Layer } from "effect"
import { AmbientEnvironment, isCron, read } from "../../fibers/AmbientEnvironment.js"
import { type Address, address } from "../../fibers/DeliveryOrigin.js"
import { environmentNames } from "../../fibers/SessionIdentity.js"
import * as Turn from "../../fibers/Turn.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import * as Target from "../../services/delivery/Target.js"
import {
  InTurnUnresolvable,
  NoHomeChannel,
  type ResolvedTarget,
  TargetResolver,
  UnknownPlatform,
  UnresolvedTarget
} from "../../services/delivery/TargetResolver.js"

/** Where the work came from. `address` is null when its platform is known and its chat is not. */
interface Origin {
  readonly platform: string
  readonly address: Address | null
}

/** Chats whose tripwire has been logged; more are not told apart. */
const toldCapacity = 1_000

const listed = 10

const homeSettings: { readonly [platform: string]: string } = {
  matrix: "MATRIX_HOME_ROOM",
  email: "EMAIL_HOME_ADDRESS"
}

const homeSetting = (platform: string): string =>
  homeSettings[platform] ?? `${platform.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_HOME_CHANNEL`

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

  const known = Effect.map(registry.all, (adapters) => adapters.map((adapter) => adapter.platform).sort())

  const explicit = (written: string, platform: string, reference: string) =>
    Effect.gen(function* () {
      const chats = yield* directory.list(platform)
      const native = Target.native(platform, reference)
      const found = native === null ? Target.find(reference, chats) : { _tag: "One" as const, place: native }
      switch (found._tag) {
        case "One":
          return { address: address({ platform, ...found.place }), via: "explicit", tripwire: false } as const
        case "Several":
          return yield* new UnresolvedTarget({
            target: written,
            hint: `it fits several chats: ${found.chats
              .slice(0, listed)
              .map((chat) => `${Target.write(chat)}${chat.name === null ? "" : ` (${chat.name})`}`)
              .join(", ")}`
          })
        case "None":
          return yield* new UnresolvedTarget({
            target: written,
            hint: "send_message with action list shows the chats there are"
          })
      }
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
      const at = yield* homes.get(platform)
      if (at === null) return yield* new NoHomeChannel({ platform, setting: homeSetting(platform) })
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

  return TargetResolver.of({
    resolve: Effect.fn("TargetResolver.resolve")(function* (target: string) {
      const { platform, reference } = Target.parse(target)
      if (platform === Target.originWord && reference === null) return yield* here
      const platforms = yield* known
      if (!platforms.includes(platform)) return yield* new UnknownPlatform({ platform, known: platforms })
      return reference === null ? yield* bare(platform) : yield* explicit(target, platform, reference)
    }) satisfies (target: string) => Effect.Effect<ResolvedTarget, unknown>
  })
})

export const layer: Layer.Layer<
  TargetResolver,
  never,
  AdapterRegistry | AmbientEnvironment | ChannelDirectory | HomeChannels
> = Layer.effect(TargetResolver, make)
