/** What the page knows after each thing that happens. Pure, so that it can be tested without a page. */
import { added, type Refusal, type SaidState, sent, unsent, withdrawn, withoutRestart } from "./asides.js"
import { begun, onEvent } from "./events.js"
import type { Approval, Attached, Clarification, Event, Health, Helper, Session } from "./gateway.js"
import type { Helped } from "./helped.js"
import { initial, placeIn, sessionOfKey, type State } from "./state.js"
import { type Page, paged } from "./transcript.js"
import { isKnown } from "./turns.js"

/** A turn that the gateway says is running. */
export interface Running {
  readonly turnId: string
  readonly sessionKey: string
  readonly startedAt: number
}

export type Action =
  | { readonly type: "connection"; readonly connection: State["connection"] }
  | { readonly type: "access"; readonly access: State["access"]; readonly problem?: string | null }
  | { readonly type: "sessions"; readonly sessions: ReadonlyArray<Session> }
  /** A session as it is now: new, or renamed. */
  | { readonly type: "session"; readonly session: Session }
  | { readonly type: "read"; readonly id: string }
  | { readonly type: "removed"; readonly id: string }
  | { readonly type: "opened"; readonly id: string | null }
  /** The conversation that the messages without one wait for. */
  | { readonly type: "begun"; readonly session: Session }
  | { readonly type: "rows"; readonly page: Page }
  /** `known`: the turns that were thought to run when it was asked for. */
  | { readonly type: "running"; readonly running: ReadonlyArray<Running>; readonly known: ReadonlyArray<string> }
  /** `known`: the questions that were thought to be open when they were asked for. */
  | { readonly type: "approvals"; readonly approvals: ReadonlyArray<Approval>; readonly known: ReadonlyArray<string> }
  | {
      readonly type: "clarifications"
      readonly clarifications: ReadonlyArray<Clarification>
      readonly known: ReadonlyArray<string>
    }
  | { readonly type: "health"; readonly health: Health }
  | { readonly type: "helpers"; readonly helpers: ReadonlyArray<Helper> }
  /** `id`: of the conversation whose helpers they were. */
  | { readonly type: "helped"; readonly id: string; readonly helped: ReadonlyArray<Helped> }
  | {
      readonly type: "said"
      readonly id: string
      readonly text: string
      readonly files?: ReadonlyArray<Attached>
      readonly at: number
    }
  | { readonly type: "sending"; readonly id: string; readonly state: SaidState; readonly refusal?: Refusal }
  | { readonly type: "withdrawn"; readonly id: string }
  | { readonly type: "problem"; readonly problem: string | null }
  | { readonly type: "events"; readonly events: ReadonlyArray<Event> }

/** The shown conversation may be in no list: it was found, or put away. */
const withShown = (sessions: ReadonlyArray<Session>, state: State): ReadonlyArray<Session> => {
  const shown = state.sessions.find(({ id }) => id === state.current)
  return shown === undefined || sessions.some(({ id }) => id === shown.id) ? sessions : [...sessions, shown]
}

const read = (sessions: ReadonlyArray<Session>, id: string | null): ReadonlyArray<Session> =>
  sessions.map((session) => (session.id === id && session.unread ? { ...session, unread: false } : session))

const opened = (state: State, id: string | null): State =>
  id === state.current
    ? { ...state, problem: null }
    : {
        ...state,
        current: id,
        rows: [],
        helped: [],
        more: false,
        loading: id !== null,
        problem: null,
        turns: state.turns.filter((turn) => turn.outcome === null),
        sessions: read(state.sessions, id)
      }

/** Which turns run now. What was missed of a turn cannot be told from what was seen, so such a turn is seen anew. */
const running = (state: State, list: ReadonlyArray<Running>, known: ReadonlyArray<string>): State => {
  const there = new Set(list.map(({ turnId }) => turnId))
  const gone = new Set([...state.stale, ...known.filter((turnId) => !there.has(turnId))])
  const left: State = {
    ...state,
    stale: [],
    turns: state.turns.filter((turn) => turn.outcome !== null || !gone.has(turn.turnId))
  }
  return list.reduce((now, { turnId, sessionKey, startedAt }) => {
    const session = sessionOfKey(now, sessionKey)
    return session === undefined || now.over.includes(turnId) || isKnown(now.turns, turnId)
      ? now
      : begun(now, { turnId, sessionKey, sessionId: session.id }, startedAt, false)
  }, left)
}

/** The list of open questions, and those that were asked after it was made. */
const questions = <A extends { readonly id: string }>(
  state: State,
  before: ReadonlyArray<A>,
  list: ReadonlyArray<A>,
  known: ReadonlyArray<string>
): ReadonlyArray<A> => {
  const listed = new Set(list.map(({ id }) => id))
  const since = before.filter(({ id }) => !listed.has(id) && !known.includes(id))
  return [...list, ...since].filter(({ id }) => !state.over.includes(id))
}

const withSession = (state: State, session: Session): State => ({
  ...state,
  sessions: state.sessions.some(({ id }) => id === session.id)
    ? state.sessions.map((known) => (known.id === session.id ? session : known))
    : [session, ...state.sessions]
})

const removed = (state: State, id: string): State => {
  const left: State = {
    ...state,
    sessions: state.sessions.filter((session) => session.id !== id),
    turns: state.turns.filter((turn) => turn.sessionId !== id),
    asides: state.asides.filter((aside) => aside.sessionId !== id)
  }
  return state.current === id ? opened(left, null) : left
}

/** The conversation of the messages that waited for one. */
const conversationBegun = (state: State, session: Session): State => {
  const known = withSession(state, session)
  const shown = state.current === null ? { ...opened(known, session.id), loading: false } : known
  return {
    ...shown,
    asides: shown.asides.map((aside) =>
      aside.kind === "said" && aside.sessionId === "" ? { ...aside, sessionId: session.id } : aside
    )
  }
}

export const reduce = (state: State, action: Action): State => {
  switch (action.type) {
    case "connection":
      return action.connection === "lost"
        ? {
            ...state,
            connection: "lost",
            stale: state.turns.filter((turn) => turn.outcome === null).map((turn) => turn.turnId)
          }
        : { ...state, connection: action.connection }
    case "access":
      return action.access === "out"
        ? { ...initial, access: "out", problem: action.problem ?? null, asides: unsent(state.asides) }
        : { ...state, access: action.access, problem: action.problem ?? null }
    case "sessions":
      return { ...state, sessions: withShown(action.sessions, state) }
    case "session":
      return withSession(state, action.session)
    case "read":
      return { ...state, sessions: read(state.sessions, action.id) }
    case "removed":
      return removed(state, action.id)
    case "opened":
      return opened(state, action.id)
    case "begun":
      return conversationBegun(state, action.session)
    case "rows":
      return paged(state, action.page)
    case "running":
      return running(state, action.running, action.known)
    case "approvals":
      return { ...state, approvals: questions(state, state.approvals, action.approvals, action.known) }
    case "clarifications":
      return {
        ...state,
        clarifications: questions(state, state.clarifications, action.clarifications, action.known)
      }
    case "health":
      return {
        ...state,
        health: action.health,
        asides: action.health.status === "draining" ? state.asides : withoutRestart(state.asides)
      }
    case "helpers":
      return { ...state, helpers: action.helpers }
    case "helped":
      return action.id === state.current ? { ...state, helped: action.helped } : state
    case "said":
      return {
        ...state,
        problem: null,
        asides: added(state.asides, {
          kind: "said",
          id: action.id,
          sessionId: state.current ?? "",
          text: action.text,
          files: action.files ?? [],
          state: "sending",
          refusal: null,
          at: action.at,
          after: placeIn(state, state.current)
        })
      }
    case "sending":
      return { ...state, asides: sent(state.asides, action.id, action.state, action.refusal ?? null) }
    case "withdrawn":
      return { ...state, asides: withdrawn(state.asides, action.id) }
    case "problem":
      return { ...state, problem: action.problem }
    case "events":
      return action.events.reduce(onEvent, state)
  }
}
