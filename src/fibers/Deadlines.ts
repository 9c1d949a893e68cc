/**
 * Waits that hardly ever run out, watched by one worker: a fiber that sleeps beside each call costs more than most of
 * what the call does itself.
 */
import { Effect, FiberId, Queue, type Scope } from "effect"
import * as Transient from "./internal/transient.js"
import * as Turn from "./Turn.js"

interface Deadline {
  readonly at: number
  readonly expire: () => void
}

export interface Deadlines {
  /** Calls `expire` after so long, unless what this answers is called before. */
  readonly after: (millis: number, expire: () => void) => () => void
  /**
   * What `self` comes to if it does within so long, else `late`. It runs in a fiber of its own, with all that the asking
   * one has; interrupted, or late, it is told to end and not waited for.
   */
  readonly within: (
    millis: number
  ) => <A, E, A2, E2, R>(
    self: Effect.Effect<A, E, R>,
    late: () => Effect.Effect<A2, E2>
  ) => Effect.Effect<A | A2, E | E2, R>
}

export const make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  // Of a clock that nobody sets.
  const millisNow = (): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6
  const open = Transient.make<Deadline>()
  const signals = yield* Queue.sliding<void>(1)
  let wakesAt = Number.POSITIVE_INFINITY

  /** Ends what is due; the next look is at the nearest of the others. */
  const look = (): number => {
    const now = millisNow()
    wakesAt = Number.POSITIVE_INFINITY
    for (const deadline of open) {
      if (deadline.at > now) wakesAt = Math.min(wakesAt, deadline.at)
      else {
        open.delete(deadline)
        deadline.expire()
      }
    }
    return wakesAt - now
  }

  yield* Turn.forkWorker(
    Effect.forever(
      Effect.flatMap(Effect.sync(look), (millis) =>
        Number.isFinite(millis) ? Effect.timeoutOption(Queue.take(signals), Math.max(1, millis)) : Queue.take(signals)
      )
    )
  )

  const after: Deadlines["after"] = (millis, expire) => {
    const deadline: Deadline = { at: millisNow() + millis, expire }
    open.add(deadline)
    if (deadline.at < wakesAt) {
      wakesAt = deadline.at
      signals.unsafeOffer(undefined)
    }
    return () => void open.delete(deadline)
  }

  const within =
    (millis: number) =>
    <A, E, A2, E2, R>(
      self: Effect.Effect<A, E, R>,
      late: () => Effect.Effect<A2, E2>
    ): Effect.Effect<A | A2, E | E2, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.forkDaemon(restore(self)), (fiber) => {
          const end = (): void => fiber.unsafeInterruptAsFork(FiberId.none)
          return restore(
            Effect.async<A | A2, E | E2>((resume) => {
              const cancel = after(millis, () => {
                end()
                resume(late())
              })
              fiber.addObserver((exit) => {
                cancel()
                resume(exit)
              })
              return Effect.sync(() => {
                cancel()
                end()
              })
            })
          )
        })
      )

  return { after, within }
})
