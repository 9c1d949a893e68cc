/** What the page knows, as a value. Pure. */
import type { Aside } from "./asides.js"
import type { Approval, Clarification, Health, Helper, Message, Session } from "./gateway.js"
import type { Helped } from "./helped.js"
import type { LiveTurn } from "./turns.js"

export interface State {
  /** May this browser ask the gateway anything? */
  readonly access: "unknown" | "in" | "out"
  readonly connection: "connecting" | "open" | "lost"
  readonly sessions: ReadonlyArray<Session>
  /** The conversation that is shown; null for one that begins with the next message. */
  readonly current: string | null
  /** Its rows, oldest first, without gaps from the first one here to the last. */
  readonly rows: ReadonlyArray<Message>
  /** Are there rows before the first one here? */
  readonly more: boolean
  /** Have its rows been asked for and not come yet? */
  readonly loading: boolean
  /** Turns that run anywhere, and those of the shown conversation that have ended since it was opened. */
  readonly turns: ReadonlyArray<LiveTurn>
  /** Turns of which something was missed, because the connection was lost while they ran. */
  readonly stale: ReadonlyArray<string>
  /** Helpers at work anywhere, as they were last told of. */
  readonly helpers: ReadonlyArray<Helper>
  /** What the helpers of the shown conversation did, as far as it is stored. */
  readonly helped: ReadonlyArray<Helped>
  readonly approvals: ReadonlyArray<Approval>
  readonly clarifications: ReadonlyArray<Clarification>
  /** How the gateway was when the connection was made; null before the first. */
  readonly health: Health | null
  /** Turns and questions that ended a moment ago: a list that is a little older may still call them open. */
  readonly over: ReadonlyArray<string>
  readonly asides: ReadonlyArray<Aside>
  /** What went wrong with the last thing the person did. */
  readonly problem: string | null
  /** Notices so far. */
  readonly count: number
}

export const initial: State = {
  access: "unknown",
  connection: "connecting",
  sessions: [],
  current: null,
  rows: [],
  more: false,
  loading: false,
  turns: [],
  stale: [],
  helpers: [],
  helped: [],
  approvals: [],
  clarifications: [],
  health: null,
  over: [],
  asides: [],
  problem: null,
  count: 0
}

export const currentSession = (state: State): Session | null =>
  state.sessions.find((session) => session.id === state.current) ?? null

/** The session that is open under a key: an ended one has the same. */
export const sessionOfKey = (state: State, key: string): Session | undefined =>
  state.sessions.find((session) => session.key === key && session.endedAt === null)

/** After all rows that there may be, until it is known which there are. */
export const atEnd = Number.MAX_SAFE_INTEGER

/** Where what comes now stands: after the last row of the shown conversation, at the end of any other. */
export const placeIn = (state: State, sessionId: string | null): number =>
  sessionId === state.current && !state.loading ? (state.rows.at(-1)?.id ?? 0) : atEnd

/** The helpers that work on behind a conversation, with theirs. */
export const behind = (helpers: ReadonlyArray<Helper>, key: string | null): ReadonlyArray<Helper> => {
  const here = helpers.filter(({ sessionKey }) => sessionKey === key)
  const turns = new Set<string>()
  // Oldest first: whoever has helpers stands before them.
  return here.filter(({ background, parentTurnId, turnId }) => {
    const isBehind = background || turns.has(parentTurnId)
    if (isBehind) turns.add(turnId)
    return isBehind
  })
}
