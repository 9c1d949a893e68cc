/**
 * The decoded rows of the transcripts that were read last. A row never changes once it is written, it only stops being
 * live; so what was decoded stays true while the same rows are live, which their count and the sum of their ids tell.
 * Without it each turn of a long conversation decodes all of it again, which costs more than the rest of the turn.
 */
import type { StoredMessage } from "../../services/session/Transcript.js"

/** Rows of all sessions together, and their text in UTF-16 units: some megabytes at most. */
const mostRows = 20_000
const mostText = 2_000_000

export interface Remembered {
  readonly rows: ReadonlyArray<StoredMessage>
  readonly count: number
  /** The greatest: a summary's is greater than those of rows that stand after it. */
  readonly lastId: number
  /** Of the ids. */
  readonly sum: number
  readonly text: number
}

const lengthOf = ({ message }: StoredMessage): number =>
  message._tag === "assistant"
    ? message.toolCalls.reduce(
        (sum, call) => sum + call.arguments.length,
        message.text.length + (message.reasoning?.length ?? 0)
      )
    : message.text.length

const nothing: Remembered = { rows: [], count: 0, lastId: 0, sum: 0, text: 0 }

/** `rows` are those of `known` and the fresh ones, in whatever order. */
const remembered = (
  known: Remembered,
  fresh: ReadonlyArray<StoredMessage>,
  rows: ReadonlyArray<StoredMessage>
): Remembered => {
  let { lastId, sum, text } = known
  for (const row of fresh) {
    lastId = Math.max(lastId, row.id)
    sum += row.id
    text += lengthOf(row)
  }
  return { rows, count: known.count + fresh.length, lastId, sum, text }
}

export interface TranscriptMemory {
  readonly get: (sessionId: string) => Remembered | null
  /** `rows`: all that are live, `fresh` those of them that `known` has not. Forgets what was kept longest ago where there is too much. */
  readonly keep: (
    sessionId: string,
    rows: ReadonlyArray<StoredMessage>,
    known?: Remembered | null,
    fresh?: ReadonlyArray<StoredMessage>
  ) => void
}

export const makeTranscriptMemory = (): TranscriptMemory => {
  const sessions = new Map<string, Remembered>()
  let rowsHeld = 0
  let textHeld = 0

  const forget = (sessionId: string): void => {
    const old = sessions.get(sessionId)
    if (old === undefined) return
    sessions.delete(sessionId)
    rowsHeld -= old.count
    textHeld -= old.text
  }

  return {
    get: (sessionId) => sessions.get(sessionId) ?? null,
    keep: (sessionId, rows, known = null, fresh = rows) => {
      forget(sessionId)
      const entry = remembered(known ?? nothing, fresh, rows)
      if (entry.count > mostRows || entry.text > mostText) return
      sessions.set(sessionId, entry)
      rowsHeld += entry.count
      textHeld += entry.text
      for (const oldest of sessions.keys()) {
        if (rowsHeld <= mostRows && textHeld <= mostText) return
        forget(oldest)
      }
    }
  }
}
