import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Ref } from "effect"
import * as Synchronous from "../../src/fibers/Synchronous.js"

class Service extends Context.Tag("test/Service")<Service, string>() {}
class Other extends Context.Tag("test/Other")<Other, string>() {}

const services = Context.make(Service, "given")
const capture = Synchronous.capture(services)

describe("Synchronous", () => {
  it.effect("each run starts anew and ends before it returns", () =>
    Effect.gen(function* () {
      const count = yield* Ref.make(0)
      const run = yield* capture(
        Effect.zipRight(
          Effect.yieldNow(),
          Ref.updateAndGet(count, (n) => n + 1)
        )
      )
      assert.deepStrictEqual([run(), run()], [Exit.succeed(1), Exit.succeed(2)])
      assert.deepStrictEqual((yield* capture(Effect.fail("no")))(), Exit.fail("no"))
    })
  )

  it.effect("it has the services that were given, and none of the fiber's", () =>
    Effect.gen(function* () {
      const run = yield* capture(Effect.all([Service, Effect.serviceOption(Other)]))
      const exit = run()
      assert.isTrue(Exit.isSuccess(exit) && exit.value[0] === "given" && exit.value[1]._tag === "None")
    }).pipe(Effect.provideService(Other, "of the fiber"), Effect.provideService(Service, "of the fiber"))
  )

  it.effect("it can be stopped although its maker could not: what waits dies, and goes no further", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const reached = yield* Ref.make(false)
      const cleaned = yield* Ref.make(false)
      const waiting = Deferred.await(gate).pipe(
        Effect.zipRight(Ref.set(reached, true)),
        Effect.onInterrupt(() => Ref.set(cleaned, true))
      )
      const run = yield* Effect.uninterruptible(capture(waiting))
      const exit = run()
      assert.instanceOf(Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit, Synchronous.Suspended)
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.yieldNow()
      yield* Fiber.await(yield* Effect.fork(Effect.yieldNow()))
      assert.deepStrictEqual([yield* Ref.get(reached), yield* Ref.get(cleaned)], [false, true])
    })
  )
})
