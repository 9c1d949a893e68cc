/** What the turn of an event needs before its first row: a session that goes on, room below the limits, a place in the drain. */
import { Effect } from "effect"
import * as Turn from "../../fibers/Turn.js"
import type { Spending } from "../../services/agent/Spending.js"
import type { InboxMessage } from "../../services/conversation/Inbox.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { NoticeText } from "../../services/delivery/Notifier.js"
import type { Drain } from "../../services/operation/Drain.js"
import type { Ids } from "../../services/operation/Ids.js"
import type { Session } from "../../services/session/Session.js"
import type { SessionStore } from "../../services/session/SessionStore.js"
import type { StateError } from "../../services/state/StateError.js"
import * as AdmissionTurn from "./AdmissionTurn.js"

export interface OpeningServices {
  readonly ids: typeof Ids.Service
  readonly drain: typeof Drain.Service
  readonly spending: typeof Spending.Service
  readonly sessions: typeof SessionStore.Service
}

/** Counted as work from here on: `close` is due at its end, or where it does not begin after all. */
export interface Opened {
  readonly _tag: "Opened"
  readonly session: Session
  readonly turn: Turn.Turn
  readonly close: Effect.Effect<void>
}

export type Opening =
  | Opened
  | { readonly _tag: "Refused"; readonly because: "suspended" | "limited"; readonly notice: NoticeText }
  /** Nothing new begins: the event is for the next start. */
  | { readonly _tag: "Draining" }

/** The session that an event names, else its conversation's, which is made where there is none. */
export const sessionOf = Effect.fnUntraced(function* (
  sessions: typeof SessionStore.Service,
  { event, key }: InboxMessage
): Effect.fn.Return<Session, StateError> {
  if (event.sessionId !== null) {
    const named = yield* sessions.get(event.sessionId)
    if (named !== null) return named
  }
  return yield* sessions.resolve(key, event.source)
})

export const open = Effect.fnUntraced(function* (
  { drain, ids, sessions, spending }: OpeningServices,
  message: InboxMessage
): Effect.fn.Return<Opening, StateError> {
  const { arrival, event, key } = message
  const session = yield* sessionOf(sessions, message)
  if (session.suspended) return { _tag: "Refused", because: "suspended", notice: Notice.sessionSuspended() }
  const limit = yield* spending.reached(null, [])
  if (limit !== null)
    return { _tag: "Refused", because: "limited", notice: Notice.limitReached({ words: spending.words(limit) }) }
  const id = Turn.TurnId.make(yield* ids.next("turn"))
  const turn = AdmissionTurn.of({
    id,
    event,
    arrival,
    sessionId: session.id,
    sessionKey: key,
    anchor: event.messageId
  })
  return yield* Effect.match(drain.open("turn", key), {
    onFailure: (): Opening => ({ _tag: "Draining" }),
    onSuccess: (close): Opening => ({ _tag: "Opened", session, turn, close })
  })
})
