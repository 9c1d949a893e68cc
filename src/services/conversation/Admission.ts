import { Context, Effect } from "effect"
import type { CronMarker } from "../../fibers/CronMarker.js"
import * as Marker from "../../fibers/CronMarker.js"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Presence from "../../fibers/Presence.js"
import * as SessionIdentity from "../../fibers/SessionIdentity.js"
import * as Turn from "../../fibers/Turn.js"
import type { Session } from "../session/Session.js"
import type { StateError } from "../state/StateError.js"
import type { StoredArrival } from "./Inbox.js"
import type { Arrival, InboundEvent, Source } from "./InboundEvent.js"

/** What became of an event; the adapter acknowledges it to its platform whatever it is. */
export type Receipt =
  | { readonly _tag: "Accepted"; readonly eventId: string; readonly sessionKey: string }
  | { readonly _tag: "Duplicate" }
  | { readonly _tag: "Ignored"; readonly rule: string }
  | { readonly _tag: "Paired" }
  /** Not stored: the conversation is full or the gateway drains. The person was told. */
  | { readonly _tag: "Refused"; readonly code: string; readonly text: string }

/** Where a live conversation is, as an address to answer to; null where there is none (a terminal, an API request). */
export const addressOf = (source: Source, messageId: string | null): DeliveryOrigin.Address | null =>
  source.platform === "" || source.platform === "api_server" || source.chatId === null
    ? null
    : DeliveryOrigin.address({
        platform: source.platform,
        chatId: source.chatId,
        threadId: source.threadId,
        anchor: messageId,
        scopeId: source.scopeId
      })

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
export const turnOf = (admitted: {
  readonly id: Turn.TurnId
  readonly event: InboundEvent
  readonly arrival: StoredArrival
  readonly session: Session
  readonly sessionKey: string
  /** The message to reply to; a left-over steer text has none (gateway.md 1.10). */
  readonly anchor: string | null
}): Turn.Turn => {
  const { event, session } = admitted
  const { source } = event
  const address = addressOf(source, admitted.anchor)
  return new Turn.Turn({
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
      sessionId: session.id,
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
  })
}

/** Enters the turn of an admitted event: `turnOf` bound by the choke point. */
export const enter: typeof Turn.enter = Turn.enter

/** The one way in for everything that a person sends. */
export class Admission extends Context.Tag("hermes/conversation/Admission")<
  Admission,
  {
    /** Authorises, deduplicates and stores the event, then hands it to its conversation. Returns once it is safe to acknowledge. Runs as nobody, whoever calls. */
    readonly accept: (event: InboundEvent, arrival: Arrival) => Effect.Effect<Receipt, StateError>
    /** A button's value pressed by somebody: authorised again, then dispatched like the command it stands for. */
    readonly press: (event: InboundEvent, arrival: Arrival, value: string) => Effect.Effect<Receipt, StateError>
  }
>() {}
