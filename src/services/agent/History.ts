/**
 * From transcript rows to what a model is sent (state-agent.md 3.2 step 6, 3.4): one result per call and in call order,
 * nothing that would break the alternation of roles. Pure, so that the same rows always make the same bytes.
 */
import * as Nesting from "../operation/Nesting.js"
import * as SummaryText from "../session/SummaryText.js"
import {
  type LiveRows,
  liveRows,
  type Message,
  type StoredMessage,
  type Summary,
  type ToolCallPart
} from "../session/Transcript.js"

type AssistantMessage = Extract<Message, { readonly _tag: "assistant" }>
type ToolMessage = Extract<Message, { readonly _tag: "tool" }>

const lostResult = (call: ToolCallPart): ToolMessage => ({
  _tag: "tool",
  callId: call.id,
  tool: call.name,
  text: "No result of this call was recorded. It may have run: check before you repeat it.",
  disposition: "unknown"
})

const mergeUsers = (first: Message, second: Message): Message | null =>
  first._tag === "user" && second._tag === "user"
    ? {
        ...second,
        text: `${first.text}\n\n${second.text}`,
        ...(first.media === undefined && second.media === undefined
          ? {}
          : { media: [...(first.media ?? []), ...(second.media ?? [])] })
      }
    : null

/** The rows of a transcript with those of one turn at their end, from `first` on. */
export interface TurnLast extends LiveRows {
  readonly first: number
}

/**
 * The rows of a transcript with those of one turn last: what a job or another chat left here while the turn runs is
 * something that was said before, not what the turn is to answer. The same rows where nothing has to move. `since`: no row
 * before this place is the turn's.
 */
export const turnLast = (live: LiveRows, turnId: string, since = 0): TurnLast => {
  const { rows } = live
  let begin = rows.length
  let own = 0
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]
    if (row === undefined || row.position < since) break
    if (row.turnId !== turnId) continue
    begin = index
    own += 1
  }
  const first = rows.length - own
  if (begin === first) return { ...live, first }
  const moved = [
    ...rows.slice(0, begin),
    ...rows.slice(begin).filter((row) => row.turnId !== turnId),
    ...rows.slice(begin).filter((row) => row.turnId === turnId)
  ]
  return { ...liveRows(moved), first }
}

/**
 * The rows as a model reads them: results follow their calls in call order, a call without one gets one, results without a
 * call are left out. `rows`: what it reads of each, null where that is nothing.
 */
export const forModel = (rows: ReadonlyArray<Message | Summary | null>): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  const push = (message: Message): void => {
    const last = messages.at(-1)
    const merged = last === undefined ? null : mergeUsers(last, message)
    if (merged === null) messages.push(message)
    else messages[messages.length - 1] = merged
  }
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]
    if (row === undefined || row === null || row._tag === "tool") continue
    if (row._tag === "summary") {
      push({ _tag: "user", text: SummaryText.framed(row.text), platformMessageId: null })
      continue
    }
    push(row)
    if (row._tag === "assistant" && row.toolCalls.length > 0) {
      const results = resultsAfter(rows, index)
      for (const call of row.toolCalls) push(results.get(call.id) ?? lostResult(call))
    }
  }
  return messages
}

const resultsAfter = (
  rows: ReadonlyArray<Message | Summary | null>,
  index: number
): ReadonlyMap<string, ToolMessage> => {
  const results = new Map<string, ToolMessage>()
  for (let next = index + 1; next < rows.length; next++) {
    const row = rows[next]
    if (row === undefined || row === null || row._tag === "assistant") break
    if (row._tag === "tool" && !results.has(row.callId)) results.set(row.callId, row)
  }
  return results
}

/** The calls of the turn's newest answer that have no result yet: what a turn goes on with after a restart. */
export const unanswered = (rows: ReadonlyArray<StoredMessage>, turnId: string): ReadonlyArray<ToolCallPart> => {
  const index = rows.findLastIndex(({ message }) => message._tag === "assistant")
  const row = rows[index]
  if (row === undefined || row.turnId !== turnId || row.message._tag !== "assistant") return []
  const results = resultsAfter(
    rows.map(({ message }) => message),
    index
  )
  return row.message.toolCalls.filter((call) => !results.has(call.id))
}

/** Are the arguments of a call JSON? `cut`: they end in the middle, as when the answer ran into its length limit. */
export const argumentsState = (call: ToolCallPart): "ok" | "cut" | "malformed" => {
  const text = call.arguments.trim()
  if (text === "") return "ok"
  try {
    return Nesting.isTooDeep(JSON.parse(text)) ? "malformed" : "ok"
  } catch {
    return /[}\]]$/.test(text) ? "malformed" : "cut"
  }
}

export type { AssistantMessage }
