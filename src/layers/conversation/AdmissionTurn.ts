/**
 * The turn of an admitted event: the one place where a person's message becomes a turn. Not part of the package's
 * entries: library users admit through `Admission.accept`.
 */
import type { CronMarker } from "../../fibers/CronMarker.js"
import * as Marker from "../../fibers/CronMarker.js"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Presence from "../../fibers/Presence.js"
import * as SessionIdentity from "../../fibers/SessionIdentity.js"
import * as Turn from "../../fibers/Turn.js"
import { addressOf } from "../../services/conversation/Admission.js"
import type { StoredArrival } from "../../services/conversation/Inbox.js"
import type { InboundEvent } from "../../services/conversation/InboundEvent.js"

/** A marker that came with the process or the request is kept; without one a person's event is explicitly not cron (decision 6). */
const markerOf = (arrival: StoredArrival): CronMarker =>
  Marker.isCron(arrival.marker) ? arrival.marker : Marker.notCron

const presenceOf = (arrival: StoredArrival, sessionKey: string): Presence.Presence =>
  Marker.isCron(arrival.marker)
    ? Presence.nobody("cron")
    : arrival.unattended === null
      ? Presence.human(sessionKey)
      : Presence.nobody(arrival.unattended)

/** The turn of an admitted event: every fact from the event's own source and session, nothing from the fiber. */
export const of = (admitted: {
  readonly id: Turn.TurnId
  readonly event: InboundEvent
  readonly arrival: StoredArrival
  /** Null where the conversation has none yet. */
  readonly sessionId: string | null
  readonly sessionKey: string
  /** The message to reply to; a left-over steer text has none (gateway.md 1.10). */
  readonly anchor: string | null
}): Turn.Turn => {
  const { event } = admitted
  const { source } = event
  const address = addressOf(source, admitted.anchor)
  return new Turn.Turn(
    {
      id: admitted.id,
      parent: null,
      depth: 0,
      identity: SessionIdentity.bind({
        platform: source.platform,
        source: source.surface,
        chatId: source.chatId,
        chatType: source.chatType,
        chatName: source.chatName,
        threadId: source.threadId,
        userId: source.userId,
        userIdAlt: source.userIdAlt,
        userName: source.userName,
        scopeId: source.scopeId,
        sessionKey: admitted.sessionKey,
        sessionId: admitted.sessionId,
        uiSessionId: source.uiSessionId,
        messageId: admitted.anchor,
        profile: source.profile ?? "default",
        parentChatId: source.parentChatId
      }),
      marker: markerOf(admitted.arrival),
      origin: address === null ? DeliveryOrigin.cleared : DeliveryOrigin.live(address),
      presence: presenceOf(admitted.arrival, admitted.sessionKey),
      asyncDelivery: admitted.arrival.asyncDelivery,
      workingDirectory: admitted.arrival.workingDirectory
    },
    // Every fact is of its type already.
    { disableValidation: true }
  )
}

/** Enters it: the choke point, with facts from the event's own source and session. */
export const enter: typeof Turn.enter = Turn.enter
