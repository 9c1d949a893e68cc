import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Scope } from "effect"
import * as Nursery from "../../src/fibers/Nursery.js"
import * as Turn from "../../src/fibers/Turn.js"

/** A nursery of a scope that is closed by hand. */
const nursed = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const nursery = yield* Scope.extend(Nursery.make, scope)
  return { nursery, scope, close: Scope.close(scope, Exit.void) }
})

it.effect("all of it ends with the scope, before what the scope had acquired earlier is released", () =>
  Effect.gen(function* () {
    const ended: Array<string> = []
    const note = (text: string) => Effect.sync(() => void ended.push(text))
    const scope = yield* Scope.make()
    yield* Scope.addFinalizer(scope, note("the connection"))
    const nursery = yield* Scope.extend(Nursery.make, scope)
    const work = (name: string) => Effect.ensuring(Effect.interruptible(Effect.never), note(name))
    const apart = yield* Turn.forkApart(nursery)(work("apart"))
    const certain = yield* Turn.forkCertain(nursery)(work("certain"))
    yield* Effect.yieldNow()
    yield* Scope.close(scope, Exit.void)
    expect(ended.toSorted()).toEqual(["apart", "certain", "the connection"])
    expect(ended.at(-1)).toBe("the connection")
    for (const fiber of [apart, certain]) expect(Exit.isInterrupted(yield* Turn.exit(fiber))).toBe(true)
  })
)

it.effect("the close waits for what cannot be interrupted", () =>
  Effect.gen(function* () {
    const { close, nursery } = yield* nursed
    const latch = yield* Deferred.make<void>()
    let ended = false
    yield* Turn.forkCertain(nursery)(
      Effect.zipRight(
        Deferred.await(latch),
        Effect.sync(() => (ended = true))
      )
    )
    const closing = yield* Effect.fork(close)
    yield* Effect.yieldNow()
    expect(closing.unsafePoll()).toBeNull()
    yield* Deferred.succeed(latch, undefined)
    yield* Effect.yieldNow()
    yield* closing.await
    expect(ended).toBe(true)
  })
)

it.effect("what comes after the end is told to end at once, and one of its own can close it", () =>
  Effect.gen(function* () {
    const { close, nursery } = yield* nursed
    const closer = yield* Turn.forkApart(nursery)(Effect.as(close, "closed"))
    expect(yield* Turn.result(closer)).toBe("closed")
    const late = yield* Turn.forkApart(nursery)(Effect.never)
    expect(Exit.isInterrupted(yield* Turn.exit(late))).toBe(true)
  })
)

it.effect("a fiber apart is interruptible where the asking one is, a certain one from its first step on is not", () =>
  Effect.gen(function* () {
    const { nursery } = yield* nursed
    const apart = yield* Turn.forkApart(nursery)(Effect.never)
    expect(Exit.isInterrupted(yield* Turn.interrupt(apart))).toBe(true)
    const certain = yield* Turn.forkCertain(nursery)(Effect.as(Effect.yieldNow(), "done"))
    expect(yield* Turn.interrupt(certain)).toEqual(Exit.succeed("done"))
  })
)
