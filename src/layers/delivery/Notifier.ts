import { Clock, Effect, Layer } from "effect"
import { Delivery } from "../../services/delivery/Delivery.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import { Activity } from "../../services/operation/Activity.js"

/** The page and the terminal show notices as they happen; only chats get them as messages. */
const showsEvents = new Set(["web"])

export const layer: Layer.Layer<Notifier, never, Delivery | Activity> = Layer.effect(
  Notifier,
  Effect.gen(function* () {
    const delivery = yield* Delivery
    const activity = yield* Activity
    return Notifier.of({
      tell: (place, notice) =>
        Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          yield* activity.publish({ _tag: "notice", at, sessionKey: place.sessionKey, ...notice })
          if (place.address === null || showsEvents.has(place.address.platform)) return
          const delivered = yield* delivery.deliver({
            cause: { kind: "notice", id: `${notice.code}:${place.about}` },
            address: place.address,
            text: notice.text,
            via: "origin",
            transcriptId: null,
            replyToPerson: false
          })
          if (!delivered.ok)
            yield* Effect.logWarning("a notice could not be delivered").pipe(
              Effect.annotateLogs({ code: notice.code, problem: delivered.problem })
            )
        }).pipe(Effect.catchAll((error) => Effect.logWarning("a notice could not be stored", error)))
    })
  })
)
