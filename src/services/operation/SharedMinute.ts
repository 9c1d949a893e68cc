import { Clock, Effect } from "effect"

const minuteMillis = 60_000
/** Jobs are due at full minutes, and nothing is to be in their way. */
const pastTheMinute = 30_000
/** A timer may ring a little early: what has just been looked at is not looked at again. */
const earlyMillis = 1_000

/**
 * Milliseconds until everything that is looked at about once a minute is looked at next, together: each wake-up of a
 * process that rests costs more than the look. About a minute at most.
 */
export const untilNext = (now: number): number => {
  const since = (((now - pastTheMinute) % minuteMillis) + minuteMillis) % minuteMillis
  const left = minuteMillis - since
  return left < earlyMillis ? left + minuteMillis : left
}

export const wait: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, untilNext)
