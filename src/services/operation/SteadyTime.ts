import { Clock, Effect } from "effect"

/**
 * Milliseconds on a clock that nobody sets, of no meaning outside this process. What waits inside it waits by this one:
 * by the wall's it would wait as much longer as that is set back.
 */
export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos / 1_000_000n))
