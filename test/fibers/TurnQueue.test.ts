import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Scope } from "effect"
import * as Turn from "../../src/fibers/Turn.js"
import * as TurnQueue from "../../src/fibers/TurnQueue.js"
import { A, B, chatOf, logged, marked, noTraces, settle, traces } from "./support/turns.js"

const chat = Effect.map(Effect.zipRight(Turn.current, Effect.flatMap(Turn.fork(Turn.peek), Turn.result)), chatOf)

describe("TurnQueue", () => {
  it.scoped("its consumer, started in A, handles each item in the turn that offered it", () =>
    Effect.gen(function* () {
      const queue = yield* TurnQueue.make<string>(8)
      const seen: Array<readonly [string, string | null]> = []
      yield* Turn.enter(A)(
        Turn.forkWorker(queue.consume((item) => Effect.map(chat, (at) => void seen.push([item, at]))))
      )
      yield* Turn.enter(B)(queue.offer("of B"))
      yield* Turn.enter(A)(queue.offer("of A"))
      yield* Turn.enter(B)(queue.offer("of B again"))
      yield* settle
      assert.deepStrictEqual(seen, [
        ["of B", "B"],
        ["of A", "A-chatId"],
        ["of B again", "B"]
      ])
    })
  )

  it.scoped("a plain queue's consumer started in A handles all of it as A (negative control)", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.bounded<string>(8)
      const seen: Array<string | null> = []
      yield* Turn.enter(A)(
        Effect.forkScoped(
          Effect.forever(
            Effect.zipRight(
              Queue.take(queue),
              Effect.map(Turn.peek, (at) => void seen.push(chatOf(at)))
            )
          )
        )
      )
      yield* Turn.enter(B)(Queue.offer(queue, "of B"))
      yield* settle
      assert.deepStrictEqual(seen, ["A-chatId"])
    })
  )

  it.scoped("a queue of effects loses the turn of who offered them (negative control)", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.bounded<Effect.Effect<void>>(8)
      const seen: Array<string | null> = []
      yield* Turn.forkWorker(Effect.forever(Effect.flatten(Queue.take(queue))))
      yield* Turn.enter(B)(
        Queue.offer(
          queue,
          Effect.map(Turn.peek, (at) => void seen.push(chatOf(at)))
        )
      )
      yield* settle
      assert.deepStrictEqual(seen, [null])
    })
  )

  it.scoped("between items the consumer carries nobody", () =>
    Effect.gen(function* () {
      const queue = yield* TurnQueue.make<number>(8)
      const around: Array<unknown> = []
      yield* marked(A)(
        Effect.gen(function* () {
          const consume = Effect.onInterrupt(
            queue.consume(() => Effect.void),
            () => Effect.map(traces, (at) => void around.push(at))
          )
          const worker = yield* Turn.forkWorker(consume)
          yield* queue.offer(1)
          yield* settle
          yield* Turn.interrupt(worker)
        })
      )
      assert.deepStrictEqual(around, [noTraces])
    })
  )

  it.scoped("a failing, a dying and an interrupted item are logged and do not stop the next", () =>
    Effect.gen(function* () {
      const queue = yield* TurnQueue.make<Effect.Effect<void, string>>(8)
      const handled = yield* Deferred.make<string | null>()
      const offer = (item: Effect.Effect<void, string>) => Turn.enter(B)(queue.offer(item))
      const [, lines] = yield* logged(
        Effect.gen(function* () {
          yield* Turn.forkWorker(queue.consume((item) => item))
          yield* offer(Effect.fail("no"))
          yield* offer(Effect.die("bad"))
          yield* offer(Effect.interrupt)
          yield* offer(
            Effect.fork(Effect.never).pipe(
              Effect.flatMap((fiber) => Fiber.interrupt(fiber)),
              Effect.flatten
            )
          )
          yield* offer(Effect.void)
          yield* Turn.enter(A)(queue.offer(Effect.flatMap(Turn.peek, (at) => Deferred.succeed(handled, chatOf(at)))))
          assert.strictEqual(yield* Deferred.await(handled), "A-chatId")
        })
      )
      assert.deepStrictEqual(
        lines.map((line) => `${line.level} ${line.message}`).filter((line) => line.includes("queued item")),
        [
          "ERROR a queued item failed",
          "ERROR a queued item failed",
          "WARN a queued item was interrupted",
          "WARN a queued item was interrupted"
        ]
      )
    })
  )

  it.effect("ends when the consumer itself is interrupted, in the middle of an item too", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const queue = yield* TurnQueue.make<number>(8)
      const worker = yield* Turn.forkWorker(queue.consume(() => Effect.never)).pipe(Scope.extend(scope))
      yield* Turn.enter(A)(queue.offer(1))
      yield* Turn.enter(A)(queue.offer(2))
      yield* settle
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isInterrupted(yield* Turn.exit(worker)))
      assert.strictEqual(yield* queue.size, 1)
    })
  )

  it.effect("refuses at its capacity and says so", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const queue = yield* TurnQueue.make<number>(2)
        assert.deepStrictEqual(yield* Effect.forEach([1, 2, 3], queue.offer), [true, true, false])
        assert.strictEqual(yield* queue.size, 2)
      })
    )
  )
})
