/** Carries a job's message the way that `Continuation` chooses, and tells the conversations that go on from it. */
import { Effect, Layer } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { Adapter } from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import * as Rules from "../../services/delivery/Continuation.js"
import { Mirror } from "../../services/delivery/Mirror.js"
import { canonical, topicNameOf } from "../../services/delivery/Target.js"
import { Settings } from "../../services/operation/Settings.js"
import type { StateError } from "../../services/state/StateError.js"

/** A thread that is not open by then is done without. */
const threadPatience = "30 seconds"

const make = Effect.gen(function* () {
  const directory = yield* ChannelDirectory
  const registry = yield* AdapterRegistry
  const mirror = yield* Mirror
  const settings = yield* Settings

  const warn = (reason: string, place: Address, job: string) =>
    Effect.logWarning(`a conversation does not know of what a job said in its chat: ${reason}`).pipe(
      Effect.annotateLogs({ job, platform: place.platform, chat: place.chatId, thread: place.threadId ?? "" })
    )

  /** What was delivered stays delivered, whatever becomes of the telling. */
  const told = (
    place: Address,
    job: string,
    telling: Effect.Effect<boolean, StateError>,
    nobody: string
  ): Effect.Effect<void> =>
    telling.pipe(
      Effect.flatMap((done) => (done ? Effect.void : warn(nobody, place, job))),
      Effect.catchAll((error) => warn(error.message, place, job))
    )

  const openThread = (adapter: Adapter | null, address: Address, name: string): Effect.Effect<string | null> =>
    adapter?.openThread === undefined
      ? Effect.succeed(null)
      : adapter.openThread(address, name).pipe(
          Effect.disconnect,
          Effect.timeoutOption(threadPatience),
          Effect.flatMap((opened) =>
            opened._tag === "Some"
              ? Effect.succeed(opened.value)
              : Effect.as(warn(`no thread was opened within ${threadPatience}`, address, name), null)
          ),
          Effect.catchAll((error) => Effect.as(warn(error.message, address, name), null))
        )

  const abilitiesOf = (adapter: Adapter | null): Effect.Effect<Rules.Abilities> =>
    adapter === null
      ? Effect.succeed({ live: false, inChannel: false, threads: false })
      : Effect.map(adapter.state, ({ _tag }) => ({
          live: _tag === "Connected",
          inChannel: adapter.capabilities.inChannelContinuation,
          threads: adapter.openThread !== undefined
        }))

  const begin = ({ job, target }: Rules.Saying): Effect.Effect<Rules.Continued> =>
    Effect.gen(function* () {
      const address = Rules.stamped(target, job.origin)
      const { origin } = job
      const userId = target.via === "origin" || target.via === "origin_fallback" ? (origin?.userId ?? null) : null
      const adapter = yield* registry.get(address.platform)
      const surface = settings.cron.continuableSurfaces[address.platform] ?? "thread"
      const attaching = { attach: job.attachToSession, byDefault: settings.cron.mirrorDelivery }
      const way = Rules.wayOf(target, origin, surface, attaching, yield* abilitiesOf(adapter))

      const label = `The scheduled job “${job.name}”`
      const seeded = (source: ReturnType<typeof Rules.flatSeed>, text: string, at: Address, nobody: string) =>
        told(
          at,
          job.name,
          source === null ? Effect.succeed(false) : Effect.as(mirror.seed(source, { label, text }), true),
          nobody
        )
      const mirrored = (at: Address, text: string) =>
        told(
          at,
          job.name,
          mirror.into(at, userId, { label, text }),
          "no conversation is there, or several and none is the job's"
        )

      /** A topic that is named has an id once something was sent there, and perhaps no conversation yet. */
      const inTopic = (name: string, text: string) =>
        told(
          address,
          job.name,
          Effect.flatMap(directory.topic({ platform: address.platform, chatId: address.chatId, name }), (threadId) =>
            threadId === null
              ? Effect.succeed(false)
              : Effect.as(mirror.seed(Rules.threadSeed(address, threadId, origin), { label, text }), true)
          ),
          "it is not known which topic it was"
        )

      switch (way._tag) {
        case "Flat": {
          const flat: Address = { ...address, threadId: null, anchor: null }
          return {
            address: flat,
            arrived: (messageId, text) =>
              Effect.zipRight(
                seeded(Rules.flatSeed(flat, origin), text, flat, "whose it is in this group is not known"),
                messageId === null
                  ? Effect.void
                  : seeded(Rules.threadSeed(flat, messageId, origin), text, { ...flat, threadId: messageId }, "")
              )
          }
        }
        case "NewThread": {
          const threadId = yield* openThread(adapter, address, job.name)
          if (threadId === null) return { address, arrived: (_messageId, text) => mirrored(address, text) }
          const at: Address = { ...address, ...canonical(address.platform, { chatId: address.chatId, threadId }) }
          return {
            address: at,
            arrived: (_messageId, text) => seeded(Rules.threadSeed(at, threadId, origin), text, at, "")
          }
        }
        case "Addressed": {
          const topic = topicNameOf(address.platform, address)
          const tell = (text: string) => (topic === null ? mirrored(address, text) : inTopic(topic, text))
          return { address, arrived: (_messageId, text) => (way.mirror ? tell(text) : Effect.void) }
        }
      }
    })

  return Rules.Continuation.of({ begin: Effect.fn("Continuation.begin")(begin) })
})

export const layer: Layer.Layer<Rules.Continuation, never, AdapterRegistry | ChannelDirectory | Mirror | Settings> =
  Layer.effect(Rules.Continuation, make)
