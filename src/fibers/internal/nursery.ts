import { Effect, Fiber, FiberId, type Scope } from "effect"
import * as Transient from "./transient.js"

const TypeId: unique symbol = Symbol.for("hermes-effect/Nursery")

/** Opaque: only the doors of a turn fork into it. */
export interface Nursery {
  readonly [TypeId]: typeof TypeId
}

/** Effect's own way of ending fibers with a scope adds a finalizer for each of them to a Map of the scope (see `transient`). */
class Fibers implements Nursery {
  readonly [TypeId]: typeof TypeId = TypeId
  readonly running = Transient.make<Fiber.RuntimeFiber<unknown, unknown>>()
  closed = false
}

export const make: Effect.Effect<Nursery, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => new Fibers()),
  (fibers) =>
    Effect.fiberIdWith((asking) => {
      fibers.closed = true
      return Fiber.interruptAll([...fibers.running].filter((fiber) => fiber.id() !== asking))
    })
)

/** The child is as interruptible as `self` says. One that comes after the end of the scope is told to end at once. */
export const fork =
  (nursery: Nursery) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<Fiber.RuntimeFiber<A, E>, never, R> =>
    Effect.uninterruptible(
      Effect.map(Effect.forkDaemon(self), (fiber) => {
        const fibers = nursery as Fibers
        fibers.running.add(fiber)
        fiber.addObserver(() => fibers.running.delete(fiber))
        if (fibers.closed) fiber.unsafeInterruptAsFork(FiberId.none)
        return fiber
      })
    )
