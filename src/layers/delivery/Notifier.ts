import { Clock, Effect, Layer } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import { Activity } from "../../services/operation/Activity.js"
import * as ChannelOverride from "../../services/operation/ChannelOverride.js"
import * as QuietHours from "../../services/operation/QuietHours.js"
import { Settings } from "../../services/operation/Settings.js"

/** The page and the terminal show notices as they happen; only chats get them as messages. */
const showsEvents = new Set(["web"])

export const layer: Layer.Layer<Notifier, never, Delivery | Activity | Settings> = Layer.effect(
  Notifier,
  Effect.gen(function* () {
    const delivery = yield* Delivery
    const activity = yield* Activity
    const { channelOverrides, notices, timezone } = yield* Settings

    const isQuiet = (address: Address, at: number): boolean =>
      QuietHours.at(notices.quietHours, at, timezone) || ChannelOverride.of(channelOverrides, address)?.quiet === true
    return Notifier.of({
      tell: (place, notice) =>
        Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          yield* activity.publish({ _tag: "notice", at, sessionKey: place.sessionKey, ...notice })
          if (place.address === null || showsEvents.has(place.address.platform)) return
          if (Notice.isCourtesy(notice.code) && isQuiet(place.address, at)) return
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
