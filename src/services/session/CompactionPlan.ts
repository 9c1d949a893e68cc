/**
 * Which rows of a transcript a compaction takes out, and when it is time for one (state-agent.md 3.12). Pure.
 *
 * What stays: the first rows, the newest message of a person, and the last rows as far as they fit. A call and its
 * results are never parted. What goes is one run of rows but for that one message, and the summary takes its place.
 */
import * as TodoList from "../agent/TodoList.js"
import * as TokenCount from "./TokenCount.js"
import type { StoredMessage } from "./Transcript.js"

export interface CompactionLimits {
  /** Share of the context window from which on a conversation is compacted. */
  readonly threshold: number
  /** Tokens from which on it is compacted in any case. */
  readonly thresholdTokens: number
  /** Rows at the beginning that always stay. */
  readonly protectFirst: number
  /** Rows at the end that stay, as far as they fit. */
  readonly protectLast: number
}

const largeWindow = 512_000
const leastShareOfSmall = 0.75

/** As many rows are compacted however short they are. */
export const mostRows = 5_000

/** The number of tokens from which on a conversation is compacted. A small window is used further, or there is never room to work. */
export const dueAt = (contextWindow: number, limits: CompactionLimits): number =>
  Math.min(
    limits.thresholdTokens,
    Math.floor(
      contextWindow * (contextWindow < largeWindow ? Math.max(leastShareOfSmall, limits.threshold) : limits.threshold)
    )
  )

/** What the last rows may cost: 2.5 % of the window, from 10,000 to 25,000 tokens, and never more than a fifth of it. */
const tailTokens = (contextWindow: number): number =>
  Math.min(contextWindow * 0.2, Math.min(25_000, Math.max(10_000, contextWindow * 0.025)))

export interface CompactionPlan {
  /** In order; live when they were read. */
  readonly compacted: ReadonlyArray<StoredMessage>
  /** Where the summary goes: the place of one of the rows that go. */
  readonly position: number
  /** The summary of an earlier compaction, which the new one takes in. */
  readonly earlier: string | null
  readonly tokensBefore: number
  readonly tokensCompacted: number
}

/** Fewer rows than this are not worth a summary. */
const leastRows = 4

const startsGroup = (row: StoredMessage | undefined): boolean => row === undefined || row.message._tag !== "tool"

/** The first index of the rows that stay at the end. */
const tailStart = (rows: ReadonlyArray<StoredMessage>, last: number, budget: number): number => {
  let start = rows.length
  let tokens = 0
  while (start > 0) {
    // One group at a time: a call goes with its results.
    let next = start - 1
    while (next > 0 && !startsGroup(rows[next])) next--
    tokens += TokenCount.ofRows(rows.slice(next, start))
    if (start < rows.length && (tokens > budget || rows.length - next > last)) break
    start = next
  }
  return start
}

/** What stays at the beginning: never a summary, and no call without its results. */
const headEnd = (rows: ReadonlyArray<StoredMessage>, first: number): number => {
  const summary = rows.findIndex(({ message }) => message._tag === "summary")
  let end = Math.min(first, summary === -1 ? rows.length : summary)
  while (end > 0 && !startsGroup(rows[end])) end--
  const lastOfHead = rows[end - 1]?.message
  return lastOfHead?._tag === "assistant" && lastOfHead.toolCalls.length > 0 ? end - 1 : end
}

/**
 * The rows that go, and where their summary stands; null when there is too little to take out. `pressure` above 1
 * lets less of the end stay: the model has refused what the last compaction left.
 */
export const plan = (
  rows: ReadonlyArray<StoredMessage>,
  contextWindow: number,
  limits: CompactionLimits,
  pressure = 1
): CompactionPlan | null => {
  const start = headEnd(rows, limits.protectFirst)
  const end = tailStart(
    rows,
    Math.max(1, Math.floor(limits.protectLast / pressure)),
    tailTokens(contextWindow) / pressure
  )
  if (end <= start) return null
  const newest = rows.findLast(({ message }) => message._tag === "user")
  const compacted = rows.slice(start, end).filter((row) => row !== newest)
  if (compacted.length < leastRows) return null
  // Before the newest message of a person, which governs; behind everything when nothing that goes stood before it.
  const before = newest === undefined ? undefined : compacted.findLast((row) => row.position < newest.position)
  const earlier = compacted.find(({ message }) => message._tag === "summary")?.message.text
  return {
    compacted,
    position: (before ?? compacted.at(-1))?.position ?? 0,
    earlier: earlier === undefined ? null : TodoList.withoutReminder(earlier),
    tokensBefore: TokenCount.ofRows(rows),
    tokensCompacted: TokenCount.ofRows(compacted)
  }
}
