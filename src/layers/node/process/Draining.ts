/** Reading on after a command has ended: what it started may still hold its pipe. */
import { Clock, Effect, Option } from "effect"

/**
 * The pipe is read on until this many looks in a row found nothing new, and this many in all. Looks rather than one long
 * pause: on a busy machine a timer can fire before what waits in the pipe was read.
 */
const stepMillis = 20
const quietLooks = 8
const mostLooks = 100

/** Waits until nobody can write any more, or nothing comes. False when something still holds the pipe. */
export const drain = (pipe: {
  /** Bytes that have come so far. */
  readonly total: () => number
  readonly closed: Effect.Effect<void>
}): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    let quiet = 0
    for (let looks = 0; looks < mostLooks && quiet < quietLooks; looks++) {
      const before = pipe.total()
      if (Option.isSome(yield* Effect.timeoutOption(pipe.closed, stepMillis))) return true
      quiet = pipe.total() === before ? quiet + 1 : 0
    }
    return false
    // A pipe does not follow a test's clock.
  }).pipe(Effect.withClock(Clock.make()))
