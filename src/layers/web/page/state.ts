/** What the page shows, as a value, and what each event does to it. Pure, so that it can be tested without a page. */
import type { Approval, Event, Message, Session } from "./gateway.js"

export interface LiveTool {
  readonly callId: string
  readonly tool: string
  readonly preview: string
  readonly state: "running" | "ok" | "failed"
  readonly result: string
}

export interface LiveDelegate {
  readonly delegationId: string
  readonly turnId: string
  readonly goal: string
  readonly status: string
  readonly tools: ReadonlyArray<LiveTool>
}

/** A turn that is running, as far as it can be seen. */
export interface LiveTurn {
  readonly turnId: string
  readonly sessionId: string
  readonly text: string
  readonly tools: ReadonlyArray<LiveTool>
  readonly delegates: ReadonlyArray<LiveDelegate>
}

export interface Notice {
  readonly id: number
  readonly sessionKey: string
  readonly text: string
}

export interface State {
  readonly connection: "connecting" | "open" | "lost"
  readonly signedIn: boolean
  readonly sessions: ReadonlyArray<Session>
  readonly current: string | null
  readonly messages: ReadonlyArray<Message>
  readonly live: ReadonlyArray<LiveTurn>
  readonly approvals: ReadonlyArray<Approval>
  readonly notices: ReadonlyArray<Notice>
  /** What went wrong with the last thing the person did. */
  readonly problem: string | null
  readonly nextNotice: number
}

export const initial: State = {
  connection: "connecting",
  signedIn: true,
  sessions: [],
  current: null,
  messages: [],
  live: [],
  approvals: [],
  notices: [],
  problem: null,
  nextNotice: 1
}

export type Action =
  | { readonly type: "connection"; readonly connection: State["connection"] }
  | { readonly type: "signedOut" }
  | { readonly type: "signedIn" }
  | { readonly type: "sessions"; readonly sessions: ReadonlyArray<Session> }
  | { readonly type: "opened"; readonly id: string | null; readonly messages: ReadonlyArray<Message> }
  | { readonly type: "approvals"; readonly approvals: ReadonlyArray<Approval> }
  | { readonly type: "said"; readonly text: string; readonly at: string }
  | { readonly type: "problem"; readonly problem: string | null }
  | { readonly type: "event"; readonly event: Event }

const change = (
  live: ReadonlyArray<LiveTurn>,
  turnId: string,
  edit: (turn: LiveTurn) => LiveTurn
): ReadonlyArray<LiveTurn> => live.map((turn) => (turn.turnId === turnId ? edit(turn) : turn))

/** The delegate of any running turn whose own turn this is. */
const changeDelegate = (
  live: ReadonlyArray<LiveTurn>,
  turnId: string,
  edit: (delegate: LiveDelegate) => LiveDelegate
): ReadonlyArray<LiveTurn> =>
  live.map((turn) => ({
    ...turn,
    delegates: turn.delegates.map((delegate) => (delegate.turnId === turnId ? edit(delegate) : delegate))
  }))

const settled = (
  tools: ReadonlyArray<LiveTool>,
  callId: string,
  ok: boolean,
  result: string
): ReadonlyArray<LiveTool> =>
  tools.map((tool) => (tool.callId === callId ? { ...tool, state: ok ? "ok" : "failed", result } : tool))

const message = (event: Extract<Event, { readonly _tag: "message.stored" }>): Message => ({
  id: event.messageId,
  at: new Date(event.at).toISOString(),
  turnId: null,
  role: event.role === "user" ? "user" : event.role === "tool" ? "tool" : "assistant",
  text: event.text,
  reasoning: null,
  toolCalls: [],
  finishReason: null,
  callId: null,
  tool: null,
  disposition: null
})

/** A message that is stored replaces the one that was shown while it was on its way. */
const withMessage = (messages: ReadonlyArray<Message>, stored: Message): ReadonlyArray<Message> => {
  if (messages.some((known) => known.id === stored.id)) return messages
  const pending = messages.findIndex((known) => known.id < 0 && known.role === stored.role)
  return pending < 0 ? [...messages, stored] : messages.with(pending, stored)
}

const onEvent = (state: State, event: Event): State => {
  switch (event._tag) {
    case "turn.started":
      return {
        ...state,
        live: [
          ...state.live.filter((turn) => turn.turnId !== event.turnId),
          { turnId: event.turnId, sessionId: event.sessionId, text: "", tools: [], delegates: [] }
        ]
      }
    case "text.delta":
      return { ...state, live: change(state.live, event.turnId, (turn) => ({ ...turn, text: turn.text + event.text })) }
    case "text.segment":
      return { ...state, live: change(state.live, event.turnId, (turn) => ({ ...turn, text: "" })) }
    case "tool.started": {
      const tool: LiveTool = {
        callId: event.callId,
        tool: event.tool,
        preview: event.preview,
        state: "running",
        result: ""
      }
      const live = change(state.live, event.turnId, (turn) => ({ ...turn, tools: [...turn.tools, tool] }))
      return {
        ...state,
        live: changeDelegate(live, event.turnId, (delegate) => ({ ...delegate, tools: [...delegate.tools, tool] }))
      }
    }
    case "tool.settled": {
      const settle = (tools: ReadonlyArray<LiveTool>) => settled(tools, event.callId, event.ok, event.preview)
      const live = change(state.live, event.turnId, (turn) => ({ ...turn, tools: settle(turn.tools) }))
      return {
        ...state,
        live: changeDelegate(live, event.turnId, (delegate) => ({ ...delegate, tools: settle(delegate.tools) }))
      }
    }
    case "delegate.started":
      return {
        ...state,
        live: change(state.live, event.turnId, (turn) => ({
          ...turn,
          delegates: [
            ...turn.delegates,
            {
              delegationId: event.delegationId,
              turnId: event.childTurnId,
              goal: event.goal,
              status: "working",
              tools: []
            }
          ]
        }))
      }
    case "delegate.ended":
      return {
        ...state,
        live: state.live.map((turn) => ({
          ...turn,
          delegates: turn.delegates.map((delegate) =>
            delegate.delegationId === event.delegationId ? { ...delegate, status: event.status } : delegate
          )
        }))
      }
    case "approval.asked":
      return {
        ...state,
        approvals: [
          ...state.approvals.filter((approval) => approval.id !== event.approvalId),
          {
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
          }
        ]
      }
    case "approval.answered":
      return { ...state, approvals: state.approvals.filter((approval) => approval.id !== event.approvalId) }
    case "notice":
      return {
        ...state,
        nextNotice: state.nextNotice + 1,
        notices: [...state.notices, { id: state.nextNotice, sessionKey: event.sessionKey, text: event.text }].slice(-20)
      }
    case "message.stored":
      return event.sessionId === state.current
        ? { ...state, messages: withMessage(state.messages, message(event)) }
        : state
    case "turn.ended": {
      const live = state.live.filter((turn) => turn.turnId !== event.turnId)
      const spoken = event.outcome === "command" && event.text !== "" && isCurrent(state, event.sessionKey)
      return spoken
        ? {
            ...state,
            live,
            nextNotice: state.nextNotice + 1,
            messages: state.messages.filter((known) => known.id >= 0),
            notices: [...state.notices, { id: state.nextNotice, sessionKey: event.sessionKey, text: event.text }]
          }
        : { ...state, live }
    }
    default:
      return state
  }
}

export const currentSession = (state: State): Session | null =>
  state.sessions.find((session) => session.id === state.current) ?? null

const isCurrent = (state: State, sessionKey: string): boolean => currentSession(state)?.key === sessionKey

export const reduce = (state: State, action: Action): State => {
  switch (action.type) {
    case "connection":
      return { ...state, connection: action.connection }
    case "signedOut":
      return { ...initial, signedIn: false, connection: "lost" }
    case "signedIn":
      return { ...state, signedIn: true, problem: null }
    case "sessions":
      return { ...state, sessions: action.sessions }
    case "opened":
      return { ...state, current: action.id, messages: action.messages, problem: null }
    case "approvals":
      return { ...state, approvals: action.approvals }
    case "said":
      return {
        ...state,
        problem: null,
        notices: state.notices.filter((notice) => !isCurrent(state, notice.sessionKey)),
        messages: [
          ...state.messages,
          {
            id: -1 - state.messages.length,
            at: action.at,
            turnId: null,
            role: "user",
            text: action.text,
            reasoning: null,
            toolCalls: [],
            finishReason: null,
            callId: null,
            tool: null,
            disposition: null
          }
        ]
      }
    case "problem":
      return { ...state, problem: action.problem }
    case "event":
      return onEvent(state, action.event)
  }
}
