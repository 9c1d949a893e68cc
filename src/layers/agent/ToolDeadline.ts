import { Clock, Effect } from "effect"

/** The time that the calls of a segment have, not counting what they wait for a person (state-agent.md 3.4). */
export interface ToolDeadline {
  /** A person is being asked on behalf of this call: the clock stands still. */
  readonly pause: (callId: string) => Effect.Effect<void>
  readonly resume: (callId: string) => Effect.Effect<void>
  /** Succeeds when the time is used up. */
  readonly passed: Effect.Effect<void>
}

/** Looks this often while the clock stands still. */
const checkMillis = 1_000

/** A deadline that begins now. */
export const make = (limitMillis: number): Effect.Effect<ToolDeadline> =>
  Effect.map(Clock.currentTimeMillis, (startedAt) => {
    const waiting = new Set<string>()
    let waitedMillis = 0
    let pausedAt = 0

    const left = (now: number): number =>
      limitMillis - (now - startedAt - waitedMillis - (waiting.size > 0 ? now - pausedAt : 0))

    const passed: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const rest = left(now)
      return rest <= 0 ? Effect.void : Effect.zipRight(Effect.sleep(Math.max(rest, checkMillis)), passed)
    })

    return {
      pause: (callId) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          if (waiting.size === 0) pausedAt = now
          waiting.add(callId)
        }),
      resume: (callId) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          if (waiting.delete(callId) && waiting.size === 0) waitedMillis += now - pausedAt
        }),
      passed
    }
  })
