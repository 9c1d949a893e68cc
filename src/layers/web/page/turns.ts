/** Turns as they run: their words, tools and helpers in the order in which they happen, from nothing but events. Pure. */
import type { Event, Message, SentFile } from "./gateway.js"

export interface Words {
  readonly kind: "words"
  readonly text: string
  /** It was not the answer: other words take its place, a tool keeps it. */
  readonly cut: boolean
}

export type ToolState = "running" | "ok" | "failed" | "stopped"

export interface Tool {
  readonly kind: "tool"
  readonly callId: string
  readonly tool: string
  readonly preview: string
  readonly state: ToolState
  readonly result: string
  /** What the person said while it ran, and the agent read with its result. */
  readonly told: Told
}

export type Told = NonNullable<Message["told"]>

export const nothingTold: Told = []

export interface Helper {
  readonly kind: "helper"
  readonly delegationId: string
  readonly turnId: string
  readonly goal: string
  /** It works on when its turn has ended. */
  readonly background: boolean
  /** `working`, then how it ended: `completed`, `interrupted`, `error`. */
  readonly status: string
  readonly parts: ReadonlyArray<Part>
}

/** What was sent along with the words. */
export interface Files {
  readonly kind: "files"
  readonly files: ReadonlyArray<SentFile>
}

export type Part = Words | Tool | Helper | Files

export interface LiveTurn {
  readonly turnId: string
  readonly sessionId: string
  readonly sessionKey: string
  /** How it ended; null while it runs. */
  readonly outcome: string | null
  /** Seen from its beginning: the parts are all there are. Else its earlier ones are in the transcript. */
  readonly whole: boolean
  /** Epoch milliseconds; of a turn that is resumed, when it was. */
  readonly startedAt: number
  /** The last row that was there when it began. */
  readonly after: number
  readonly parts: ReadonlyArray<Part>
}

type Parts = ReadonlyArray<Part>
type Edit = (parts: Parts) => Parts

const words = (text: string): Words => ({ kind: "words", text, cut: false })

/** A list whose every element may change; itself when none did. */
const mapped = <A>(list: ReadonlyArray<A>, edit: (item: A) => A): ReadonlyArray<A> => {
  const edited = list.map(edit)
  return edited.every((item, index) => item === list[index]) ? list : edited
}

/** Edits the parts of the helper whose own turn this is, however deep it is. */
const inHelper = (parts: Parts, turnId: string, edit: Edit): Parts =>
  mapped(parts, (part) => {
    if (part.kind !== "helper") return part
    const inner = part.turnId === turnId ? edit(part.parts) : inHelper(part.parts, turnId, edit)
    return inner === part.parts ? part : { ...part, parts: inner }
  })

/** Does something work on behind a turn that has ended? */
const worksOn = (parts: Parts): boolean =>
  parts.some((part) => part.kind === "helper" && part.background && part.status === "working")

/** Edits the parts of a turn that runs, a conversation's or a helper's. */
export const within = (turns: ReadonlyArray<LiveTurn>, turnId: string, edit: Edit): ReadonlyArray<LiveTurn> =>
  mapped(turns, (turn) => {
    if (turn.outcome !== null && !worksOn(turn.parts)) return turn
    const parts = turn.turnId === turnId ? edit(turn.parts) : inHelper(turn.parts, turnId, edit)
    return parts === turn.parts ? turn : { ...turn, parts }
  })

const hasTurn = (parts: Parts, turnId: string): boolean =>
  parts.some((part) => part.kind === "helper" && (part.turnId === turnId || hasTurn(part.parts, turnId)))

export const isKnown = (turns: ReadonlyArray<LiveTurn>, turnId: string): boolean =>
  turns.some((turn) => turn.turnId === turnId || hasTurn(turn.parts, turnId))

const withoutCut = (parts: Parts): Parts => {
  const last = parts.at(-1)
  return last?.kind === "words" && last.cut ? parts.slice(0, -1) : parts
}

const kept = (parts: Parts): Parts =>
  mapped(parts, (part) => (part.kind === "words" && part.cut ? { ...part, cut: false } : part))

const said =
  (text: string): Edit =>
  (parts) => {
    const last = parts.at(-1)
    return last?.kind === "words" && !last.cut
      ? [...parts.slice(0, -1), words(last.text + text)]
      : [...withoutCut(parts), words(text)]
  }

const cutOff: Edit = (parts) => {
  const last = parts.at(-1)
  return last?.kind === "words" && !last.cut ? [...parts.slice(0, -1), { ...last, cut: true }] : parts
}

/** What was said last was thought, and is not shown. */
const takenBack: Edit = (parts) => {
  const last = parts.at(-1)
  return last?.kind === "words" && !last.cut ? parts.slice(0, -1) : parts
}

const changeTool =
  (callId: string, edit: (tool: Tool) => Tool): Edit =>
  (parts) =>
    mapped(parts, (part) => (part.kind === "tool" && part.callId === callId ? edit(part) : part))

const began =
  (tool: Tool): Edit =>
  (parts) =>
    parts.some((part) => part.kind === "tool" && part.callId === tool.callId)
      ? changeTool(tool.callId, () => tool)(parts)
      : [...kept(parts), tool]

const settled =
  (tool: Tool): Edit =>
  (parts) =>
    parts.some((part) => part.kind === "tool" && part.callId === tool.callId)
      ? changeTool(tool.callId, (known) =>
          // Of one whose row is there already an event tells less.
          known.state === "running" ? { ...known, state: tool.state, result: tool.result } : known
        )(parts)
      : [...kept(parts), tool]

const helped =
  (helper: Helper): Edit =>
  (parts) =>
    parts.some((part) => part.kind === "helper" && part.delegationId === helper.delegationId)
      ? parts
      : [...kept(parts), helper]

const helperEnded =
  (delegationId: string, status: string): Edit =>
  (parts) =>
    mapped(parts, (part) =>
      part.kind === "helper" && part.delegationId === delegationId
        ? { ...part, status, parts: stopped(part.parts) }
        : part
    )

const answerBegins = "The answer: "

/** What the person answered in the middle of the turn: no row of its own, and theirs all the same. */
export const answerOf = ({ result, state, tool }: Tool): string | null =>
  tool === "clarify" && state === "ok" && result.startsWith(answerBegins) ? result.slice(answerBegins.length) : null

/** Nothing runs any more. */
export const stopped: Edit = (parts) =>
  mapped(parts, (part) => {
    if (part.kind === "tool") return part.state === "running" ? { ...part, state: "stopped" } : part
    if (part.kind === "words" || part.kind === "files") return part
    if (part.background) return part
    const inner = stopped(part.parts)
    const status = part.status === "working" ? "interrupted" : part.status
    return inner === part.parts && status === part.status ? part : { ...part, status, parts: inner }
  })

/** The answer as it was stored takes the place of its stream. */
const answered =
  (text: string): Edit =>
  (parts) => {
    if (text === "") return kept(parts)
    const last = parts.at(-1)
    if (last?.kind === "words" && last.text === text && !last.cut) return parts
    return [...(last?.kind === "words" ? parts.slice(0, -1) : parts), words(text)]
  }

type TurnEvent = Extract<Event, { readonly turnId: string }>

const tool = (event: Extract<Event, { readonly _tag: "tool.started" | "tool.settled" }>): Tool => ({
  kind: "tool",
  callId: event.callId,
  tool: event.tool,
  preview: event._tag === "tool.started" ? event.preview : "",
  state: event._tag === "tool.started" ? "running" : toolState(event.ok ? "ok" : (event.disposition ?? "error")),
  result: event._tag === "tool.settled" ? event.preview : "",
  told: nothingTold
})

const editOf = (event: TurnEvent): Edit | null => {
  switch (event._tag) {
    case "text.delta":
      return said(event.text)
    case "text.segment":
      return event.unsaid === true ? takenBack : cutOff
    case "tool.started":
      return began(tool(event))
    case "tool.settled":
      return settled(tool(event))
    case "delegate.started":
      return helped({
        kind: "helper",
        delegationId: event.delegationId,
        turnId: event.childTurnId,
        goal: event.goal,
        background: event.background ?? false,
        status: "working",
        parts: []
      })
    case "delegate.ended":
      return helperEnded(event.delegationId, event.status)
    default:
      return null
  }
}

/** What an event does to the turns that are known. */
export const told = (turns: ReadonlyArray<LiveTurn>, event: TurnEvent): ReadonlyArray<LiveTurn> => {
  const edit = editOf(event)
  return edit === null ? turns : within(turns, event.turnId, edit)
}

/** A turn that has ended; nothing that comes later changes how. */
export const ended = (turn: LiveTurn, outcome: string, text: string): LiveTurn =>
  turn.outcome === null ? { ...turn, outcome, parts: answered(text)(stopped(turn.parts)) } : turn

/** The results of the tools as the transcript has them: whole, where events tell their beginning. */
export const withRows = (turn: LiveTurn, rows: ReadonlyArray<Message>): LiveTurn => {
  const own = rows.filter((row) => row.turnId === turn.turnId)
  if (own.length === 0) return turn
  const results = new Map(own.flatMap((row) => (row.role === "tool" && row.callId !== null ? [[row.callId, row]] : [])))
  const parts = mapped(turn.parts, (part) => {
    const row = part.kind === "tool" ? results.get(part.callId) : undefined
    const told = row?.told ?? nothingTold
    return part.kind !== "tool" || row === undefined || (row.text === part.result && told.length === part.told.length)
      ? part
      : { ...part, state: toolState(row.disposition), result: row.text, told }
  })
  const whole = turn.whole && !own.some((row) => row.role !== "user" && Date.parse(row.at) < turn.startedAt)
  return whole === turn.whole && parts === turn.parts ? turn : { ...turn, whole, parts }
}

export const toolState = (disposition: string | null): ToolState =>
  disposition === "ok"
    ? "ok"
    : disposition === "refused" || disposition === "cancelled" || disposition === "skipped"
      ? "stopped"
      : "failed"
