/**
 * An effect that somebody else runs for its maker, in one go: what the database's writer does with the steps of many
 * callers, which share one transaction and must not leave it open over a suspension.
 *
 * It runs with the facts and the clock of the fiber that made it, whoever runs it, so a worker that runs it carries
 * nobody; and it has ended when the run returns, so nothing of it is left behind.
 */
import {
  Cause,
  type Context,
  Effect,
  Exit,
  type Fiber,
  FiberId,
  FiberRef,
  FiberRefs,
  Runtime,
  RuntimeFlags,
  Scheduler,
  Schema
} from "effect"

/** The effect waited for something — a sleep, a fork, a network call — where it had to end at once. It was stopped; a bug of its maker. */
export class Suspended extends Schema.TaggedError<Suspended>()("Suspended", {}) {
  override get message(): string {
    return "a step that has to end at once waited for something; only statements and pure code belong in it"
  }
}

/** Runs the captured effect now and to its end. An effect that suspends is interrupted and dies with {@link Suspended}. */
export type Run<A, E> = () => Exit.Exit<A, E>

/**
 * The refs of another fiber as they are, but for those that say what a fiber is itself: its environment, what schedules
 * it and what interrupts it. One that was forked with them would copy each.
 */
const taking =
  (fiberRefs: FiberRefs.FiberRefs) =>
  (own: FiberRefs.FiberRefs, id: FiberId.Runtime): FiberRefs.FiberRefs =>
    FiberRefs.updateManyAs(fiberRefs, {
      entries: [
        [FiberRef.currentContext, [[id, FiberRefs.getOrDefault(own, FiberRef.currentContext)]]],
        [FiberRef.currentScheduler, [[id, FiberRefs.getOrDefault(own, FiberRef.currentScheduler)]]],
        [FiberRef.interruptedCause, [[id, Cause.empty]]]
      ]
    })

/** Nothing counts these fibers, of which there are several to a message. */
const flags = RuntimeFlags.make(RuntimeFlags.Interruption, RuntimeFlags.CooperativeYielding)

/**
 * Fixes `self` to the fiber that asks, with `services` as its whole environment, and goes on with what `use` makes of it.
 * Each run starts it anew.
 *
 * The environment is put in place rather than provided around the effect: `Effect.provide` costs more than most steps.
 */
export const captured = <R, A, E, B, E2, R2>(
  services: Context.Context<R>,
  self: Effect.Effect<A, E, R>,
  use: (run: Run<A, E>) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E2, R2> =>
  Effect.withFiberRuntime<B, E2, R2>((fiber) => {
    const updateRefs = taking(fiber.getFiberRefs())
    const runtime = Runtime.make({ context: services, fiberRefs: FiberRefs.empty(), runtimeFlags: flags })
    return use(() => {
      const scheduler = new Scheduler.SyncScheduler()
      const running = Runtime.runFork(runtime, self, { scheduler, updateRefs })
      scheduler.flush()
      return running.unsafePoll() ?? stopped(running)
    })
  })

/** As {@link captured}, to be run whenever its maker likes. */
export const capture =
  <R>(services: Context.Context<R>) =>
  <A, E>(self: Effect.Effect<A, E, R>): Effect.Effect<Run<A, E>> =>
    captured(services, self, Effect.succeed)

const stopped = (running: Fiber.RuntimeFiber<unknown, unknown>): Exit.Exit<never> => {
  running.unsafeInterruptAsFork(FiberId.none)
  return Exit.die(new Suspended())
}
