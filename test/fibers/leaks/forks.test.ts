/** Forking and concurrency (which mechanism inherits, and from whom), with the raw combinator beside each door. */
import { assert, describe, it } from "@effect/vitest"
import {
  Chunk,
  Deferred,
  Effect,
  Exit,
  Fiber,
  FiberHandle,
  FiberMap,
  FiberRef,
  FiberSet,
  Schedule,
  Scope,
  Stream
} from "effect"
import * as Turn from "../../../src/fibers/Turn.js"
import { A, B, chatOf, settle } from "../support/turns.js"

const inA = Turn.enter(A)
const inB = Turn.enter(B)
const chat = Effect.map(Turn.peek, chatOf)
/** Also asks the turn, which dies where the tag and the facts disagree. */
const asked = Effect.zipRight(Turn.current, chat)
const awaited = <X, E>(fiber: Fiber.Fiber<X, E>) => Effect.flatten(Fiber.await(fiber))

/** A ref that a fork drops, as the design of our refs could have been: it shows what would get lost. */
const droppedOnFork = FiberRef.unsafeMake<string | null>(null, { fork: () => null, join: (parent) => parent })

describe("a fork outlives the turn that it was made in", () => {
  const begun = (
    fork: (self: Effect.Effect<string | null>) => Effect.Effect<Effect.Effect<string | null>, never, Scope.Scope>
  ) =>
    Effect.gen(function* () {
      const turnEnded = yield* Deferred.make<void>()
      const result = yield* inA(fork(Effect.zipRight(Deferred.await(turnEnded), chat)))
      yield* Deferred.succeed(turnEnded, undefined)
      return yield* inB(result)
    })

  it.scoped("door: a worker carries nobody", () =>
    Effect.map(
      begun((self) => Effect.map(Turn.forkWorker(self), Turn.result)),
      (seen) => assert.isNull(seen)
    )
  )

  it.scoped("raw: forkDaemon, forkScoped, forkIn and forkAll keep A for ever (negative control)", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      assert.strictEqual(yield* begun((self) => Effect.map(Effect.forkDaemon(self), awaited)), "A-chatId")
      assert.strictEqual(yield* begun((self) => Effect.map(Effect.forkScoped(self), awaited)), "A-chatId")
      assert.strictEqual(yield* begun((self) => Effect.map(Effect.forkIn(self, scope), awaited)), "A-chatId")
    })
  )
})

describe("who asked and who runs are two", () => {
  it.scoped("door: a fork is the asking turn's, with the tag to prove it", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      yield* inA(
        Effect.gen(function* () {
          assert.strictEqual(yield* Effect.flatMap(Turn.fork(asked), Turn.result), "A-chatId")
          assert.strictEqual(yield* Effect.flatMap(Turn.forkIn(scope)(asked), Turn.result), "A-chatId")
          assert.strictEqual(yield* inB(Effect.flatMap(Turn.forkIn(scope)(asked), Turn.result)), "B")
        })
      )
    })
  )

  it.scoped("raw: a set's runtime is its maker's for all (negative control)", () =>
    Effect.gen(function* () {
      const runInSet = yield* inA(FiberSet.makeRuntime<never>())
      const runInMap = yield* inA(FiberMap.makeRuntime<never, string>())
      const runInHandle = yield* inA(FiberHandle.makeRuntime<never>())
      yield* inB(
        Effect.gen(function* () {
          assert.strictEqual(yield* awaited(runInSet(chat)), "A-chatId")
          assert.strictEqual(yield* awaited(runInMap("key", chat)), "A-chatId")
          assert.strictEqual(yield* awaited(runInHandle(chat)), "A-chatId")
        })
      )
    })
  )

  it.scoped("raw: running in a set is the caller's, but a taken key gives a dead fiber (negative control)", () =>
    Effect.gen(function* () {
      const set = yield* inA(FiberSet.make<string | null>())
      const map = yield* inA(FiberMap.make<string, string | null>())
      assert.strictEqual(yield* inB(Effect.flatMap(FiberSet.run(set, chat), awaited)), "B")
      yield* FiberMap.run(map, "key", Effect.never)
      const second = yield* inB(FiberMap.run(map, "key", chat, { onlyIfMissing: true }))
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(second)))
    })
  )
})

/** Every mechanism, given the effect that observes; each gives all that was observed in it. */
type Mechanism = readonly [
  name: string,
  run: (
    observe: Effect.Effect<string | null, never, Turn.CurrentTurn>
  ) => Effect.Effect<ReadonlyArray<string | null>, unknown, Turn.CurrentTurn | Scope.Scope>,
  keptByDropOnFork: boolean
]

const one = <E, R>(self: Effect.Effect<string | null, E, R>) => Effect.map(self, (seen) => [seen])
const stream = <E, R>(self: Stream.Stream<string | null, E, R>) =>
  Effect.map(Stream.runCollect(self), (seen) => Chunk.toReadonlyArray(seen))

const mechanisms: ReadonlyArray<Mechanism> = [
  ["Effect.all, concurrent", (observe) => Effect.all([observe, observe], { concurrency: 2 }), false],
  ["Effect.all, sequential", (observe) => Effect.all([observe, observe]), true],
  [
    "Effect.forEach, concurrent",
    (observe) => Effect.forEach([1, 2], () => observe, { concurrency: "unbounded" }),
    false
  ],
  ["Effect.forEach, concurrency 1", (observe) => Effect.forEach([1, 2], () => observe, { concurrency: 1 }), true],
  ["Effect.validate, concurrent", (observe) => Effect.validate(observe, observe, { concurrent: true }), false],
  ["Effect.zip, concurrent", (observe) => Effect.zip(observe, observe, { concurrent: true }), false],
  [
    "Effect.filter, concurrent",
    (observe) =>
      Effect.gen(function* () {
        const seen: Array<string | null> = []
        yield* Effect.filter([1, 2], () => Effect.map(observe, (at) => seen.push(at) > 0), { concurrency: 2 })
        return seen
      }),
    false
  ],
  ["Effect.timeout", (observe) => one(Effect.timeout(observe, "1 hour")), false],
  ["Effect.race", (observe) => one(Effect.race(observe, Effect.never)), false],
  ["Effect.raceFirst", (observe) => one(Effect.raceFirst(Effect.never, observe)), false],
  ["Effect.raceAll", (observe) => one(Effect.raceAll([observe, Effect.never, Effect.never])), false],
  ["Effect.disconnect", (observe) => one(Effect.disconnect(observe)), false],
  [
    "Effect.retry",
    (observe) => {
      let left = 2
      const attempt = Effect.flatMap(observe, (seen) => (left-- > 0 ? Effect.fail("again") : Effect.succeed(seen)))
      return one(Effect.retry(attempt, Schedule.recurs(3)))
    },
    true
  ],
  [
    "Effect.repeat",
    (observe) =>
      Effect.gen(function* () {
        const seen: Array<string | null> = []
        yield* Effect.repeat(
          Effect.map(observe, (at) => seen.push(at)),
          Schedule.recurs(2)
        )
        return seen
      }),
    true
  ],
  [
    "Effect.schedule",
    (observe) =>
      Effect.gen(function* () {
        const seen: Array<string | null> = []
        yield* Effect.schedule(
          Effect.map(observe, (at) => seen.push(at)),
          Schedule.recurs(2)
        )
        return seen
      }),
    true
  ],
  ["Effect.scoped", (observe) => one(Effect.scoped(observe)), true],
  ["Effect.withSpan", (observe) => one(Effect.withSpan(observe, "span")), true],
  [
    "Effect.acquireUseRelease",
    (observe) =>
      Effect.gen(function* () {
        const seen: Array<string | null> = []
        const note = Effect.map(observe, (at) => seen.push(at))
        yield* Effect.acquireUseRelease(
          note,
          () => note,
          () => note
        )
        return seen
      }),
    true
  ],
  ["Effect.uninterruptible", (observe) => one(Effect.uninterruptible(observe)), true],
  ["Effect.async, resumed with an effect", (observe) => one(Effect.async((resume) => resume(observe))), true],
  ["Stream.mapEffect", (observe) => stream(Stream.mapEffect(Stream.make(1, 2), () => observe)), false],
  [
    "Stream.mapEffect, concurrent",
    (observe) => stream(Stream.mapEffect(Stream.make(1, 2, 3), () => observe, { concurrency: 3 })),
    false
  ],
  ["Stream.flatMap", (observe) => stream(Stream.flatMap(Stream.make(1, 2), () => Stream.fromEffect(observe))), false],
  ["Stream.merge", (observe) => stream(Stream.merge(Stream.fromEffect(observe), Stream.fromEffect(observe))), false],
  ["Stream.buffer", (observe) => stream(Stream.buffer(Stream.fromEffect(observe), { capacity: 2 })), false],
  [
    "Stream.asyncPush",
    (observe) =>
      stream(
        Stream.asyncPush<string | null, never, Turn.CurrentTurn>((emit) =>
          Effect.map(observe, (at) => {
            emit.single(at)
            emit.end()
          }).pipe(Effect.asVoid)
        )
      ),
    false
  ],
  [
    "Stream.fromAsyncIterable",
    (observe) =>
      stream(
        Stream.mapEffect(
          Stream.fromAsyncIterable(
            (async function* () {
              yield 1
              await Promise.resolve()
              yield 2
            })(),
            () => "failed"
          ),
          () => observe
        )
      ),
    false
  ]
]

describe("within a turn, each mechanism runs in the turn of who runs it", () => {
  for (const [name, run, keptByDropOnFork] of mechanisms) {
    it.scopedLive(name, () =>
      Effect.gen(function* () {
        const seen = yield* inA(run(asked))
        assert.isAtLeast(seen.length, 1)
        for (const at of seen) assert.strictEqual(at, "A-chatId")
        const nested = yield* inA(inB(run(asked)))
        for (const at of nested) assert.strictEqual(at, "B")
        const dropped = yield* inA(Effect.locally(run(FiberRef.get(droppedOnFork)), droppedOnFork, "A"))
        assert.strictEqual(
          dropped.every((at) => at === "A"),
          keptByDropOnFork,
          "what a ref that is dropped on fork would have lost here (negative control)"
        )
      })
    )
  }

  it.live("a stream that was built in A and is run in B is B's", () =>
    Effect.gen(function* () {
      const built = yield* inA(Effect.succeed(Stream.mapEffect(Stream.make(1, 2), () => asked)))
      assert.deepStrictEqual(yield* inB(stream(built)), ["B", "B"])
    })
  )
})

describe("shared streams are banned: their elements are produced by the first subscriber", () => {
  it.scopedLive("raw: Stream.share gives B what A's fiber produced (negative control)", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const source = Stream.mapEffect(Stream.make(1, 2, 3), (item) =>
        item === 1 ? chat : Effect.zipRight(Deferred.await(gate), chat)
      )
      const shared = yield* Stream.share(source, { capacity: 16, replay: 3 })
      const first = yield* inA(Effect.fork(stream(shared)))
      yield* settle
      const second = yield* inB(Effect.fork(stream(shared)))
      yield* settle
      yield* Deferred.succeed(gate, undefined)
      yield* awaited(first)
      const seenByB = yield* awaited(second)
      assert.include(seenByB, "A-chatId")
      assert.notInclude(seenByB, "B")
    })
  )
})

describe("Effect.schedule for ever", () => {
  const forever = Schedule.recurs(1_000_000)

  it.scoped("door: forked as a worker it carries nobody", () =>
    Effect.gen(function* () {
      const seen: Array<string | null> = []
      yield* inA(
        Turn.forkWorker(
          Effect.schedule(
            Effect.map(chat, (at) => seen.push(at)),
            forever
          )
        )
      )
      yield* inB(settle)
      assert.isAbove(seen.length, 1)
      assert.isTrue(seen.every((at) => at === null))
    })
  )

  it.scoped("raw: forked in a turn it keeps the turn after its end (negative control)", () =>
    Effect.gen(function* () {
      const seen: Array<string | null> = []
      yield* inA(
        Effect.forkScoped(
          Effect.schedule(
            Effect.map(chat, (at) => seen.push(at)),
            forever
          )
        )
      )
      yield* inB(settle)
      assert.isAbove(seen.length, 1)
      assert.isTrue(seen.every((at) => at === "A-chatId"))
    })
  )
})
