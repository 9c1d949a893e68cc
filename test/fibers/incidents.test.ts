/**
 * The five shapes that every incident of the original had (gateway.md 1.1), each told with the doors and once without
 * them. Everything is asserted where it is consumed: in the worker or in the child's environment.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../src/fibers/ChildEnvironment.js"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as Field from "../../src/fibers/Field.js"
import * as Turn from "../../src/fibers/Turn.js"
import * as TurnQueue from "../../src/fibers/TurnQueue.js"
import { A, B, chatOf, cronTurn, factsOf, fullTurn, settle, turn } from "./support/turns.js"

const awaited = <X, E>(fiber: Fiber.Fiber<X, E>) => Effect.flatten(Fiber.await(fiber))
const childSees = (name: string) =>
  Effect.map(ChildEnvironment.make({ home: "/home" }), (environment) => environment[name])
const childsChat = childSees("HERMES_SESSION_CHAT_ID")
const poison = Effect.provide(AmbientEnvironment.layer({ HERMES_SESSION_CHAT_ID: "foreign" }))

describe("I-1: a handler is started from a context that holds another message's values", () => {
  /** B's handler starts inside A's turn and starts a child process before it has bound B. */
  const handlerOfB = (
    handler: Effect.Effect<ReadonlyArray<string | undefined>, never, AmbientEnvironment.AmbientEnvironment>
  ) => Turn.enter(A)(Effect.flatMap(Effect.forkDaemon(handler), awaited))

  it.effect("door: admission's Turn.cleared makes the window empty, and the turn fills it", () =>
    Effect.gen(function* () {
      const seen = yield* handlerOfB(Turn.cleared(Effect.all([childsChat, Turn.enter(B)(childsChat), childsChat])))
      assert.deepStrictEqual(seen, ["", "B", ""])
    }).pipe(poison)
  )

  it.effect("without it the early child is told A's chat (negative control)", () =>
    Effect.gen(function* () {
      const seen = yield* handlerOfB(Effect.all([childsChat, Turn.enter(B)(childsChat)]))
      assert.deepStrictEqual(seen, ["A-chatId", "B"])
    }).pipe(poison)
  )
})

describe("I-2: a queued follow-up runs inside of another turn", () => {
  it.effect("door: what runs is entered by what is queued, so B's follow-up inside A is B's, and A is A's again", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const queued = B
        const seen = yield* Turn.enter(queued)(Effect.flatMap(Turn.fork(Turn.peek), Turn.result))
        assert.deepStrictEqual(seen, factsOf(B))
        assert.deepStrictEqual(yield* Effect.flatMap(Turn.fork(Turn.peek), Turn.result), factsOf(A))
      })
    )
  )

  it.effect("a left-over steering text of the same session replaces the anchor by none", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const steered = fullTurn("A", { identity: A.identity.with("messageId", Field.cleared) })
        const anchor = childSees("HERMES_SESSION_MESSAGE_ID")
        assert.deepStrictEqual(yield* Effect.all([anchor, Turn.enter(steered)(anchor), anchor]), [
          "A-messageId",
          "",
          "A-messageId"
        ])
      })
    ).pipe(poison)
  )

  it.effect("calling the loop again without entering runs it with A's whole identity (negative control)", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const loop = Effect.flatMap(Effect.fork(Turn.peek), awaited)
        assert.deepStrictEqual(yield* loop, factsOf(A))
      })
    )
  )
})

describe("I-3: a process-wide flag is set by one job and never taken back", () => {
  const interactive = Turn.enter(B)(Effect.zip(AmbientEnvironment.isCron, childSees("HERMES_CRON_SESSION")))

  it.effect("door: the marker is the run's own; a chat's turn during and after it is not cron", () =>
    Effect.gen(function* () {
      const running = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const job = yield* Effect.fork(
        Turn.enter(cronTurn("C"))(
          Effect.zipRight(
            Effect.zipRight(Deferred.succeed(running, undefined), Deferred.await(go)),
            AmbientEnvironment.isCron
          )
        )
      )
      yield* Deferred.await(running)
      assert.deepStrictEqual(yield* interactive, [false, ""])
      yield* Deferred.succeed(go, undefined)
      assert.isTrue(yield* awaited(job))
      assert.deepStrictEqual(yield* interactive, [false, ""])
      assert.isFalse(yield* AmbientEnvironment.isCron)
    }).pipe(poison)
  )

  it.effect("a latched environment would make an unbound turn cron; a bound one masks it (negative control)", () =>
    Effect.gen(function* () {
      const latched = Effect.provide(AmbientEnvironment.layer({ HERMES_CRON_SESSION: "1" }))
      const unbound = Turn.enter(turn("B", { marker: CronMarker.unset }))(AmbientEnvironment.isCron)
      assert.isTrue(yield* latched(unbound))
      assert.deepStrictEqual(yield* latched(interactive), [false, ""])
    })
  )
})

describe("I-4: a worker boundary drops the facts", () => {
  const delegated = Turn.delegate({ id: Turn.TurnId.make("d"), sessionKey: "k", sessionId: "s" })
  const seenByChild = Effect.zip(AmbientEnvironment.isCron, childSees("HERMES_CRON_AUTO_DELIVER_CHAT_ID"))

  it.scoped("door: a delegate in a pool's worker is cron and knows the job's target", () =>
    Effect.gen(function* () {
      const queue = yield* TurnQueue.make<Deferred.Deferred<readonly [boolean, string | undefined]>>(4)
      yield* Turn.forkWorker(
        queue.consume((reply) => Effect.flatMap(delegated(seenByChild), (seen) => Deferred.succeed(reply, seen)))
      )
      const reply = yield* Deferred.make<readonly [boolean, string | undefined]>()
      yield* Turn.enter(cronTurn("C"))(queue.offer(reply))
      assert.deepStrictEqual(yield* Deferred.await(reply), [true, "C"])
    }).pipe(poison)
  )

  it.scoped("handing the work to a bare worker flips it to not cron (negative control)", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.bounded<Deferred.Deferred<readonly [boolean, string | undefined]>>(4)
      yield* Turn.forkWorker(
        Effect.flatMap(Queue.take(queue), (reply) =>
          Effect.flatMap(seenByChild, (seen) => Deferred.succeed(reply, seen))
        )
      )
      const reply = yield* Deferred.make<readonly [boolean, string | undefined]>()
      yield* Turn.enter(cronTurn("C"))(Queue.offer(queue, reply))
      assert.deepStrictEqual(yield* Deferred.await(reply), [false, undefined])
    }).pipe(poison)
  )
})

describe("I-5: a child process inherits a mirror that belongs to another session", () => {
  it.effect("door: nothing writes a mirror, and what is inherited is overwritten or gone", () =>
    Effect.gen(function* () {
      const threads = Effect.all([childsChat, childSees("HERMES_SESSION_THREAD_ID")])
      assert.deepStrictEqual(yield* Turn.enter(B)(threads), ["B", ""])
      assert.deepStrictEqual(yield* threads, [undefined, undefined])
      yield* Turn.enter(A)(Turn.withSessionId("rotated")(settle))
      assert.notStrictEqual(process.env["HERMES_SESSION_ID"], "rotated")
      assert.isFalse(Object.keys(process.env).some((name) => name.startsWith("HERMES_SESSION_")))
    }).pipe(
      Effect.provide(
        AmbientEnvironment.layer({ HERMES_SESSION_CHAT_ID: "foreign", HERMES_SESSION_THREAD_ID: "foreign" })
      )
    )
  )

  it.effect("a mirror in one shared variable is the last writer's (negative control)", () =>
    Effect.gen(function* () {
      const mirror: Record<string, string> = {}
      const enterMirrored = (of: Turn.Turn) => (self: Effect.Effect<string | undefined>) =>
        Effect.zipRight(
          Effect.sync(() => {
            mirror["HERMES_SESSION_CHAT_ID"] = chatOf(factsOf(of)) ?? ""
          }),
          self
        )
      const child = Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => mirror["HERMES_SESSION_CHAT_ID"])
      )
      const seen = yield* Effect.all([enterMirrored(A)(child), enterMirrored(B)(child)], { concurrency: 2 })
      assert.deepStrictEqual(seen, ["B", "B"])
    })
  )
})
