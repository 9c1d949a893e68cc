/** Housekeeping that is done about once a day. */
import { type Duration, Effect } from "effect"

/**
 * Does `task` for ever: `firstAfter` the start, which is no time for it, and then each time a day and as long after the
 * last. A failure is logged with `trouble`, and is no end of it.
 */
export const repeated = <E, R>(
  task: Effect.Effect<unknown, E, R>,
  { firstAfter, trouble }: { readonly firstAfter: Duration.DurationInput; readonly trouble: string }
): Effect.Effect<never, never, R> =>
  task.pipe(
    Effect.catchAll((error) => Effect.logWarning(`${trouble}; it is tried again tomorrow`, error)),
    Effect.delay(firstAfter),
    Effect.zipRight(Effect.sleep("1 day")),
    Effect.forever
  )
