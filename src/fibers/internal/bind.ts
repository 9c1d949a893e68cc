import { Array, type Context, Effect, type Fiber, type FiberId, FiberRef, FiberRefs } from "effect"

type Entry = Parameters<typeof FiberRefs.updateManyAs>[1]["entries"][number]

/** A ref and the value that it is to have for a while. */
export interface Binding {
  /** Has it another value? Most of what a worker leaves behind it never had. */
  readonly changes: (fiber: Fiber.RuntimeFiber<unknown, unknown>) => boolean
  readonly entry: (fiber: FiberId.Single) => Entry
  /** The same ref with the value that it has in `refs`. */
  readonly before: (refs: FiberRefs.FiberRefs) => Binding
}

export const binding = <A>(ref: FiberRef.FiberRef<A>, value: A): Binding => ({
  changes: (fiber) => fiber.getFiberRef(ref) !== value,
  entry: (fiber) => [ref, [[fiber, value]]],
  before: (refs) => binding(ref, FiberRefs.getOrDefault(refs, ref))
})

/** A fiber that is asked for its refs makes a copy each time: they are the same where the value of each is. */
const untouched = (then: FiberRefs.FiberRefs, now: FiberRefs.FiberRefs): boolean => {
  if (then.locals.size !== now.locals.size) return false
  for (const [ref, [[, value]]] of now.locals) if (then.locals.get(ref)?.[0][1] !== value) return false
  return true
}

/**
 * Binds several refs, as the environment asks for, for as long as `self` runs: what `Effect.locally` does for one. The fiber's refs are copied once
 * each way and not once a ref, and where `self` has left them alone the former ones are put back as they were. Where
 * they have these values already, as when a worker starts another, there is nothing to bind and to undo.
 */
export const locallyAll =
  (bindingsOf: (context: Context.Context<never>) => ReadonlyArray<Binding>) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime<A, E, R>((fiber) => {
      const bindings = bindingsOf(fiber.getFiberRef(FiberRef.currentContext))
      const changing = bindings.filter((one) => one.changes(fiber))
      return Array.isNonEmptyArray(changing) ? rebound(changing, self) : self
    })

const rebound = <A, E, R>(
  bindings: Array.NonEmptyReadonlyArray<Binding>,
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  // Nothing can interrupt between the binding and what undoes it.
  Effect.uninterruptibleMask((restore) => {
    let before = FiberRefs.empty()
    let during = before
    const bind = Effect.updateFiberRefs((fiber, refs) => {
      before = refs
      during = FiberRefs.updateManyAs(refs, { entries: Array.map(bindings, (one) => one.entry(fiber)) })
      return during
    })
    const undo = Effect.updateFiberRefs((fiber, refs) =>
      untouched(during, refs)
        ? before
        : FiberRefs.updateManyAs(refs, { entries: Array.map(bindings, (one) => one.before(before).entry(fiber)) })
    )
    return Effect.flatMap(bind, () =>
      Effect.matchCauseEffect(restore(self), {
        onSuccess: (value) => Effect.as(undo, value),
        onFailure: (cause) => Effect.zipRight(undo, Effect.failCause(cause))
      })
    )
  })
