/** Does what another fiber holds come over with its result? The context, the span and the log annotations are refs too. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FiberRef, Stream } from "effect"
import * as facts from "../../../src/fibers/internal/facts.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"
import { A, B, chatOf, marked, noTraces, traces } from "../support/turns.js"

const awaited = <X, E>(fiber: Fiber.Fiber<X, E>) => Effect.flatten(Fiber.await(fiber))
const chat = Effect.map(Turn.peek, chatOf)

/** A fiber that a request of A started and another request gets hold of. */
const fiberOfA = Effect.gen(function* () {
  const request = yield* Effect.forkDaemon(marked(A)(Effect.forkDaemon(Effect.yieldNow())))
  return yield* awaited(request)
})

/** What B, a request of its own, shows after `take`. */
const afterIn = (take: (fiber: Fiber.RuntimeFiber<void>) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const fiber = yield* fiberOfA
    const request = yield* Effect.forkDaemon(
      marked(B)(
        Effect.gen(function* () {
          const before = yield* traces
          yield* take(fiber)
          return { before, after: yield* traces, current: yield* Effect.exit(Turn.current) }
        })
      )
    )
    return yield* awaited(request)
  })

describe("a fiber of A in B", () => {
  it.live("door: its outcome changes nothing", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const ofA = yield* awaited(yield* Effect.forkDaemon(marked(A)(Turn.forkIn(scope)(Effect.yieldNow()))))
      for (const take of [Turn.result(ofA), Turn.exit(ofA), Turn.interrupt(ofA), Turn.interruptSoon(ofA)]) {
        const { after, before, current } = yield* afterIn(() => take)
        assert.deepStrictEqual(after, before)
        assert.strictEqual(current._tag, "Success")
      }
    }).pipe(Effect.scoped)
  )

  const joins: ReadonlyArray<readonly [string, (fiber: Fiber.RuntimeFiber<void>) => Effect.Effect<unknown, unknown>]> =
    [
      ["Fiber.join", (fiber) => Fiber.join(fiber)],
      ["yielding it", (fiber) => fiber],
      ["Fiber.inheritAll", (fiber) => Effect.zipRight(awaited(fiber), fiber.inheritAll)],
      ["joining in a timeout", (fiber) => Effect.timeout(Fiber.join(fiber), "1 hour")],
      ["joining in Effect.all", (fiber) => Effect.all([Fiber.join(fiber), Effect.void], { concurrency: 2 })],
      ["Effect.fromFiber", (fiber) => Effect.fromFiber(fiber)]
    ]

  for (const [name, take] of joins) {
    it.live(`raw: ${name} gives B the tag, span and annotations of A; reading the turn dies (negative control)`, () =>
      Effect.gen(function* () {
        const { after, current } = yield* afterIn(take)
        assert.deepStrictEqual(
          [after.chat, after.tag, after.span],
          ["B", A.id, `span of ${A.id}`],
          "the facts stay, the rest is A's"
        )
        assert.isTrue(current._tag === "Failure" && String(current.cause).includes("TurnMismatch"))
      })
    )
  }

  it.live("raw: joined by a fiber that carries nobody, it leaves A's context there (negative control)", () =>
    Effect.gen(function* () {
      const fiber = yield* fiberOfA
      const nobody = yield* Effect.forkDaemon(Turn.detach(Effect.zipRight(Fiber.join(fiber), traces)))
      const seen = yield* awaited(nobody)
      assert.deepStrictEqual([seen.chat, seen.tag], [null, A.id])
    })
  )

  it.live("door: its outcome leaves nobody nobody", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const ofA = yield* awaited(yield* Effect.forkDaemon(marked(A)(Turn.forkIn(scope)(Effect.yieldNow()))))
      assert.deepStrictEqual(yield* Turn.detach(Effect.zipRight(Turn.result(ofA), traces)), noTraces)
    }).pipe(Effect.scoped)
  )
})

/** A child that changes its own identity, by the raw set that nobody may use. */
const setting = FiberRef.set(facts.identityRef, SessionIdentity.bind({ chatId: "of the child" }))
const plain = FiberRef.unsafeMake("parent")
const settingPlain = FiberRef.set(plain, "child")

describe("does a child's change come back?", () => {
  const ways: ReadonlyArray<readonly [string, (child: Effect.Effect<void>) => Effect.Effect<unknown, unknown>]> = [
    ["join", (child) => Effect.flatMap(Effect.fork(child), Fiber.join)],
    ["Effect.all, concurrent", (child) => Effect.all([child, Effect.void], { concurrency: 2 })],
    ["Effect.forEach, concurrent", (child) => Effect.forEach([1, 2], () => child, { concurrency: 2 })],
    ["timeout", (child) => Effect.timeout(child, "1 hour")],
    ["race", (child) => Effect.race(child, Effect.never)],
    ["disconnect", (child) => Effect.disconnect(child)],
    ["a stream", (child) => Stream.runDrain(Stream.fromEffect(child))]
  ]

  for (const [name, run] of ways) {
    it.live(`${name}: the facts stay, a plain ref would not (negative control)`, () =>
      Turn.enter(A)(
        Effect.gen(function* () {
          yield* run(setting)
          assert.strictEqual(yield* chat, "A-chatId")
          yield* run(settingPlain)
          assert.strictEqual(yield* FiberRef.get(plain), "child")
        })
      )
    )
  }

  it.live("in the same fiber a set stays, whatever the ref: that is why the doors only ever bind for a while", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        yield* Effect.all([setting])
        assert.strictEqual(yield* chat, "of the child")
      })
    )
  )

  it.live("a bound field comes back in no way", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        for (const [name, run] of ways) {
          yield* run(Turn.enter(B)(Effect.yieldNow()))
          assert.strictEqual(yield* Effect.zipRight(Turn.current, chat), "A-chatId", name)
        }
      })
    )
  )
})
