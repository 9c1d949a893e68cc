import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, FastCheck as fc, Fiber, Option } from "effect"
import * as Turn from "../../../src/fibers/Turn.js"
import * as Lanes from "../../../src/layers/delivery/Lanes.js"
import { scaled } from "../../scale.js"
import { settle, turn } from "./support.js"

describe("lanes", () => {
  it.effect("are in the order of asking, one at a time, and gone when nobody is in them", () =>
    Effect.gen(function* () {
      const lanes = yield* Lanes.make(10)
      const gate = yield* Deferred.make<void>()
      const log: Array<string> = []
      const enter = (key: string, name: string) =>
        Effect.fork(
          lanes.inOrder(key)(
            Effect.zipRight(
              Deferred.await(gate),
              Effect.sync(() => log.push(name))
            )
          )
        )
      for (const name of ["a", "b", "c"]) yield* enter("1", name)
      yield* settle
      yield* lanes.inOrder("2")(Effect.sync(() => log.push("other")))
      assert.strictEqual(yield* lanes.size, 1)
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.deepStrictEqual(log, ["other", "a", "b", "c"])
      assert.strictEqual(yield* lanes.size, 0)
    })
  )

  it.effect("refuse at their capacity, and run nothing then", () =>
    Effect.gen(function* () {
      const lanes = yield* Lanes.make(2)
      const first = yield* Effect.fork(lanes.inOrder("1")(Effect.never))
      const second = yield* Effect.fork(lanes.inOrder("1")(Effect.succeed("second")))
      yield* settle
      let ran = false
      assert.isNull(yield* lanes.inOrder("1")(Effect.sync(() => (ran = true))))
      assert.isFalse(ran)
      yield* Fiber.interrupt(first)
      assert.strictEqual(yield* Fiber.join(second), "second")
      assert.strictEqual(yield* lanes.inOrder("1")(Effect.succeed("third")), "third")
    })
  )

  it.effect("go on past a failure, a defect and whoever stopped waiting", () =>
    Effect.gen(function* () {
      const lanes = yield* Lanes.make(10)
      const gate = yield* Deferred.make<void>()
      yield* Effect.fork(lanes.inOrder("1")(Effect.zipRight(Deferred.await(gate), Effect.fail("no"))))
      const impatient = yield* Effect.fork(lanes.inOrder("1")(Effect.dieMessage("never run")))
      yield* Effect.fork(lanes.inOrder("1")(Effect.dieMessage("a bug")))
      const last = yield* Effect.fork(lanes.inOrder("1")(Effect.succeed("last")))
      yield* settle
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(impatient)))
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(yield* Fiber.join(last), "last")
      assert.strictEqual(yield* lanes.size, 0)
    })
  )

  it.effect("lend nobody the turn of who was there before", () =>
    Effect.gen(function* () {
      const lanes = yield* Lanes.make(10)
      const chat = Effect.map(Turn.peek, ({ identity }) =>
        Option.fromNullable(identity.chatId._tag === "Value" ? identity.chatId.value : null)
      )
      const seen = yield* Effect.all(
        [
          Turn.enter(turn("A"))(lanes.inOrder("1")(chat)),
          Turn.enter(turn("B"))(lanes.inOrder("1")(chat)),
          lanes.inOrder("1")(chat)
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(seen, [Option.some("A"), Option.some("B"), Option.none()])
    })
  )

  it("never overlap and never forget anybody, whoever is interrupted", async () => {
    const asked = fc.array(fc.record({ key: fc.nat({ max: 2 }), yields: fc.nat({ max: 3 }), leaves: fc.boolean() }), {
      maxLength: 20
    })
    await fc.assert(
      fc.asyncProperty(asked, (askers) =>
        Effect.runPromise(
          Effect.gen(function* () {
            const lanes = yield* Lanes.make(100)
            const inside = new Map<number, number>()
            const done: Array<number> = []
            const fibers = yield* Effect.forEach(askers, ({ key, yields }, n) =>
              Effect.fork(
                lanes.inOrder(String(key))(
                  Effect.gen(function* () {
                    assert.strictEqual(inside.get(key) ?? 0, 0)
                    inside.set(key, 1)
                    for (let left = yields; left > 0; left -= 1) yield* Effect.yieldNow()
                    done.push(n)
                  }).pipe(Effect.ensuring(Effect.sync(() => inside.set(key, 0))))
                )
              )
            )
            for (const [n, { leaves }] of askers.entries()) {
              const fiber = fibers[n]
              if (leaves && fiber !== undefined) yield* Fiber.interrupt(fiber)
            }
            const exits = yield* Effect.forEach(fibers, Fiber.await)
            assert.isTrue(exits.every((exit) => Exit.isSuccess(exit) || Exit.isInterrupted(exit)))
            assert.strictEqual(yield* lanes.size, 0)
            for (const key of [0, 1, 2]) {
              const order = done.filter((n) => askers[n]?.key === key)
              assert.deepStrictEqual(
                order,
                order.toSorted((a, b) => a - b)
              )
            }
          })
        )
      ),
      { numRuns: scaled(500, 50) }
    )
  })
})
