/** What a conversation shows, from top to bottom: the rows of its transcript, and what is known beside them. Pure. */
import { type Aside, places, type Said } from "./asides.js"
import type { Message } from "./gateway.js"
import { delegates, type Helped, helperParts } from "./helped.js"
import { ofRow, type SaidFile } from "./words.js"
import { type LiveTurn, nothingTold, type Part, stopped, type Tool, toolState } from "./turns.js"

export interface TurnBlock {
  readonly kind: "turn"
  readonly key: string
  readonly parts: ReadonlyArray<Part>
  readonly running: boolean
  /** How it ended, as far as it is known. */
  readonly outcome: string | null
  /** When its last words were stored, epoch milliseconds; null while it runs. */
  readonly at: number | null
}

export type Block =
  | {
      readonly kind: "user"
      readonly key: string
      readonly text: string
      readonly files: ReadonlyArray<SaidFile>
      readonly at: number
    }
  | { readonly kind: "said"; readonly key: string; readonly said: Said }
  | { readonly kind: "notice"; readonly key: string; readonly text: string; readonly at: number }
  | { readonly kind: "summary"; readonly key: string; readonly text: string }
  | TurnBlock

/** A block and where it stands: after which row, and in which order with others there. */
interface Placed {
  readonly at: number
  readonly rank: number
  readonly turnId: string | null
  readonly block: Block
}

type Call = Message["toolCalls"][number]

/** The first text among a call's arguments, where its tool cannot say any more what it was about. */
const firstText = (json: string): string => {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value !== "object" || value === null) return ""
    const text = Object.values(value).find((argument) => typeof argument === "string" && argument !== "")
    return typeof text === "string" ? text.replace(/\s+/g, " ").slice(0, 200) : ""
  } catch {
    return ""
  }
}

const previewOf = (call: Call): string => call.preview ?? firstText(call.arguments)

const filesOf = (row: Message): ReadonlyArray<Part> =>
  row.files.length === 0 ? [] : [{ kind: "files", files: row.files }]

/** The parts of a turn's rows. A call without its result is one that runs, or that was left behind. */
const partsOf = (rows: ReadonlyArray<Message>, helped: ReadonlyArray<Helped>): ReadonlyArray<Part> => {
  const results = new Map(rows.flatMap((row) => (row.role === "tool" ? [[row.callId, row]] : [])))
  const called = new Set(rows.flatMap((row) => row.toolCalls.map((call) => call.id)))
  const tool = (callId: string, name: string, preview: string, row: Message | undefined): Tool => ({
    kind: "tool",
    callId,
    tool: name,
    preview,
    state: row === undefined ? "running" : toolState(row.disposition),
    result: row?.text ?? "",
    told: row?.told ?? nothingTold
  })
  return rows.flatMap((row): ReadonlyArray<Part> => {
    if (row.role === "user" || row.role === "summary") return []
    if (row.role === "tool")
      return called.has(row.callId ?? "") ? [] : [tool(row.callId ?? "", row.tool ?? "", "", row)]
    return [
      ...(row.text.trim() === "" ? [] : [{ kind: "words", text: row.text, cut: false } as const]),
      ...row.toolCalls.flatMap((call) => [
        tool(call.id, call.name, previewOf(call), results.get(call.id)),
        ...helperParts(helped, { callId: call.id, turnId: row.turnId }, (own) => partsOf(own, helped))
      ]),
      ...filesOf(row)
    ]
  })
}

const outcomeOf = (rows: ReadonlyArray<Message>): string | null =>
  rows.at(-1)?.finishReason === "interrupted" ? "interrupted" : null

const lastAt = (rows: ReadonlyArray<Message>): number | null => {
  const last = rows.findLast(({ role }) => role === "assistant" || role === "tool")
  return last === undefined ? null : Date.parse(last.at)
}

const personBlock = (key: string, row: Message): Block => {
  const at = Date.parse(row.at)
  // Nobody said it, and its report is for the agent, which tells what matters of it.
  return row.text.startsWith("[Internal event:")
    ? { kind: "notice", key, text: "Work in the background has ended; its report came in.", at }
    : { kind: "user", key, ...ofRow(row.text), at }
}

/** The rows of one turn, or a row of none, with their blocks. */
interface Group {
  readonly rows: ReadonlyArray<Message>
  readonly helped: ReadonlyArray<Helped>
  readonly parts: ReadonlyArray<Part>
  readonly placed: ReadonlyArray<Placed>
}

export type Groups = ReadonlyMap<string, Group>

const groupOf = (key: string, rows: ReadonlyArray<Message>, helped: ReadonlyArray<Helped>): Group => {
  const turnId = rows[0]?.turnId ?? null
  const said = rows.flatMap((row): ReadonlyArray<Placed> => {
    const key = `row ${row.id}`
    if (row.role !== "user" && row.role !== "summary") return []
    const block: Block = row.role === "user" ? personBlock(key, row) : { kind: "summary", key, text: row.text }
    return [{ at: row.id, rank: 0, turnId, block }]
  })
  const parts = partsOf(rows, helped)
  const [first] = rows
  if (first === undefined || parts.length === 0) return { rows, helped, parts, placed: said }
  const block: Block = {
    kind: "turn",
    key,
    parts: stopped(parts),
    running: false,
    outcome: outcomeOf(rows),
    at: lastAt(rows)
  }
  return { rows, helped, parts, placed: [...said, { at: first.id, rank: 1, turnId, block }] }
}

const isSame = (a: ReadonlyArray<Message>, b: ReadonlyArray<Message>): boolean =>
  a.length === b.length && a.every((row, index) => row === b[index])

/** The transcript's own blocks: made when its rows change and not with every word, and the same ones where nothing did. */
export const fromRows = (rows: ReadonlyArray<Message>, helped: ReadonlyArray<Helped>, before: Groups): Groups => {
  const byTurn = new Map<string, Array<Message>>()
  for (const row of rows) {
    const key = row.turnId ?? `row ${row.id}`
    const group = byTurn.get(key)
    if (group === undefined) byTurn.set(key, [row])
    else group.push(row)
  }
  return new Map(
    [...byTurn].map(([key, own]) => {
      const known = before.get(key)
      const isKnown = known !== undefined && isSame(known.rows, own) && (known.helped === helped || !delegates(own))
      return [key, isKnown ? known : groupOf(key, own, helped)]
    })
  )
}

const isIn = (part: Part, parts: ReadonlyArray<Part>): boolean =>
  parts.some((known) =>
    part.kind === "tool"
      ? known.kind === "tool" && known.callId === part.callId
      : part.kind === "helper"
        ? known.kind === "helper" && known.delegationId === part.delegationId
        : part.kind === "words" && known.kind === "words" && known.text === part.text
  )

/** A turn that was not seen from its beginning: what the transcript has of it, and what was seen since. */
const joined = (stored: ReadonlyArray<Part>, live: ReadonlyArray<Part>): ReadonlyArray<Part> => {
  // Words before a tool that is stored are stored too, and whole.
  const from = live.findLastIndex((part) => part.kind === "tool" && isIn(part, stored)) + 1
  return [
    ...stored.map((part) => {
      if (part.kind === "helper") return live.find((other) => isIn(other, [part])) ?? part
      const seen = live.find((other) => part.kind === "tool" && other.kind === "tool" && other.callId === part.callId)
      return part.kind === "tool" && part.state === "running" && seen?.kind === "tool"
        ? { ...part, state: seen.state, result: seen.result }
        : part
    }),
    ...live.filter((part, index) => (part.kind === "helper" || index >= from) && !isIn(part, stored))
  ]
}

const live = (turn: LiveTurn, group: Group | undefined): Block => {
  const stored = group?.parts ?? []
  return {
    kind: "turn",
    key: turn.turnId,
    parts: turn.whole
      ? [...turn.parts, ...(group?.rows ?? []).flatMap(filesOf)]
      : joined(turn.outcome === null ? stored : stopped(stored), turn.parts),
    running: turn.outcome === null,
    outcome: turn.outcome,
    at: turn.outcome === null ? null : lastAt(group?.rows ?? [])
  }
}

/** The conversation with its turns as they run and what no row holds. */
export const compose = (
  groups: Groups,
  turns: ReadonlyArray<LiveTurn>,
  asides: ReadonlyArray<Aside>
): ReadonlyArray<Block> => {
  const own = new Set(turns.map((turn) => turn.turnId))
  const stored = [...groups.values()].flatMap(({ placed }) =>
    placed.filter((item) => item.block.kind !== "turn" || item.turnId === null || !own.has(item.turnId))
  )
  const running = turns.map((turn): Placed => {
    const group = groups.get(turn.turnId)
    return { at: group?.rows[0]?.id ?? turn.after, rank: 1, turnId: turn.turnId, block: live(turn, group) }
  })
  const at = places(asides)
  const beside = asides.map((aside, index): Placed => ({
    at: at[index] ?? aside.after,
    rank: 2,
    turnId: null,
    block:
      aside.kind === "said"
        ? { kind: "said", key: aside.id, said: aside }
        : { kind: "notice", key: aside.id, text: aside.text, at: aside.at }
  }))
  return [...stored, ...running, ...beside].sort((a, b) => a.at - b.at || a.rank - b.rank).map((item) => item.block)
}
