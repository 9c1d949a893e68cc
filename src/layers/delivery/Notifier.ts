import { Clock, Effect, Layer } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import { Hints } from "../../services/delivery/Hints.js"
import { Notifier, type NoticeText } from "../../services/delivery/Notifier.js"
import { Activity } from "../../services/operation/Activity.js"
import * as ChannelOverride from "../../services/operation/ChannelOverride.js"
import * as QuietHours from "../../services/operation/QuietHours.js"
import { Settings } from "../../services/operation/Settings.js"

/** The page and the terminal show notices as they happen; only chats get them as messages. */
const showsEvents = new Set(["web"])

export const layer: Layer.Layer<Notifier, never, Activity | Delivery | Hints | Settings> = Layer.effect(
  Notifier,
  Effect.gen(function* () {
    const delivery = yield* Delivery
    const activity = yield* Activity
    const hints = yield* Hints
    const { channelOverrides, notices, timezone } = yield* Settings

    const isQuiet = (address: Address, at: number): boolean =>
      QuietHours.at(notices.quietHours, at, timezone) || ChannelOverride.of(channelOverrides, address)?.quiet === true
    const isHeldBack = (address: Address, { code }: NoticeText, at: number): boolean =>
      Notice.isCourtesy(code) && isQuiet(address, at)

    const tell: (typeof Notifier.Service)["tell"] = (place, notice) =>
      Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        const about = place.address?.anchor ?? null
        yield* activity.publish({
          _tag: "notice",
          at,
          sessionKey: place.sessionKey,
          ...notice,
          ...(about === null ? {} : { about })
        })
        if (place.address === null || showsEvents.has(place.address.platform)) return
        if (isHeldBack(place.address, notice, at)) return
        const delivered = yield* delivery.deliver({
          cause: { kind: "notice", id: `${notice.code}:${place.about}` },
          address: place.address,
          text: notice.text,
          via: "origin",
          transcriptId: null,
          replyToPerson: Notice.isRefusal(notice.code)
        })
        if (!delivered.ok)
          yield* Effect.logWarning("a notice could not be delivered").pipe(
            Effect.annotateLogs({ code: notice.code, problem: delivered.problem })
          )
      }).pipe(Effect.catchAll((error) => Effect.logWarning("a notice could not be stored", error)))

    return Notifier.of({
      tell,
      hint: Effect.fnUntraced(
        function* (place, name, notice, needed = Effect.succeed(true)) {
          if (!notices.hints) return
          const { address } = place
          if (address !== null && isHeldBack(address, notice, yield* Clock.currentTimeMillis)) return
          if ((yield* hints.first(name)) && (yield* needed)) yield* tell(place, notice)
        },
        Effect.catchAll((error) => Effect.logWarning("a hint could not be stored", error))
      )
    })
  })
)
