/** What `Shared` promises besides whose turn it runs in (that is in leaks/sharing.test.ts): outcomes, capacity, time, interruption. */
import { assert, describe, it } from "@effect/vitest"
import {
  Cache,
  Cause,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Option,
  Ref,
  Request,
  Resource,
  Schedule,
  Scope,
  TestClock
} from "effect"
import * as Shared from "../../src/fibers/Shared.js"
import * as Turn from "../../src/fibers/Turn.js"
import { A, B, logged, settle, turn } from "./support/turns.js"

/** Counts its runs; each waits for `gate`. */
const gated = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  const runs = yield* Ref.make(0)
  const run = Effect.zipLeft(
    Ref.updateAndGet(runs, (count) => count + 1),
    Deferred.await(gate)
  )
  return { gate, runs: Ref.get(runs), run }
})

/** A starts `shared` and is interrupted while B waits for it too; then the work ends. */
const interruptedFirst = <X, E>(shared: Effect.Effect<X, E>, gate: Deferred.Deferred<void>) =>
  Effect.gen(function* () {
    const first = yield* Effect.fork(Turn.enter(A)(shared))
    yield* settle
    const second = yield* Effect.fork(Turn.enter(B)(shared))
    yield* settle
    yield* Fiber.interrupt(first)
    yield* Deferred.succeed(gate, undefined)
    const waiting = yield* Fiber.await(second)
    const third = yield* Effect.fork(Turn.enter(turn("C"))(shared))
    return { waiting, later: yield* Fiber.await(third) }
  })

describe("an interrupted first caller leaves shared work to the others", () => {
  it.effect("Shared.cached", () =>
    Effect.gen(function* () {
      const { gate, run, runs } = yield* gated
      const outcome = yield* interruptedFirst(yield* Shared.cached(run), gate)
      assert.deepStrictEqual(outcome, { waiting: Exit.succeed(1), later: Exit.succeed(1) })
      assert.strictEqual(yield* runs, 1)
    })
  )

  it.effect("Shared.cachedWithTTL", () =>
    Effect.gen(function* () {
      const { gate, run, runs } = yield* gated
      const outcome = yield* interruptedFirst(yield* Shared.cachedWithTTL(run, "1 minute"), gate)
      assert.deepStrictEqual(outcome, { waiting: Exit.succeed(1), later: Exit.succeed(1) })
      assert.strictEqual(yield* runs, 1)
    })
  )

  it.effect("Shared.cache", () =>
    Effect.gen(function* () {
      const { gate, run, runs } = yield* gated
      const cache = yield* Shared.cache({ capacity: 4, timeToLive: "1 minute", lookup: (_: string) => run })
      const outcome = yield* interruptedFirst(cache.get("k"), gate)
      assert.deepStrictEqual(outcome, { waiting: Exit.succeed(1), later: Exit.succeed(1) })
      assert.strictEqual(yield* runs, 1)
    })
  )

  it.scoped("Shared.rcMap", () =>
    Effect.gen(function* () {
      const { gate, run, runs } = yield* gated
      const map = yield* Shared.rcMap({ capacity: 4, idleTimeToLive: "1 minute", lookup: (_: string) => run })
      const outcome = yield* interruptedFirst(Effect.scoped(map.get("k")), gate)
      assert.deepStrictEqual(outcome, { waiting: Exit.succeed(1), later: Exit.succeed(1) })
      assert.strictEqual(yield* runs, 1)
    })
  )

  it.effect("the raw ones give the interruption to who waits, or for ever (negative control)", () =>
    Effect.gen(function* () {
      const one = yield* gated
      const cached = yield* interruptedFirst(yield* Effect.cached(one.run), one.gate)
      assert.isTrue(Exit.isInterrupted(cached.waiting))
      assert.isTrue(Exit.isInterrupted(cached.later))
      const two = yield* gated
      const cache = yield* Cache.make({ capacity: 4, timeToLive: "1 minute", lookup: (_: string) => two.run })
      assert.isTrue(Exit.isInterrupted((yield* interruptedFirst(cache.get("k"), two.gate)).waiting))
    })
  )
})

describe("Shared.cached, Shared.cachedWithTTL", () => {
  it.effect("runs once for callers at once and later, and keeps a failure", () =>
    Effect.gen(function* () {
      const runs = yield* Ref.make(0)
      const counted = Ref.updateAndGet(runs, (count) => count + 1)
      const value = yield* Shared.cached(counted)
      assert.deepStrictEqual(yield* Effect.all([value, value, value], { concurrency: 3 }), [1, 1, 1])
      assert.strictEqual(yield* value, 1)
      const failing = yield* Shared.cached(Effect.zipRight(counted, Effect.fail("no")))
      assert.deepStrictEqual(yield* Effect.all([Effect.flip(failing), Effect.flip(failing)]), ["no", "no"])
      const dying = yield* Shared.cached(Effect.die("bad"))
      assert.deepStrictEqual(yield* Effect.exit(dying), Exit.die("bad"))
      assert.strictEqual(yield* Ref.get(runs), 2)
    })
  )

  it.effect("is not run when nobody asks, and again after its time", () =>
    Effect.gen(function* () {
      const runs = yield* Ref.make(0)
      const value = yield* Shared.cachedWithTTL(
        Ref.updateAndGet(runs, (count) => count + 1),
        "1 minute"
      )
      assert.strictEqual(yield* Ref.get(runs), 0)
      assert.strictEqual(yield* value, 1)
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(yield* value, 1)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* value, 2)
    })
  )

  it.effect("its timeouts work also when it is asked for in an uninterruptible region", () =>
    Effect.gen(function* () {
      const value = yield* Shared.cached(Effect.timeoutOption(Effect.never, "1 second"))
      const asked = yield* Effect.fork(Effect.uninterruptible(value))
      yield* settle
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.await(asked), Exit.succeed(Option.none()))
    })
  )
})

describe("Shared.cache", () => {
  it.effect("keeps its capacity, forgets on demand, and settles a lookup that throws", () =>
    Effect.gen(function* () {
      const lookups: Array<string> = []
      const cache = yield* Shared.cache({
        capacity: 2,
        timeToLive: "1 hour",
        lookup: (key: string) => {
          if (key === "thrown") throw new Error("thrown")
          return Effect.sync(() => {
            lookups.push(key)
            return key.toUpperCase()
          })
        }
      })
      assert.strictEqual(yield* cache.get("a"), "A")
      yield* cache.get("a")
      yield* cache.get("b")
      assert.deepStrictEqual(lookups, ["a", "b"])
      yield* cache.get("c")
      assert.strictEqual(yield* cache.size, 2)
      yield* cache.invalidate("c")
      yield* cache.get("c")
      assert.deepStrictEqual(lookups, ["a", "b", "c", "c"])
      const both = yield* Effect.all([Effect.exit(cache.get("thrown")), Effect.exit(cache.get("thrown"))], {
        concurrency: 2
      })
      for (const exit of both) assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
    })
  )
})

describe("Shared.pool", () => {
  it.scoped("lends each item to one scope at a time and replaces an invalidated one", () =>
    Effect.gen(function* () {
      const made = yield* Ref.make(0)
      const released: Array<number> = []
      const pool = yield* Shared.pool({
        size: 1,
        acquire: Effect.acquireRelease(
          Ref.updateAndGet(made, (count) => count + 1),
          (item) => Effect.sync(() => released.push(item))
        )
      })
      const holder = yield* Scope.make()
      assert.strictEqual(yield* Scope.extend(pool.get, holder), 1)
      const waiting = yield* Effect.fork(Effect.scoped(pool.get))
      yield* settle
      assert.isTrue(Option.isNone(yield* Fiber.poll(waiting)))
      yield* Scope.close(holder, Exit.void)
      assert.deepStrictEqual(yield* Fiber.await(waiting), Exit.succeed(1))
      yield* pool.invalidate(1)
      yield* settle
      assert.strictEqual(yield* Effect.scoped(pool.get), 2)
      assert.deepStrictEqual(released, [1])
    })
  )

  it.scoped("a caller that is interrupted while it waits takes no item away", () =>
    Effect.gen(function* () {
      const pool = yield* Shared.pool({ size: 1, acquire: Effect.succeed("item") })
      const holder = yield* Scope.make()
      yield* Scope.extend(pool.get, holder)
      const waiting = yield* Effect.fork(Effect.scoped(pool.get))
      yield* settle
      yield* Fiber.interrupt(waiting)
      yield* Scope.close(holder, Exit.void)
      assert.strictEqual(yield* Effect.scoped(pool.get), "item")
    })
  )
})

describe("Shared.rcMap", () => {
  it.scoped("one resource a key while it is used and for its idle time after; refuses at capacity", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const map = yield* Shared.rcMap({
        capacity: 1,
        idleTimeToLive: "1 minute",
        lookup: (key: string) =>
          Effect.acquireRelease(
            Effect.sync(() => void events.push(`+${key}`)),
            () => Effect.sync(() => events.push(`-${key}`))
          )
      })
      yield* Effect.scoped(Effect.zipRight(map.get("a"), map.get("a")))
      yield* TestClock.adjust("59 seconds")
      yield* Effect.scoped(map.get("a"))
      assert.deepStrictEqual(events, ["+a"])
      const refused = yield* Effect.flip(Effect.scoped(map.get("b")))
      assert.isTrue(Cause.isExceededCapacityException(refused))
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(events, ["+a", "-a"])
      yield* Effect.scoped(map.get("b"))
      yield* map.invalidate("b")
      assert.deepStrictEqual(events, ["+a", "-a", "+b", "-b"])
    })
  )
})

describe("Shared.resource", () => {
  it.scoped("is refreshed by its worker; a refresh that fails is logged and the next one comes", () =>
    Effect.gen(function* () {
      const [, lines] = yield* logged(
        Effect.gen(function* () {
          const runs = yield* Ref.make(0)
          const acquire = Effect.flatMap(
            Ref.updateAndGet(runs, (count) => count + 1),
            (count) => (count === 2 ? Effect.fail("no") : count === 3 ? Effect.die("bad") : Effect.succeed(count))
          )
          const resource = yield* Shared.resource(acquire, Schedule.spaced("1 minute"))
          const values: Array<number> = []
          for (let minute = 0; minute < 6; minute++) {
            values.push(yield* Resource.get(resource))
            yield* TestClock.adjust("1 minute")
          }
          assert.deepStrictEqual(values, [1, 1, 1, 4, 5, 6])
        })
      )
      assert.deepStrictEqual(
        lines.map((line) => `${line.level} ${line.message}`),
        ["WARN a shared value could not be refreshed", "WARN a shared value could not be refreshed"]
      )
    })
  )

  it.effect("its worker ends with the scope, also when it was made in an uninterruptible region", () =>
    Effect.gen(function* () {
      const runs = yield* Ref.make(0)
      const scope = yield* Scope.make()
      yield* Effect.uninterruptible(
        Shared.resource(
          Ref.update(runs, (count) => count + 1),
          Schedule.spaced("1 minute")
        ).pipe(Scope.extend(scope))
      )
      yield* TestClock.adjust("1 minute")
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* Ref.get(runs), 2)
    })
  )
})

class Square extends Request.TaggedClass("Square")<number, never, { readonly of: number }> {}

describe("Shared.resolver", () => {
  it.effect("answers a batch in one run", () =>
    Effect.gen(function* () {
      const batches: Array<ReadonlyArray<number>> = []
      const resolver = Shared.resolver((requests: ReadonlyArray<Square>) =>
        Effect.suspend(() => {
          batches.push(requests.map((request) => request.of))
          return Effect.forEach(requests, (request) => Request.succeed(request, request.of ** 2), { discard: true })
        })
      )
      const answers = yield* Effect.forEach([1, 2, 3], (of) => Effect.request(new Square({ of }), resolver), {
        batching: true
      })
      assert.deepStrictEqual(answers, [1, 4, 9])
      assert.deepStrictEqual(batches, [[1, 2, 3]])
    })
  )
})
