import { Clock, Effect } from "effect"

/** Runs `self` on the test's clock with a wall that can be set, as a person sets a machine's clock: time goes on beside it. */
export const withWall = <A, E, R>(
  self: (set: (millis: number) => Effect.Effect<void>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.clock, (clock) => {
    let shift = 0
    const unsafeCurrentTimeMillis = () => clock.unsafeCurrentTimeMillis() + shift
    const wall: Clock.Clock = Object.assign(Object.create(clock), {
      unsafeCurrentTimeMillis,
      currentTimeMillis: Effect.sync(unsafeCurrentTimeMillis)
    })
    return Effect.withClock(
      self((millis) => Effect.sync(() => void (shift += millis))),
      wall
    )
  })
