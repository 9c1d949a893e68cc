/**
 * The decoded rows of the transcripts that were read last. What was decoded stays true as long as nothing but appending
 * was done to the session's rows, which its revision tells; and as long as it is the same session, which the newest of
 * them tells: no id is given twice. Without it each turn of a long conversation decodes all of it again, which costs more
 * than the rest of the turn.
 */
import type { LiveRows, StoredMessage } from "../../services/session/Transcript.js"

/**
 * Rows of all sessions together, and their text in UTF-16 units: some forty megabytes at most. Where the conversations
 * that go on at once do not fit, each turn finds its own forgotten, and takes twice the time (bench/).
 */
const mostRows = 100_000
const mostText = 8_000_000

export interface Remembered extends LiveRows {
  /** The greatest: a summary's is greater than those of rows that stand after it. */
  readonly lastId: number
  /** Of the session's transcript, when its rows were read. */
  readonly revision: number
  readonly text: number
}

const lengthOf = ({ message }: StoredMessage): number =>
  message._tag === "assistant"
    ? message.toolCalls.reduce(
        (sum, call) => sum + call.arguments.length,
        message.text.length + (message.reasoning?.length ?? 0)
      )
    : message.text.length

/** `live` are those of `known` and the fresh ones, in whatever order. */
const remembered = (
  revision: number,
  live: LiveRows,
  known: Remembered | null,
  fresh: ReadonlyArray<StoredMessage>
): Remembered => {
  let lastId = known?.lastId ?? 0
  let text = known?.text ?? 0
  for (const row of fresh) {
    lastId = Math.max(lastId, row.id)
    text += lengthOf(row)
  }
  return { ...live, lastId, revision, text }
}

export interface TranscriptMemory {
  readonly get: (sessionId: string) => Remembered | null
  /** `live`: all that are, `fresh` those of them that `known` has not. Forgets what was kept longest ago where there is too much. */
  readonly keep: (
    sessionId: string,
    revision: number,
    live: LiveRows,
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
    rowsHeld -= old.rows.length
    textHeld -= old.text
  }

  return {
    get: (sessionId) => sessions.get(sessionId) ?? null,
    keep: (sessionId, revision, live, known = null, fresh = live.rows) => {
      forget(sessionId)
      if (live.rows.length === 0) return
      const entry = remembered(revision, live, known, fresh)
      if (entry.rows.length > mostRows || entry.text > mostText) return
      sessions.set(sessionId, entry)
      rowsHeld += entry.rows.length
      textHeld += entry.text
      for (const oldest of sessions.keys()) {
        if (rowsHeld <= mostRows && textHeld <= mostText) return
        forget(oldest)
      }
    }
  }
}
