import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import * as Deadlines from "../../src/fibers/Deadlines.js"

it.scoped("what ends in time is its own outcome, and its deadline never comes", () =>
  Effect.gen(function* () {
    const { within } = yield* Deadlines.make
    let late = 0
    const lateness = () => Effect.sync(() => (late += 1))
    expect(yield* within(1_000)(Effect.succeed("said"), lateness)).toBe("said")
    expect(yield* Effect.flip(within(1_000)(Effect.fail("refused"), lateness))).toBe("refused")
    yield* TestClock.adjust("1 minute")
    expect(late).toBe(0)
  })
)

it.scoped("each deadline comes at its own time, whichever was set first", () =>
  Effect.gen(function* () {
    const { after } = yield* Deadlines.make
    const came: Array<string> = []
    after(30_000, () => came.push("far"))
    yield* TestClock.adjust("1 second")
    after(1_000, () => came.push("near"))
    const cancel = after(2_000, () => came.push("cancelled"))
    yield* TestClock.adjust("1 second")
    expect(came).toEqual(["near"])
    cancel()
    yield* TestClock.adjust("27 seconds")
    expect(came).toEqual(["near"])
    yield* TestClock.adjust("1 second")
    expect(came).toEqual(["near", "far"])
  })
)

it.scoped("what is late, or asked for no longer, is told to end and not waited for", () =>
  Effect.gen(function* () {
    const { within } = yield* Deadlines.make
    let told = 0
    const stubborn = Effect.onInterrupt(Effect.never, () =>
      Effect.zipRight(
        Effect.sync(() => (told += 1)),
        Effect.never
      )
    )
    const waiting = yield* Effect.fork(within(1_000)(stubborn, () => Effect.succeed("late")))
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(waiting)).toBe("late")
    expect(told).toBe(1)
    const begun = yield* Deferred.make<void>()
    const other = yield* Effect.fork(
      within(1_000)(Effect.zipRight(Deferred.succeed(begun, undefined), stubborn), () => Effect.void)
    )
    yield* Deferred.await(begun)
    yield* Fiber.interrupt(other)
    yield* Effect.yieldNow()
    expect(told).toBe(2)
  })
)
