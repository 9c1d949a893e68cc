/** After refusals in a row the agent is told to stop, and nobody is asked any more in this turn (gateway.md 5.2, step 7). */
import type { Turn } from "../../fibers/Turn.js"

export interface Breaker {
  /** How many were refused in a row, once it is too many; null while this turn may still ask. */
  readonly tripped: (sessionKey: string, turn: Turn) => number | null
  readonly refused: (sessionKey: string, turn: Turn) => void
  readonly approved: (sessionKey: string) => void
}

interface Count {
  readonly turnId: string
  readonly refusals: number
}

/** Conversations whose refusals are counted; the one that was counted longest ago is forgotten first. */
const mostCounted = 256

/** Trips at `threshold` refusals in a row; 0 never does. A yes or a new turn begins anew, a helper counts for the turn that it works for. */
export const make = (threshold: number): Breaker => {
  const counts = new Map<string, Count>()

  const countOf = (sessionKey: string, turn: Turn): Count | undefined => {
    const count = counts.get(sessionKey)
    return turn.depth === 0 && count?.turnId !== turn.id ? undefined : count
  }

  return {
    tripped: (sessionKey, turn) => {
      const refusals = countOf(sessionKey, turn)?.refusals ?? 0
      return threshold > 0 && refusals >= threshold ? refusals : null
    },
    refused: (sessionKey, turn) => {
      const before = countOf(sessionKey, turn)
      counts.delete(sessionKey)
      counts.set(sessionKey, { turnId: before?.turnId ?? turn.id, refusals: (before?.refusals ?? 0) + 1 })
      if (counts.size <= mostCounted) return
      for (const oldest of counts.keys()) {
        counts.delete(oldest)
        return
      }
    },
    approved: (sessionKey) => void counts.delete(sessionKey)
  }
}

export const stopped = (refusals: number): string =>
  `${refusals} requests in a row were refused, so nothing more is asked in this turn and this was not run. Stop here: do not try another way, and say what you wanted to do.`
