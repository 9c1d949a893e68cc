import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Ref, TestClock } from "effect"
import * as Ending from "../../src/programs/ending.js"

describe("a program that was told to end", () => {
  it.effect("is over when its time is up, though something of it does not end", () =>
    Effect.gen(function* () {
      const closing = yield* Deferred.make<void>()
      const stuck = Effect.acquireRelease(Effect.void, () =>
        Effect.zipRight(Deferred.succeed(closing, undefined), Effect.never)
      )
      const fiber = yield* Effect.fork(Ending.scoped(Effect.as(stuck, "its outcome")))
      yield* Deferred.await(closing)
      yield* TestClock.adjust("33 seconds")
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { value: "its outcome", late: true })
    })
  )

  it.effect("is over when all of it has ended", () =>
    Effect.gen(function* () {
      const ended = yield* Ref.make(false)
      const slow = Effect.acquireRelease(Effect.void, () => Effect.delay(Ref.set(ended, true), "33 seconds"))
      const fiber = yield* Effect.fork(Ending.scoped(Effect.as(slow, 1)))
      yield* TestClock.adjust("33 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { value: 1, late: false })
      assert.isTrue(yield* Ref.get(ended))
    })
  )

  it.effect("fails as it fails, with what it held let go", () =>
    Effect.gen(function* () {
      const ended = yield* Ref.make(false)
      const held = Effect.acquireRelease(Effect.void, () => Ref.set(ended, true))
      const exit = yield* Effect.exit(Ending.scoped(Effect.zipRight(held, Effect.fail("no port"))))
      assert.deepStrictEqual(exit, yield* Effect.exit(Effect.fail("no port")))
      assert.isTrue(yield* Ref.get(ended))
    })
  )
})
