/** Messages of a conversation whose turns have not begun, first the one that is next (gateway.md 3.4). */
import type { InboxEntry } from "../../services/conversation/Inbox.js"

export interface WaitingLine {
  /** How many wait. */
  readonly length: () => number
  /** Waits behind all others; answers its place, from 1. */
  readonly push: (entry: InboxEntry) => number
  /** As {@link push}, and lets what comes later go first: what `/queue` put there. */
  readonly pushYielding: (entry: InboxEntry) => number
  /** Waits behind what came earlier and before what yields; answers its place. */
  readonly insert: (entry: InboxEntry) => number
  /** Takes the first out. */
  readonly shift: () => InboxEntry | undefined
  /** Takes all out, in order. */
  readonly clear: () => ReadonlyArray<InboxEntry>
}

export const make = (): WaitingLine => {
  const waiting: Array<InboxEntry> = []
  const yielding = new WeakSet<InboxEntry>()
  return {
    length: () => waiting.length,
    push: (entry) => waiting.push(entry),
    pushYielding: (entry) => {
      yielding.add(entry)
      return waiting.push(entry)
    },
    insert: (entry) => {
      const earlier = waiting.findLastIndex((other) => !yielding.has(other) && other.sequence < entry.sequence)
      waiting.splice(earlier + 1, 0, entry)
      return earlier + 2
    },
    shift: () => waiting.shift(),
    clear: () => waiting.splice(0)
  }
}
