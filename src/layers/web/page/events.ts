/** What each event does to what the page knows. Pure. */
import { runWaiting } from "../../../services/delivery/Notice.js"
import {
  added,
  isSaidByMessage,
  type Said,
  settled,
  stillTrouble,
  withdrawn,
  withoutTrouble,
  withoutWaiting
} from "./asides.js"
import type { Approval, Clarification, Event } from "./gateway.js"
import { placeIn, sessionOfKey, type State } from "./state.js"
import { stored } from "./transcript.js"
import { ended, isKnown, type LiveTurn, told, withRows } from "./turns.js"

/** As many as a list can be late by, and more. */
const overKept = 200

const over = (state: State, id: string): State => ({ ...state, over: [...state.over, id].slice(-overKept) })

type Told = Pick<Extract<Event, { readonly _tag: "notice" }>, "about" | "at" | "code" | "sessionKey" | "text">

const notice = (state: State, { about, at, code, sessionKey, text }: Told): State => {
  const sessionId = sessionOfKey(state, sessionKey)?.id
  if (sessionId === undefined || isSaidByMessage(state.asides, sessionId, code)) return state
  const id = `notice ${state.count}`
  return {
    ...state,
    count: state.count + 1,
    asides: added(state.asides, {
      kind: "notice",
      id,
      sessionId,
      code,
      text,
      about: about ?? null,
      at,
      after: placeIn(state, sessionId)
    })
  }
}

/** A turn that runs, seen from its beginning or, not `whole`, from somewhere after it. */
export const begun = (
  state: State,
  { turnId, sessionId, sessionKey }: Pick<LiveTurn, "turnId" | "sessionId" | "sessionKey">,
  startedAt: number,
  whole: boolean
): State => {
  const after = placeIn(state, sessionId)
  const turn: LiveTurn = { turnId, sessionId, sessionKey, outcome: null, whole, startedAt, after, parts: [] }
  const fresh = sessionId === state.current ? withRows(turn, state.rows) : turn
  return { ...state, turns: [...state.turns.filter((known) => known.turnId !== turnId), fresh] }
}

type TurnEnded = Extract<Event, { readonly _tag: "turn.ended" }>

/** The last word on what had no turn: its message is shown no longer as one that waits. */
const withoutTurn = (state: State, event: TurnEnded, outcome: "command" | "steered" | "dropped"): State => {
  const said = state.asides.find((aside): aside is Said => aside.kind === "said" && aside.id === event.about)
  // Words that answer what the agent asked are the result of its question.
  const isAnswer = outcome === "command" && event.text === "" && said?.text.startsWith("/") === false
  const asides =
    said === undefined
      ? state.asides
      : isAnswer
        ? withdrawn(state.asides, said.id)
        : settled(state.asides, said.id, outcome, placeIn(state, said.sessionId))
  return event.text === "" ? { ...state, asides } : notice({ ...state, asides }, { ...event, code: "command" })
}

const onEnded = (state: State, event: TurnEnded): State => {
  switch (event.outcome) {
    case "steered":
    case "command":
    case "dropped":
      return withoutTurn(state, event, event.outcome)
    case "revoked":
      return withoutTurn(state, event, "dropped")
    case "suspended":
    case "limited":
      // Its text came as a notice already.
      return withoutTurn(state, { ...event, text: "" }, "dropped")
  }
  const { sessionId, turnId } = event
  const known = isKnown(state.turns, turnId) ? state : begun(state, event, event.at, false)
  const turns = known.turns
    .map((turn) => (turn.turnId === turnId ? ended(turn, event.outcome, event.text) : turn))
    .filter((turn) => turn.outcome === null || turn.sessionId === state.current)
  return over({ ...known, turns, asides: withoutTrouble(withoutWaiting(known.asides, sessionId), sessionId) }, turnId)
}

const asked = (event: Extract<Event, { readonly _tag: "approval.asked" }>): Approval => ({
  id: event.approvalId,
  sessionKey: event.sessionKey,
  turnId: event.turnId,
  tool: event.tool,
  subject: event.subject,
  reasons: event.reasons,
  state: "open",
  askedAt: new Date(event.at).toISOString(),
  expiresAt: new Date(event.expiresAt).toISOString(),
  answeredAt: null,
  answer: null,
  by: null
})

const wondered = (event: Extract<Event, { readonly _tag: "clarification.asked" }>): Clarification => ({
  id: event.clarificationId,
  sessionKey: event.sessionKey,
  turnId: event.turnId,
  question: event.question,
  choices: event.choices,
  several: event.several,
  state: "open",
  askedAt: new Date(event.at).toISOString(),
  expiresAt: new Date(event.expiresAt).toISOString(),
  answer: null,
  by: null
})

/** The conversation of a key goes on in another session; what the list will say of it is known as far as this. */
const moved = (state: State, event: Extract<Event, { readonly _tag: "session.changed" }>): State => {
  const from = sessionOfKey(state, event.sessionKey)
  if (from === undefined || from.id === event.sessionId) return state
  const at = new Date(event.at).toISOString()
  const known = state.sessions.find(({ id }) => id === event.sessionId)
  const fresh = { id: event.sessionId, title: null, startedAt: at, messages: 0, unread: false, suspended: false }
  const now = { ...from, ...fresh, ...known, lastActivityAt: at, endedAt: null, endReason: null }
  const others = state.sessions.filter(({ id }) => id !== event.sessionId)
  return {
    ...state,
    sessions: [now, ...others.map((session) => (session === from ? { ...from, endedAt: at } : session))]
  }
}

const without = <A extends { readonly id: string }>(list: ReadonlyArray<A>, id: string): ReadonlyArray<A> =>
  list.filter((one) => one.id !== id)

/** Does the model answer, where this happens? */
const isOfModel = (tag: Event["_tag"]): boolean => tag === "text.delta" || tag === "tool.started"

export const onEvent = (state: State, event: Event): State => {
  switch (event._tag) {
    case "turn.started":
      return begun({ ...state, asides: withoutWaiting(state.asides, event.sessionId) }, event, event.at, true)
    case "turn.ended":
      return onEnded(state, event)
    case "message.stored":
      return stored(state, event)
    case "notice":
      // The question itself is shown, with its choices.
      if (event.code === "clarify.question") return state
      return notice(state, event)
    case "model.waiting": {
      const { text } = runWaiting({ trouble: event.trouble, millis: event.waitMillis })
      return { ...state, asides: stillTrouble(state.asides, event.sessionId, text) }
    }
    case "approval.asked":
      return { ...state, approvals: [...without(state.approvals, event.approvalId), asked(event)] }
    case "approval.answered":
      return over({ ...state, approvals: without(state.approvals, event.approvalId) }, event.approvalId)
    case "clarification.asked":
      return {
        ...state,
        clarifications: [...without(state.clarifications, event.clarificationId), wondered(event)]
      }
    case "clarification.settled":
      return over(
        { ...state, clarifications: without(state.clarifications, event.clarificationId) },
        event.clarificationId
      )
    case "session.changed":
      return moved(state, event)
    case "text.delta":
    case "text.segment":
    case "tool.started":
    case "tool.settled":
    case "delegate.started":
    case "delegate.ended": {
      // A helper's own events name a session that no list has; without its beginning there is nowhere to show them.
      const isSeen = isKnown(state.turns, event.turnId)
      if (!isSeen && !state.sessions.some(({ id }) => id === event.sessionId)) return state
      const known = isSeen ? state : begun(state, event, event.at, false)
      const asides = isOfModel(event._tag) ? withoutTrouble(known.asides, event.sessionId) : known.asides
      return { ...known, asides, turns: told(known.turns, event) }
    }
    default:
      return state
  }
}
