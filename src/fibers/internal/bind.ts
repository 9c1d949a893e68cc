import { Effect, type FiberId, type FiberRef, FiberRefs } from "effect"

type Entry = Parameters<typeof FiberRefs.updateManyAs>[1]["entries"][number]

/** A ref and the value that it is to have for a while. */
export interface Binding {
  /** Has it another value? Most of what a worker leaves behind it never had. */
  readonly changes: (refs: FiberRefs.FiberRefs) => boolean
  readonly entry: (fiber: FiberId.Single) => Entry
  /** The same ref with the value that it has in `refs`. */
  readonly before: (refs: FiberRefs.FiberRefs) => Binding
}

type Bindings = readonly [Binding, ...ReadonlyArray<Binding>]

export const binding = <A>(ref: FiberRef.FiberRef<A>, value: A): Binding => ({
  changes: (refs) => FiberRefs.getOrDefault(refs, ref) !== value,
  entry: (fiber) => [ref, [[fiber, value]]],
  before: (refs) => binding(ref, FiberRefs.getOrDefault(refs, ref))
})

const changes = (refs: FiberRefs.FiberRefs, bindings: ReadonlyArray<Binding>): boolean =>
  bindings.some((one) => one.changes(refs))

const bound = (
  fiber: FiberId.Single,
  refs: FiberRefs.FiberRefs,
  bindings: ReadonlyArray<Binding>
): FiberRefs.FiberRefs => {
  const [first, ...rest] = bindings.filter((one) => one.changes(refs)).map((one) => one.entry(fiber))
  return first === undefined ? refs : FiberRefs.updateManyAs(refs, { entries: [first, ...rest] })
}

/**
 * Binds several refs for as long as `self` runs: what `Effect.locally` does for one. The fiber's refs are copied once
 * each way and not once a ref, and where `self` has left them alone the former ones are put back as they were. Where
 * they have these values already, as when a worker starts another, there is nothing to bind and to undo.
 */
export const locallyAll =
  (...bindings: Bindings) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime<A, E, R>((fiber) =>
      changes(fiber.getFiberRefs(), bindings) ? rebound(bindings, self) : self
    )

const rebound = <A, E, R>(bindings: Bindings, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  // Nothing can interrupt between the binding and what undoes it.
  Effect.uninterruptibleMask((restore) => {
    let before = FiberRefs.empty()
    let during = before
    const bind = Effect.updateFiberRefs((fiber, refs) => {
      before = refs
      during = bound(fiber, refs, bindings)
      return during
    })
    const undo = Effect.updateFiberRefs((fiber, refs) =>
      refs === during
        ? before
        : bound(
            fiber,
            refs,
            bindings.map((one) => one.before(before))
          )
    )
    return Effect.flatMap(bind, () =>
      Effect.matchCauseEffect(restore(self), {
        onSuccess: (value) => Effect.as(undo, value),
        onFailure: (cause) => Effect.zipRight(undo, Effect.failCause(cause))
      })
    )
  })
