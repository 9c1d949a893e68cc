import { Effect } from "effect"
import type { StateError } from "../../services/state/StateError.js"

/** What a little time, or somebody's hand, mends. */
const passes: ReadonlySet<string> = new Set<StateError["_tag"]>(["StateLocked", "StateDiskFull", "StateUnknown"])
const firstPauseMillis = 1_000
const longestPauseMillis = 15_000
/** After that the next start goes on with it. */
const patienceMillis = 900_000

/**
 * Goes on trying to store something while the database can take nothing (a full disk, a foreign lock); in between it can
 * be interrupted. Fails as `step` does, at once with what no time mends, else after a quarter of an hour.
 */
export const persistently = <A, E extends { readonly _tag: string }>(
  what: string,
  step: Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const again = (pauseMillis: number, leftMillis: number): Effect.Effect<A, E> =>
    Effect.catchAll(step, (error) =>
      passes.has(error._tag) && leftMillis > 0
        ? Effect.logWarning(`${what} could not be stored; it is tried again`, error).pipe(
            Effect.zipRight(Effect.interruptible(Effect.sleep(pauseMillis))),
            Effect.zipRight(
              Effect.suspend(() => again(Math.min(2 * pauseMillis, longestPauseMillis), leftMillis - pauseMillis))
            )
          )
        : Effect.fail(error)
    )
  return again(firstPauseMillis, patienceMillis)
}
