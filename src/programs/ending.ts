/** How long a program that was told to end may take. */
import { type Exit, Effect, Scope } from "effect"

/** What ends later than this is ended by the end of the process (decisions, "One number each": 35 s at the latest). */
export const latest = "34 seconds"

/**
 * Runs what holds resources for as long as a scope, and closes it within `latest`.
 *
 * @returns what it came to, and whether the scope was still closing when its time was up: something of it runs on then,
 *   and only the end of the process ends it. Everything acknowledged is stored, as before a `kill -9`.
 */
export const scoped = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<{ readonly value: A; readonly late: boolean }, E, Exclude<R, Scope.Scope>> =>
  Effect.suspend(() => {
    let late = false
    const close = (scope: Scope.CloseableScope, exit: Exit.Exit<unknown, unknown>) =>
      Effect.raceFirst(
        Effect.interruptible(Effect.disconnect(Scope.close(scope, exit))),
        Effect.interruptible(Effect.sleep(latest)).pipe(
          Effect.zipRight(
            Effect.sync(() => {
              late = true
            })
          )
        )
      )
    return Effect.acquireUseRelease(Scope.make(), (scope) => Scope.extend(self, scope), close).pipe(
      Effect.map((value) => ({ value, late }))
    )
  })
