/** The rows of the shown conversation: pages of its transcript, and rows as they are stored. Pure. */
import { pinned, withoutStored } from "./asides.js"
import type { Event, Message } from "./gateway.js"
import type { State } from "./state.js"
import { withRows } from "./turns.js"

export interface Page {
  readonly id: string
  readonly rows: ReadonlyArray<Message>
  /** Does it end before the first known row? Else it ends with the newest. */
  readonly earlier: boolean
  /** Is it as long as a page may be, so that more may be before it? */
  readonly full: boolean
  /** The last row that was known when it was asked for. */
  readonly known: number
}

/** Rows never change; one that came as an event has less to it than the same one from a page. */
const isWhole = (row: Message): boolean => row.role !== "assistant" || row.finishReason !== null

const merged = (known: ReadonlyArray<Message>, fresh: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const rows = new Map(known.map((row) => [row.id, row]))
  for (const row of fresh) {
    const before = rows.get(row.id)
    if (before === undefined || !isWhole(before)) rows.set(row.id, row)
  }
  return [...rows.values()].sort((a, b) => a.id - b.id)
}

/** The newest rows beside those that are known; alone when they do not reach them. */
const withNewest = (known: ReadonlyArray<Message>, fresh: ReadonlyArray<Message>, full: boolean) => {
  const first = fresh[0]
  const last = known.at(-1)
  const gap = full && first !== undefined && last !== undefined && first.id > last.id
  return gap ? fresh : merged(known, fresh)
}

/** What the newest page reaches and does not have was taken back; what came after it was asked for was not. */
const isTakenBack = ({ earlier, full, known, rows }: Page): ((row: Message) => boolean) => {
  const there = new Set(rows.map(({ id }) => id))
  const first = full ? (rows[0]?.id ?? 0) : 0
  return ({ id }) => !earlier && id >= first && id <= known && !there.has(id)
}

export const paged = (state: State, page: Page): State => {
  if (page.id !== state.current) return state
  const isGone = isTakenBack(page)
  const gone = new Set(state.rows.filter(isGone).map(({ turnId }) => turnId))
  const left = state.rows.filter((row) => !isGone(row))
  const rows = page.earlier ? merged(left, page.rows) : withNewest(left, page.rows, page.full)
  for (const { turnId } of rows) gone.delete(turnId)
  const isFirst = page.earlier || rows[0]?.id === page.rows[0]?.id
  return {
    ...state,
    loading: false,
    more: isFirst ? page.full : state.more,
    rows,
    turns: state.turns
      .map((turn) => (turn.sessionId === page.id ? withRows(turn, rows) : turn))
      .filter((turn) => turn.outcome === null || turn.sessionId !== page.id || (turn.whole && !gone.has(turn.turnId))),
    asides: pinned(withoutStored(state.asides, page.id, page.rows), page.id, rows.at(-1)?.id ?? 0)
  }
}

const rowOf = (event: Extract<Event, { readonly _tag: "message.stored" }>): Message => ({
  id: event.messageId,
  at: new Date(event.at).toISOString(),
  turnId: event.turnId ?? null,
  role: event.role === "user" || event.role === "tool" ? event.role : "assistant",
  text: event.text,
  reasoning: null,
  toolCalls: [],
  finishReason: null,
  callId: null,
  tool: null,
  disposition: null,
  files: []
})

/** A row was stored: in the shown conversation it is shown, in another it is a mark on it. */
export const stored = (state: State, event: Extract<Event, { readonly _tag: "message.stored" }>): State => {
  const row = rowOf(event)
  const asides = withoutStored(state.asides, event.sessionId, [row])
  if (event.sessionId !== state.current) {
    const sessions =
      row.role === "user"
        ? state.sessions
        : state.sessions.map((session) => (session.id === event.sessionId ? { ...session, unread: true } : session))
    return { ...state, asides, sessions }
  }
  // Told again when it reached its page: it was said before that.
  const said = state.rows.find(({ id }) => id === row.id)?.at ?? row.at
  return { ...state, asides, rows: merged(state.rows, [{ ...row, at: said }]) }
}
