import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import * as Turn from "../../../src/fibers/Turn.js"
import * as BellLayer from "../../../src/layers/schedule/Bell.js"
import { Bell } from "../../../src/services/schedule/Bell.js"
import { aheadMillis } from "../../../src/services/schedule/FireClaim.js"

describe("Bell", () => {
  it.scoped("leaves asleep who wakes in time by himself, and wakes who would not", () =>
    Effect.gen(function* () {
      const bell = yield* Bell
      let woken = 0
      yield* Turn.forkWorker(
        Effect.forever(
          Effect.zipRight(
            bell.heardWithin(60_000),
            Effect.sync(() => (woken += 1))
          )
        )
      )
      const told = (instant: number) =>
        Effect.zipRight(
          bell.ringFor(instant),
          Effect.map(TestClock.adjust(0), () => woken)
        )
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* told(60_000 + aheadMillis), 0)
      assert.strictEqual(yield* told(60_000 + aheadMillis - 1), 1)
      yield* TestClock.adjust(20_000)
      assert.strictEqual(yield* told(80_000 + aheadMillis), 1, "it sleeps until 60,000 still")
      assert.strictEqual(yield* told(59_000), 2)
      assert.strictEqual(yield* told(79_000), 3, "it sleeps until 80,000 now")
      yield* TestClock.adjust(60_000)
      assert.strictEqual(woken, 4)
    }).pipe(Effect.provide(BellLayer.layer))
  )

  it.scoped("is heard later by who is not listening, whatever it is for", () =>
    Effect.gen(function* () {
      const bell = yield* Bell
      yield* bell.ringFor(Number.MAX_SAFE_INTEGER)
      yield* bell.heardWithin(1e9)
    }).pipe(Effect.provide(BellLayer.layer))
  )
})
