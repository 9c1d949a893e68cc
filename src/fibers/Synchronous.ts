/**
 * An effect that somebody else runs for its maker, in one go: what the database's writer does with the steps of many
 * callers, which share one transaction and must not leave it open over a suspension.
 *
 * It runs with the facts, services and clock of the fiber that made it, whoever runs it, so a worker that runs it
 * carries nobody; and it has ended when the run returns, so nothing of it is left behind.
 */
import { Cause, Effect, Exit, FiberId, Option, Runtime, Schema } from "effect"

/** The effect waited for something — a sleep, a fork, a network call — where it had to end at once. It was stopped; a bug of its maker. */
export class Suspended extends Schema.TaggedError<Suspended>()("Suspended", {}) {
  override get message(): string {
    return "a step that has to end at once waited for something; only statements and pure code belong in it"
  }
}

/** Runs the captured effect now and to its end. An effect that suspends is interrupted and dies with {@link Suspended}. */
export type Run<A, E> = () => Exit.Exit<A, E>

/** Fixes `self` to the fiber that asks. Each run starts it anew. */
export const capture = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<Run<A, E>, never, R> =>
  Effect.map(Effect.runtime<R>(), (runtime) => {
    const start = Runtime.runSyncExit(runtime)
    const stoppable = Effect.interruptible(self)
    return () => {
      const exit = start(stoppable)
      return Exit.isSuccess(exit) ? exit : stopIfRunning(exit)
    }
  })

const stopIfRunning = <A, E>(exit: Exit.Failure<A, E>): Exit.Exit<A, E> => {
  const defect = Option.getOrNull(Cause.dieOption(exit.cause))
  if (!Runtime.isAsyncFiberException(defect)) return exit
  defect.fiber.unsafeInterruptAsFork(FiberId.none)
  return Exit.die(new Suspended())
}
