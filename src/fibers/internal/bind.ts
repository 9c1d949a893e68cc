import { Effect, type FiberId, type FiberRef, FiberRefs } from "effect"

type Entry = Parameters<typeof FiberRefs.updateManyAs>[1]["entries"][number]

/** A ref and the value that it is to have for a while. */
export interface Binding {
  readonly entry: (fiber: FiberId.Single) => Entry
  /** The same ref with the value that it has in `refs`. */
  readonly before: (refs: FiberRefs.FiberRefs) => Binding
}

type Bindings = readonly [Binding, ...ReadonlyArray<Binding>]

export const binding = <A>(ref: FiberRef.FiberRef<A>, value: A): Binding => ({
  entry: (fiber) => [ref, [[fiber, value]]],
  before: (refs) => binding(ref, FiberRefs.getOrDefault(refs, ref))
})

/** Binds all of `bindings` and gives what they replaced. */
const swap = ([first, ...rest]: Bindings): Effect.Effect<Bindings> =>
  Effect.suspend(() => {
    let replaced: Bindings = [first]
    const update = Effect.updateFiberRefs((fiber, refs) => {
      replaced = [first.before(refs), ...rest.map((one) => one.before(refs))]
      return FiberRefs.updateManyAs(refs, { entries: [first.entry(fiber), ...rest.map((one) => one.entry(fiber))] })
    })
    return Effect.map(update, () => replaced)
  })

/**
 * Binds several refs for as long as `self` runs: what `Effect.locally` does for one. The fiber's refs are copied once
 * each way and not once a ref, which is most of what entering a turn costs.
 */
export const locallyAll =
  (...bindings: Bindings) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(swap(bindings), () => self, swap)
