/**
 * What happened for a conversation without anybody having said it: a helper in the background or a process came to its
 * end (gateway.md 7.7). It is stored beside what caused it, before anybody is told, and becomes a turn of the
 * conversation whose turn asked for it, exactly once.
 */
import { Context, type Effect } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as Field from "../../fibers/Field.js"
import type { Parcel } from "../../fibers/Parcel.js"
import type { CurrentTurn, Turn } from "../../fibers/Turn.js"
import { SessionKey } from "../session/SessionKey.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { StoredArrival } from "./Inbox.js"
import { ChatType, InboundEvent, type InternalCause, Source } from "./InboundEvent.js"

/**
 * expected: the work goes on · stored: it has ended and nobody was told · accepted: its event is in the inbox, which is
 * the receipt · aside: its conversation was put aside for another one, and is told when somebody goes on with it · refused:
 * nobody is to be told, or there is no conversation any more.
 */
export type InternalState = "expected" | "stored" | "accepted" | "aside" | "refused"

export interface InternalRow {
  readonly cause: InternalCause
  /** The turn that asked for the work: who, why and where, in full. */
  readonly parcel: Parcel<null>
  /** What the agent reads; empty while it is expected. */
  readonly text: string
  readonly state: InternalState
  readonly storedAt: number
  /** The event that it became in the inbox. */
  readonly eventId: string | null
  /** Why it was refused. */
  readonly reason: string | null
}

export class InternalEvents extends Context.Tag("hermes/conversation/InternalEvents")<
  InternalEvents,
  {
    /** For the transaction that begins the work: keeps the route of the current turn, however long the work takes. */
    readonly expect: (cause: InternalCause) => Effect.Effect<Step<void>, never, CurrentTurn>
    /** For the transaction that settles the work. Only what is expected is told, and only once. */
    readonly tell: (cause: InternalCause, text: string) => Step<void>
    /** Says that something was told: whoever hands it over looks at once. Never waits. */
    readonly announce: Effect.Effect<void>
    /** Waits for an announcement since the last that was heard. */
    readonly announced: Effect.Effect<void>
    /** What this process is to hand over, oldest first: its own, and in a gateway what a dead process left. */
    readonly waiting: Effect.Effect<ReadonlyArray<InternalRow>, StateError>
    /** May another process leave something of the kind, or take it up, which is announced to nobody here? */
    readonly mayBeLeft: Effect.Effect<boolean, StateError>
    /** The receipt; false when there is one already. */
    readonly accept: (cause: InternalCause, eventId: string) => Step<boolean>
    /** It waits until the session is open as `key` again; false when it is by now, or somebody has handed it over. */
    readonly putAside: (cause: InternalCause, sessionId: string, key: SessionKey) => Step<boolean>
    /** Nobody is told of it, or not any more. */
    readonly refuse: (cause: InternalCause, reason: string) => Step<void>
    readonly get: (cause: InternalCause) => Effect.Effect<InternalRow | null, StateError>
  }
>() {}

/** Where such an event goes, or why it goes nowhere. */
export type Route =
  | { readonly _tag: "Conversation"; readonly key: SessionKey; readonly sessionId: string }
  | { readonly _tag: "Nowhere"; readonly reason: string }

/** A scheduled run and a helper have no conversation of their own that could be woken. Pure. */
export const routeOf = (turn: Turn): Route => {
  const key = Field.valueOrNull(turn.identity.sessionKey)
  const sessionId = Field.valueOrNull(turn.identity.sessionId)
  if (CronMarker.isCron(turn.marker)) return { _tag: "Nowhere", reason: "a scheduled run is over when it has answered" }
  if (turn.depth > 0) return { _tag: "Nowhere", reason: "a helper is over when it has reported" }
  return key === null || sessionId === null
    ? { _tag: "Nowhere", reason: "no conversation asked for it" }
    : { _tag: "Conversation", key: SessionKey.make(key), sessionId }
}

const chatTypeOf = (text: string | null): ChatType => ChatType.literals.find((known) => known === text) ?? "dm"

/** The event as the inbox takes it: from the same place as the turn that asked, answered at the same message. Pure. */
export const inboundOf = (
  told: { readonly cause: InternalCause; readonly text: string; readonly turn: Turn },
  sessionId: string,
  now: number
): InboundEvent => {
  const { identity } = told.turn
  const value = Field.valueOrNull
  return new InboundEvent({
    source: new Source({
      platform: value(identity.platform) ?? "",
      surface: value(identity.source),
      botId: null,
      chatId: value(identity.chatId),
      chatName: value(identity.chatName),
      chatType: chatTypeOf(value(identity.chatType)),
      threadId: value(identity.threadId),
      parentChatId: value(identity.parentChatId),
      scopeId: value(identity.scopeId),
      userId: value(identity.userId),
      userIdAlt: value(identity.userIdAlt),
      userName: value(identity.userName),
      isBot: false,
      profile: value(identity.profile),
      uiSessionId: value(identity.uiSessionId)
    }),
    text: told.text,
    messageId: value(identity.messageId),
    replyTo: null,
    media: [],
    sentAt: now,
    sessionId,
    internal: told.cause
  })
}

/** What the surface of the turn that asked could do, it can do still. Pure. */
export const arrivalOf = ({ asyncDelivery, marker, presence, workingDirectory }: Turn): StoredArrival => ({
  asyncDelivery: asyncDelivery ?? true,
  marker,
  unattended: presence._tag === "Human" ? null : presence.kind === "cron" ? "unattended" : presence.kind,
  workingDirectory
})
