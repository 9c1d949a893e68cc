/** A job's `deliver` as places (cron-delivery.md 4.1, 4.2; decisions 19–21): each word alone, then one target a place. */
import { Effect, Schema } from "effect"
import { type Address, address } from "../../fibers/DeliveryOrigin.js"
import type { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import type { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import * as Deliver from "../../services/delivery/Deliver.js"
import { type HomeChannels, settingOf } from "../../services/delivery/HomeChannels.js"
import {
  NoHomeChannel,
  OtherProfile,
  type Route,
  type RouteError,
  UnknownPlatform,
  UnresolvedTarget
} from "../../services/delivery/TargetResolver.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Target from "../../services/delivery/Target.js"
import * as References from "./References.js"
import { shortened } from "../../services/operation/Shortened.js"

interface Topic {
  readonly chatId: string
  readonly name: string
  /** Null before something was sent there. */
  readonly threadId: string | null
}

type Routes = ReadonlyArray<Omit<Deliver.Routed, "token">>

const isRouteError = Schema.is(Schema.Union(UnknownPlatform, UnresolvedTarget, NoHomeChannel, OtherProfile))

const passedOn = (reference: string, platform: string): string =>
  `"${shortened(reference)}" is no chat that I know; it is passed on to ${platform} as it is written`

const opensTopic = (name: string): string =>
  `the topic “${shortened(name)}” is opened in that chat when something is first sent there`

/** The chat that the job was made in, where that is on this platform: ids of two platforms have nothing to do with each other. */
const originOn = (platform: string, origin: Address | null): Address | null =>
  origin?.platform === platform ? origin : null

export const make = (
  registry: typeof AdapterRegistry.Service,
  directory: typeof ChannelDirectory.Service,
  homes: typeof HomeChannels.Service
) => {
  const connected = Effect.map(registry.all, (adapters) => adapters.map(({ platform }) => platform).sort())

  const adapterOf = (platform: string) =>
    Effect.flatMap(registry.get(platform), (adapter) =>
      adapter === null
        ? Effect.flatMap(connected, (known) => new UnknownPlatform({ platform, known }))
        : Effect.succeed(adapter)
    )

  const inOneSpelling = (at: Address) => References.canonicalAddress(directory, at)

  const homeOf = (platform: string): Effect.Effect<Address | null, StateError> =>
    Effect.flatMap(homes.get(platform), (home) => (home === null ? Effect.succeed(null) : inOneSpelling(home)))

  /** The homes that something is connected to, in the order of the fallback. */
  const connectedHomes = Effect.gen(function* () {
    const platforms = new Set(yield* connected)
    const all = (yield* homes.all).filter(({ platform }) => platforms.has(platform))
    return Deliver.inFallbackOrder(yield* Effect.forEach(all, inOneSpelling))
  })

  const toOrigin = (origin: Address | null): Effect.Effect<Routes, RouteError | StateError> =>
    Effect.gen(function* () {
      if (origin !== null) {
        yield* adapterOf(origin.platform)
        return [{ address: origin, via: "origin", note: null }]
      }
      const [home] = yield* connectedHomes
      return home === undefined
        ? []
        : [{ address: home, via: "origin_fallback", note: `no chat to answer: the home channel of ${home.platform}` }]
    })

  /** The home channel; where none is set, the chat that the job was made in, if it is there. */
  const toPlatform = (platform: string, origin: Address | null): Effect.Effect<Routes, RouteError | StateError> =>
    Effect.gen(function* () {
      yield* adapterOf(platform)
      const home = yield* homeOf(platform)
      const here = originOn(platform, origin)
      if (home === null)
        return here === null
          ? yield* new NoHomeChannel({ platform, setting: settingOf(platform) })
          : [{ address: here, via: "home", note: `${platform} has no home channel: the chat that the job was made in` }]
      const threadId = home.threadId ?? (here?.chatId === home.chatId ? here.threadId : null)
      return [{ address: address({ ...home, threadId }), via: "home", note: null }]
    })

  /** The topic that a place names instead of numbering it, with its id once it has been opened. */
  const topicOf = (at: Address): Effect.Effect<Topic | null, StateError> => {
    const { chatId, platform } = at
    const name = Target.topicNameOf(platform, at)
    return name === null
      ? Effect.succeed(null)
      : Effect.map(directory.topic({ platform, chatId, name }), (threadId) => ({ chatId, name, threadId }))
  }

  /** One topic is one place, by its name in any letters and by its number. */
  const topicsInOneSpelling = (targets: ReadonlyArray<Deliver.Routed>) =>
    Effect.gen(function* () {
      const topics = (yield* Effect.forEach(targets, ({ address: at }) => topicOf(at))).filter((one) => one !== null)
      return targets.map((target) => {
        const { address: at } = target
        const name = Target.topicNameOf(at.platform, at)
        const same = topics.find(
          (one) =>
            one.chatId === at.chatId &&
            (name === null
              ? one.threadId !== null && one.threadId === at.threadId
              : Target.bare(name) === Target.bare(one.name))
        )
        return same === undefined ? target : { ...target, address: address({ ...at, threadId: same.name }) }
      })
    })

  const toChat = (
    written: string,
    platform: string,
    reference: string,
    origin: Address | null
  ): Effect.Effect<Routes, RouteError | StateError> =>
    Effect.gen(function* () {
      const adapter = yield* adapterOf(platform)
      const reading = yield* References.read(directory, adapter, written, reference)
      const settled =
        reading._tag === "Unknown" ? yield* References.asWritten(directory, adapter, written, reference) : reading
      if (settled._tag !== "Place") return yield* settled.error
      const here = address({ platform, ...settled.place })
      // On Slack the thread of the origin is where its chat goes on.
      const from = platform === "slack" && here.threadId === null ? originOn(platform, origin) : null
      const at = from?.chatId === here.chatId ? from : here
      const topic = yield* topicOf(at)
      const standing = topic === null || topic.threadId === null ? at : { ...at, threadId: topic.threadId }
      return [
        {
          address: at,
          via: Deliver.matchesOrigin(standing, origin) ? "origin" : "explicit",
          note:
            reading._tag === "Unknown"
              ? passedOn(reference, platform)
              : topic !== null && topic.threadId === null
                ? opensTopic(topic.name)
                : null
        }
      ]
    })

  const toBotChat = (profile: string | null): Effect.Effect<Address, UnknownPlatform | OtherProfile> =>
    Deliver.isOwnProfile(profile)
      ? Effect.as(adapterOf(Deliver.botChat), address({ platform: Deliver.botChat, chatId: Deliver.botChat }))
      : new OtherProfile({ profile: profile ?? "" })

  const toWord = (
    { written, word }: Deliver.Token,
    origin: Address | null
  ): Effect.Effect<Routes, RouteError | StateError> => {
    switch (word._tag) {
      case "Local":
        return Effect.succeed([])
      case "Origin":
        return toOrigin(origin)
      case "All":
        return Effect.flatMap(connectedHomes, (all) =>
          all.length === 0
            ? new NoHomeChannel({ platform: "any platform", setting: settingOf("telegram") })
            : Effect.succeed(all.map((home) => ({ address: home, via: "broadcast", note: null })))
        )
      case "BotChat":
        return Effect.map(toBotChat(word.profile), (at) => [{ address: at, via: "explicit", note: null }])
      case "Platform":
        return toPlatform(word.platform, origin)
      case "Chat":
        return toChat(written, word.platform, word.reference, origin)
    }
  }

  return {
    adapterOf,
    connected,
    connectedHomes,
    homeOf,
    toBotChat,
    /** See `TargetResolver.route`. */
    route: (deliver: string | ReadonlyArray<string> | null, from: Address | null): Effect.Effect<Route, StateError> =>
      Effect.gen(function* () {
        const origin = from === null ? null : yield* inOneSpelling(from)
        const targets: Array<Deliver.Routed> = []
        const problems: Array<Route["problems"][number]> = []
        let unanchored = false
        for (const token of Deliver.parse(deliver)) {
          const routes = yield* toWord(token, origin).pipe(
            Effect.catchIf(isRouteError, (error) => Effect.succeed(error))
          )
          if (isRouteError(routes)) problems.push({ token: token.written, error: routes })
          else {
            unanchored ||= routes.length === 0 && token.word._tag === "Origin"
            targets.push(...routes.map((to) => ({ ...to, token: token.written })))
          }
        }
        return { targets: Deliver.merge(yield* topicsInOneSpelling(targets)), problems, unanchored }
      })
  }
}
