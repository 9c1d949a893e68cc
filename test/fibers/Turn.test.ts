import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, FiberRef, Option, Ref, Scope } from "effect"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import * as Capabilities from "../../src/fibers/Capabilities.js"
import * as ChildEnvironment from "../../src/fibers/ChildEnvironment.js"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../src/fibers/DeliveryOrigin.js"
import * as Field from "../../src/fibers/Field.js"
import * as facts from "../../src/fibers/internal/facts.js"
import * as Nursery from "../../src/fibers/Nursery.js"
import { Parcel } from "../../src/fibers/Parcel.js"
import * as Presence from "../../src/fibers/Presence.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import * as Turn from "../../src/fibers/Turn.js"
import * as WorkingDirectory from "../../src/fibers/WorkingDirectory.js"
import {
  A,
  B,
  chatOf,
  cronTurn,
  factsOf,
  fullTurn,
  logged,
  marked,
  nobody,
  noTraces,
  settle,
  traces,
  turn
} from "./support/turns.js"

/** Reads the facts where they are consumed: in a child fiber. */
const inChild = Effect.flatMap(Turn.fork(Turn.peek), Turn.result)

const mismatchOf = (exit: Exit.Exit<unknown, unknown>): Turn.TurnMismatch["fact"] | null =>
  Exit.isFailure(exit)
    ? Option.match(Cause.dieOption(exit.cause), {
        onNone: () => null,
        onSome: (defect) => (defect instanceof Turn.TurnMismatch ? defect.fact : null)
      })
    : null

describe("Turn.enter", () => {
  it.effect("binds the three facts, the tag, the capability and the directory", () =>
    Effect.gen(function* () {
      const of = fullTurn("A", { asyncDelivery: false, workingDirectory: "/work/a" })
      yield* Turn.enter(of)(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* inChild, factsOf(of))
          assert.strictEqual((yield* Turn.current).id, of.id)
          assert.isFalse(yield* Capabilities.asyncDeliverySupported)
          assert.deepStrictEqual(yield* WorkingDirectory.pinned, Option.some("/work/a"))
        })
      )
      assert.deepStrictEqual(yield* Turn.peek, nobody)
    }).pipe(Effect.provide(AmbientEnvironment.layer({})))
  )

  it.effect("A→B→A: B has none of A's fields, and A is whole again afterwards", () =>
    Effect.gen(function* () {
      yield* Turn.enter(A)(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* inChild, factsOf(A))
          yield* Turn.enter(B)(
            Effect.gen(function* () {
              const carried = yield* inChild
              assert.deepStrictEqual(carried, factsOf(B))
              for (const name of SessionIdentity.fieldNames) {
                const given = ["platform", "chatId", "sessionKey", "sessionId"].includes(name)
                assert.strictEqual(carried.identity[name]._tag, given ? "Value" : "Cleared", name)
              }
            })
          )
          assert.deepStrictEqual(yield* inChild, factsOf(A))
          assert.strictEqual((yield* Turn.current).id, A.id)
        })
      )
      assert.deepStrictEqual(yield* Turn.peek, nobody)
    })
  )

  it.effect("a turn that binds only what it has would leave A's fields in B (negative control)", () => {
    const enterGivenFieldsOnly =
      (of: Turn.Turn) =>
      <X, E, R>(self: Effect.Effect<X, E, R>) =>
        Effect.flatMap(FiberRef.get(facts.identityRef), (outer) => {
          const kept = SessionIdentity.fieldNames.filter((name) => of.identity[name]._tag !== "Value")
          const identity = kept.reduce((inner, name) => inner.with(name, outer[name]), of.identity)
          return Effect.locally(self, facts.identityRef, identity)
        })
    return Turn.enter(A)(
      enterGivenFieldsOnly(B)(
        Effect.map(Turn.peek, ({ identity }) => {
          assert.strictEqual(Field.valueOrNull(identity.chatId), "B")
          assert.strictEqual(Field.valueOrNull(identity.messageId), "A-messageId")
        })
      )
    )
  })

  it.effect("restores the outer turn after a failure, a defect and an interruption", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const ends: ReadonlyArray<readonly [string, Effect.Effect<never, string>]> = [
          ["failure", Effect.fail("no")],
          ["defect", Effect.die("no")],
          ["interruption", Effect.interrupt],
          ["thrown", Effect.sync(() => assert.fail("thrown"))]
        ]
        for (const [name, end] of ends) {
          const exit = yield* Effect.exit(Turn.enter(B)(Effect.zipRight(inChild, end)))
          assert.isTrue(Exit.isFailure(exit), name)
          assert.deepStrictEqual(yield* inChild, factsOf(A), name)
          assert.strictEqual((yield* Turn.current).id, A.id, name)
        }
        const entered = yield* Deferred.make<void>()
        const inner = yield* Effect.fork(
          Effect.ensuring(
            Turn.enter(B)(Effect.zipRight(Deferred.succeed(entered, undefined), Effect.never)),
            Effect.map(Turn.peek, (carried) => assert.deepStrictEqual(carried, factsOf(A)))
          )
        )
        yield* Deferred.await(entered)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(inner)))
        assert.deepStrictEqual(yield* inChild, factsOf(A))
      })
    )
  )

  it.effect("puts back what was there before, be it nobody or explicitly nobody", () =>
    Effect.gen(function* () {
      yield* Turn.enter(A)(Effect.void)
      assert.deepStrictEqual(yield* Turn.peek, nobody)
      yield* Turn.cleared(
        Effect.gen(function* () {
          yield* Turn.enter(A)(Effect.void)
          const { identity, marker, origin } = yield* Turn.peek
          assert.deepStrictEqual(
            { identity, marker: marker._tag, origin: origin._tag },
            {
              identity: SessionIdentity.cleared,
              marker: "NotCron",
              origin: "Cleared"
            }
          )
        })
      )
    })
  )

  it.effect("takes every fact from its own argument, also in a turn that holds a marker", () =>
    Turn.enter(cronTurn("C"))(
      Effect.gen(function* () {
        const carried = yield* Turn.enter(B)(inChild)
        assert.deepStrictEqual(carried, factsOf(B))
        const unmarked = yield* Turn.enter(turn("D", { marker: CronMarker.unset, origin: DeliveryOrigin.unset }))(
          inChild
        )
        assert.strictEqual(unmarked.marker._tag, "Unset")
        assert.strictEqual(unmarked.origin._tag, "Unset")
      })
    )
  )

  it.effect("engages the process for ever, as soon as it runs", () =>
    Effect.gen(function* () {
      facts.unsafeDisengage()
      const entered = Turn.enter(A)(Turn.engaged)
      assert.isFalse(yield* Turn.engaged)
      assert.isTrue(yield* entered)
      assert.isTrue(yield* Turn.engaged)
    })
  )
})

describe("Turn.withSessionId", () => {
  it.effect("moves the session id in the facts, the tag, forks and parcels, and nothing else", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const moved = A.identity.with("sessionId", Field.of("rotated"))
        yield* Turn.withSessionId("rotated")(
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* inChild, { ...factsOf(A), identity: moved })
            const current = yield* Turn.current
            assert.deepStrictEqual(current.identity, moved)
            assert.strictEqual(current.id, A.id)
            const parcel = yield* Parcel.pack("value")
            const opened = yield* Turn.enter(B)(Parcel.open(parcel, () => Turn.peek))
            assert.deepStrictEqual(opened.identity, moved)
          })
        )
        assert.deepStrictEqual(yield* inChild, factsOf(A))
      })
    )
  )

  it.effect("is undone after a failure and by an inner one, and never touches the environment", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const id = AmbientEnvironment.read("HERMES_SESSION_ID")
        yield* Turn.withSessionId("one")(
          Effect.gen(function* () {
            yield* Effect.exit(Turn.withSessionId("two")(Effect.zipRight(id, Effect.fail("no"))))
            assert.strictEqual(yield* id, "one")
            yield* Turn.withSessionId("")(Effect.map(id, (empty) => assert.strictEqual(empty, "")))
          })
        )
        assert.strictEqual(yield* id, "A-sessionId")
        assert.strictEqual((yield* AmbientEnvironment.AmbientEnvironment)["HERMES_SESSION_ID"], "at-start")
      })
    ).pipe(Effect.provide(AmbientEnvironment.layer({ HERMES_SESSION_ID: "at-start" })))
  )
})

describe("Turn.current", () => {
  it.effect("dies when a fiber of another turn was joined", () =>
    Effect.gen(function* () {
      const requestA = yield* Effect.fork(Turn.enter(A)(Effect.forkDaemon(Effect.yieldNow())))
      const ofA = yield* Effect.flatten(Fiber.await(requestA))
      const requestB = yield* Effect.fork(Turn.enter(B)(Effect.exit(Effect.zipRight(Fiber.join(ofA), Turn.current))))
      assert.strictEqual(mismatchOf(yield* Effect.flatten(Fiber.await(requestB))), "identity")
    })
  )

  it.effect("the result of a fiber of another turn changes nothing", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const ofA = yield* Turn.enter(A)(Turn.forkIn(scope)(Effect.succeed("from A")))
      yield* marked(B)(
        Effect.gen(function* () {
          const before = yield* traces
          assert.strictEqual(yield* Turn.result(ofA), "from A")
          assert.deepStrictEqual(yield* traces, before)
          assert.strictEqual((yield* Turn.current).id, B.id)
        })
      )
    }).pipe(Effect.scoped)
  )

  it.effect("dies when the context was captured in another turn", () =>
    Effect.gen(function* () {
      const context = yield* Turn.enter(A)(Effect.context<Turn.CurrentTurn>())
      const inB = yield* Turn.enter(B)(Effect.exit(Effect.provide(Turn.current, context)))
      assert.strictEqual(mismatchOf(inB), "identity")
      const outside = yield* Effect.exit(Effect.provide(Turn.current, context))
      assert.strictEqual(mismatchOf(outside), "identity")
      const late = yield* Turn.cleared(Effect.exit(Effect.provide(Turn.current, context)))
      assert.strictEqual(mismatchOf(late), "identity")
    })
  )

  it.effect("dies on another marker, another origin and an earlier turn of the same conversation", () =>
    Effect.gen(function* () {
      const ask = (tag: Turn.Turn) => Effect.exit(Effect.provideService(Turn.current, Turn.CurrentTurn, tag))
      const of = (over: Partial<Turn.Turn>) => new Turn.Turn({ ...B, ...over })
      const cron = CronMarker.cron({ job: "j", run: "r" })
      yield* Turn.enter(B)(
        Effect.gen(function* () {
          assert.strictEqual(mismatchOf(yield* ask(of({ marker: cron }))), "marker")
          assert.strictEqual(mismatchOf(yield* ask(of({ marker: CronMarker.unset }))), "marker")
          const elsewhere = DeliveryOrigin.live(
            DeliveryOrigin.address({ platform: "telegram", chatId: "B", threadId: "1" })
          )
          assert.strictEqual(mismatchOf(yield* ask(of({ origin: elsewhere }))), "origin")
          assert.strictEqual(mismatchOf(yield* ask(of({ origin: DeliveryOrigin.chained(B.origin) }))), "origin")
          assert.strictEqual(mismatchOf(yield* ask(of({ id: Turn.TurnId.make("turn-before") }))), "turn")
          assert.isTrue(Exit.isSuccess(yield* ask(of({}))))
        })
      )
      const twoRuns = (run: string) => new Turn.Turn({ ...cronTurn("C"), marker: CronMarker.cron({ job: "j", run }) })
      yield* Turn.enter(twoRuns("1"))(
        Effect.map(ask(twoRuns("2")), (exit) => assert.strictEqual(mismatchOf(exit), "marker"))
      )
    })
  )

  it.effect("every door that carries the turn asks it, so none carries a wrong one on", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const context = yield* Turn.enter(A)(Effect.context<Turn.CurrentTurn>())
      const doors: ReadonlyArray<readonly [string, Effect.Effect<unknown, never, Turn.CurrentTurn>]> = [
        ["fork", Turn.fork(Effect.void)],
        ["forkIn", Turn.forkIn(scope)(Effect.void)],
        ["runner", Turn.runner()],
        ["pack", Parcel.pack(1)],
        ["withSessionId", Turn.withSessionId("s")(Effect.void)],
        ["delegate", Turn.delegate({ id: Turn.TurnId.make("d"), sessionKey: "k", sessionId: "s" })(Effect.void)]
      ]
      for (const [name, door] of doors) {
        const exit = yield* Turn.enter(B)(Effect.exit(Effect.provide(door, context)))
        assert.strictEqual(mismatchOf(exit), "identity", name)
      }
    }).pipe(Effect.scoped)
  )

  it("says in a sentence what happened", () => {
    const error = new Turn.TurnMismatch({ turn: A.id, fact: "origin" })
    assert.strictEqual(error.message, "turn turn-A was asked for in a fiber that carries another origin")
  })
})

const child = { id: Turn.TurnId.make("child"), sessionKey: "child-key", sessionId: "child-session" }

describe("Turn.delegate", () => {
  it.effect("lends the marker, the routing, the presence and the directory, and nothing else", () =>
    Effect.gen(function* () {
      const parent = fullTurn("A", {
        marker: CronMarker.cron({ job: "j", run: "r", createdBy: { platform: "telegram", userId: "u" } }),
        presence: Presence.human("A-key"),
        asyncDelivery: true,
        workingDirectory: "/work/a",
        depth: 0
      })
      yield* Turn.enter(parent)(
        Turn.delegate(child)(
          Effect.gen(function* () {
            const carried = yield* inChild
            assert.deepStrictEqual(carried.marker, parent.marker)
            assert.strictEqual(carried.origin._tag, "Routing")
            assert.isTrue(DeliveryOrigin.continues(parent.origin, carried.origin))
            const own: Record<string, string> = { source: "tool", sessionKey: "child-key", sessionId: "child-session" }
            for (const name of SessionIdentity.fieldNames) {
              const value = own[name]
              assert.deepStrictEqual(
                carried.identity[name],
                value === undefined ? Field.cleared : Field.of(value),
                name
              )
            }
            const current = yield* Turn.current
            assert.deepStrictEqual(current.presence, parent.presence)
            assert.strictEqual(current.workingDirectory, "/work/a")
            assert.deepStrictEqual(yield* WorkingDirectory.pinned, Option.some("/work/a"))
            assert.strictEqual(current.parent, parent.id)
            assert.strictEqual(current.depth, 1)
            assert.isFalse(yield* Capabilities.asyncDeliverySupported)
            assert.isFalse(yield* Capabilities.isMessagingSurface)
          })
        )
      )
    }).pipe(Effect.provide(AmbientEnvironment.layer({})))
  )

  it.effect("puts a worktree in the directory's place, for whoever it delegates to as well, and for nobody else", () =>
    Turn.enter(turn("A", { workingDirectory: "/work/a" }))(
      Effect.gen(function* () {
        const pinned = Effect.all([
          Effect.map(Turn.current, (current) => current.workingDirectory),
          Effect.map(WorkingDirectory.pinned, Option.getOrNull)
        ])
        const own = Turn.delegate({ ...child, worktree: "/work/b" })
        assert.deepStrictEqual(yield* own(pinned), ["/work/b", "/work/b"])
        assert.deepStrictEqual(yield* own(Turn.delegate({ ...child, worktree: null })(pinned)), ["/work/b", "/work/b"])
        assert.deepStrictEqual(yield* Turn.delegate(child)(pinned), ["/work/a", "/work/a"])
        assert.deepStrictEqual(yield* pinned, ["/work/a", "/work/a"])
      })
    )
  )

  it.effect("chains to grandchildren: same chat, same marker, depth counted", () =>
    Effect.gen(function* () {
      for (const parent of [fullTurn("A"), cronTurn("C"), turn("D", { origin: DeliveryOrigin.cleared })]) {
        const depths: Array<number> = []
        const down = (left: number): Effect.Effect<void, never, Turn.CurrentTurn> =>
          Effect.gen(function* () {
            const current = yield* Turn.current
            const carried = yield* inChild
            depths.push(current.depth)
            assert.isTrue(CronMarker.same(parent.marker, carried.marker))
            assert.isTrue(DeliveryOrigin.continues(parent.origin, carried.origin))
            if (left === 0) return
            const id = Turn.TurnId.make(`${parent.id}-${left}`)
            yield* Turn.delegate({ ...child, id })(
              Effect.zipRight(
                Effect.map(Turn.current, (inner) => assert.strictEqual(inner.parent, current.id)),
                down(left - 1)
              )
            )
          })
        yield* Turn.enter(parent)(down(3))
        assert.deepStrictEqual(depths, [0, 1, 2, 3])
      }
    })
  )

  it.effect("a delegate of an interactive turn is not over-marked, and nothing stays behind", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        yield* Turn.delegate(child)(
          Effect.gen(function* () {
            assert.strictEqual((yield* inChild).marker._tag, "NotCron")
            assert.isFalse(yield* AmbientEnvironment.isCron)
            assert.strictEqual(yield* AmbientEnvironment.read("HERMES_CRON_SESSION", "asked"), "")
          })
        )
        yield* Turn.enter(cronTurn("C"))(Turn.delegate(child)(Effect.void))
        assert.deepStrictEqual(yield* inChild, factsOf(A))
        assert.isFalse(yield* AmbientEnvironment.isCron)
      })
    ).pipe(Effect.provide(AmbientEnvironment.layer({ HERMES_CRON_SESSION: "1" })))
  )

  it.effect("a cron run's delegate stays cron in every fiber and child environment of its own", () =>
    Turn.enter(cronTurn("C"))(
      Turn.delegate(child)(
        Effect.gen(function* () {
          assert.isTrue(yield* Effect.flatMap(Turn.fork(AmbientEnvironment.isCron), Turn.result))
          const environment = yield* ChildEnvironment.make({ home: "/home/h" })
          assert.strictEqual(environment["HERMES_CRON_SESSION"], "1")
          assert.strictEqual(environment["HERMES_CRON_JOB_ID"], "job-C")
          assert.strictEqual(environment["HERMES_SESSION_PLATFORM"], "")
          assert.strictEqual(environment["HERMES_CRON_AUTO_DELIVER_CHAT_ID"], "C")
        })
      )
    ).pipe(Effect.provide(AmbientEnvironment.layer({})))
  )

  it.effect("binding a fresh identity instead would drop the marker (negative control)", () =>
    Turn.enter(cronTurn("C"))(
      Effect.gen(function* () {
        const fresh = turn("child", { marker: CronMarker.unset, depth: 1 })
        assert.isFalse(yield* Turn.enter(fresh)(AmbientEnvironment.isCron))
      })
    ).pipe(Effect.provide(AmbientEnvironment.layer({})))
  )

  it.effect("runs under the profile of the process, when there is one", () =>
    Turn.enter(A)(
      Turn.delegate({ ...child, profile: "work" })(
        Effect.map(inChild, ({ identity }) => assert.strictEqual(Field.valueOrNull(identity.profile), "work"))
      )
    )
  )
})

describe("Turn.fork, Turn.forkIn", () => {
  it.effect("bind the child to the turn that asked, whichever fiber runs it", () =>
    Effect.gen(function* () {
      const askedByA = Turn.fork(Effect.zip(Turn.peek, Turn.current))
      const [carried, current] = yield* Turn.enter(A)(Effect.flatMap(askedByA, Turn.result))
      assert.deepStrictEqual(carried, factsOf(A))
      assert.strictEqual(current.id, A.id)
    })
  )

  it.effect("a fork ends with the fiber that asked; one in a scope outlives it and ends with the scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const ended: Array<string> = []
      const note = (name: string) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended.push(name)))
      const started = yield* Turn.enter(A)(
        Effect.all([Turn.fork(note("fork")), Turn.forkIn(scope)(note("forkIn"))], { concurrency: 1 }).pipe(
          Effect.zipLeft(settle),
          Effect.fork,
          Effect.flatMap((fiber) => Effect.flatten(Fiber.await(fiber)))
        )
      )
      yield* settle
      assert.deepStrictEqual(ended, ["fork"])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(ended, ["fork", "forkIn"])
      assert.isTrue(Exit.isInterrupted(yield* Turn.exit(started[1])))
    })
  )

  it.effect("give the outcome without taking part in it", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const failing = yield* Turn.fork(Effect.fail("no"))
        assert.deepStrictEqual(yield* Turn.exit(failing), Exit.fail("no"))
        assert.strictEqual(yield* Effect.flip(Turn.result(failing)), "no")

        const cleaned = yield* Ref.make(false)
        const slow = yield* Turn.fork(
          Effect.onInterrupt(Effect.never, () => Effect.zipRight(Effect.yieldNow(), Ref.set(cleaned, true)))
        )
        const waiting = yield* Turn.fork(Turn.result(slow))
        yield* settle
        yield* Turn.interrupt(waiting)
        assert.isFalse(yield* Ref.get(cleaned), "interrupting who waits does not end the work")
        assert.isTrue(Exit.isInterrupted(yield* Turn.interrupt(slow)))
        assert.isTrue(yield* Ref.get(cleaned), "an interruption waits for the end")

        const soon = yield* Turn.fork(Effect.never)
        yield* settle
        yield* Turn.interruptSoon(soon)
        assert.isTrue(Exit.isInterrupted(yield* Turn.exit(soon)))
      })
    )
  )

  it.effect("a fork of a delegate, and a delegate in a fork, are the delegate's", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const forked = yield* Turn.fork(Turn.delegate(child)(inChild))
        const delegated = yield* Turn.delegate(child)(Effect.flatMap(Turn.fork(inChild), Turn.result))
        assert.deepStrictEqual(yield* Turn.result(forked), delegated)
        assert.strictEqual(Field.valueOrNull(delegated.identity.sessionKey), "child-key")
      })
    )
  )
})

describe("Turn.runner, Turn.workerRunner", () => {
  it.live("a callback runs in the turn that asked for the runner, whoever calls it", () =>
    Effect.gen(function* () {
      const runner = yield* Turn.enter(A)(Turn.runner())
      const inB = yield* Turn.enter(B)(
        Effect.promise(
          () =>
            new Promise<Exit.Exit<Turn.Facts>>((resolve) => {
              setImmediate(() => void runner.exit(Effect.zipRight(Turn.current, inChild)).then(resolve))
            })
        )
      )
      assert.deepStrictEqual(inB, Exit.succeed(factsOf(A)))
      const forked = runner.fork(Turn.peek)
      assert.deepStrictEqual(yield* Turn.result(forked), factsOf(A))
    })
  )

  it.live("never rejects", () =>
    Effect.gen(function* () {
      const runner = yield* Turn.enter(A)(Turn.runner())
      const exit = yield* Effect.promise(() => runner.exit(Effect.zipRight(Effect.fail("no"), Effect.void)))
      assert.deepStrictEqual(exit, Exit.fail("no"))
      const defect = yield* Effect.promise(() => runner.exit(Effect.die("bad")))
      assert.isTrue(Exit.isFailure(defect))
    })
  )

  it.live("a worker's runner carries nobody, also when it was asked for and called inside a turn", () =>
    marked(A)(
      Effect.gen(function* () {
        const runner = yield* Turn.workerRunner()
        assert.deepStrictEqual(yield* Effect.promise(() => runner.exit(traces)), Exit.succeed(noTraces))
        assert.deepStrictEqual(yield* Turn.enter(B)(Turn.result(runner.fork(traces))), noTraces)
      })
    )
  )

  it.live("a bare run in a callback has lost the turn (negative control)", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        const carried = yield* Effect.promise(() => Effect.runPromise(Turn.peek))
        assert.deepStrictEqual(carried, nobody)
      })
    )
  )
})

class Dependency extends Context.Tag("test/Dependency")<Dependency, string>() {}

const connection = (): Effect.Effect<boolean> =>
  Effect.map(Effect.context<never>(), (context) =>
    Option.isSome(Context.getOption(context, SqlClient.TransactionConnection))
  )

describe("Turn.forkWorker, Turn.detach, Turn.cleared", () => {
  it.scoped("a worker carries nobody: no fact, tag, span, annotation or label", () =>
    marked(A)(
      Effect.gen(function* () {
        const worker = yield* Turn.forkWorker(Effect.zip(traces, Effect.yieldNow()))
        assert.deepStrictEqual((yield* Turn.result(worker))[0], noTraces)
        assert.deepStrictEqual(yield* Turn.detach(traces), noTraces)
        const own = yield* traces
        assert.strictEqual(own.chat, "A-chatId")
        assert.strictEqual(own.span, "span of turn-A")
        assert.deepStrictEqual(own.logAnnotations, ["turn"])
      })
    )
  )

  it.scoped("a bare fork in the same place carries all of it (negative control)", () =>
    marked(A)(
      Effect.gen(function* () {
        const fiber = yield* Effect.forkScoped(traces)
        assert.deepStrictEqual(yield* Effect.flatten(Fiber.await(fiber)), yield* traces)
      })
    )
  )

  it.scoped("keeps its services but not the transaction that is open where it was started", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        assert.isTrue(yield* connection())
        const worker = yield* Turn.forkWorker(Effect.zip(Dependency, connection()))
        assert.deepStrictEqual(yield* Turn.result(worker), ["service", false])
        assert.deepStrictEqual(yield* Turn.cleared(Effect.zip(Dependency, connection())), ["service", false])
      })
    ).pipe(
      Effect.provideService(Dependency, "service"),
      // only its presence is looked at
      Effect.provideService(SqlClient.TransactionConnection, [{}, 0] as never)
    )
  )

  it.effect("lives as long as the scope, not as the turn or the fiber that started it", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const worker = yield* Turn.enter(A)(
        Turn.forkWorker(Effect.never).pipe(
          Scope.extend(scope),
          Effect.fork,
          Effect.flatMap((fiber) => Effect.flatten(Fiber.await(fiber)))
        )
      )
      const ended = yield* Effect.fork(Turn.exit(worker))
      yield* settle
      assert.isTrue(Option.isNone(yield* Fiber.poll(ended)))
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isInterrupted(yield* Turn.exit(worker)))
    })
  )

  it.effect("its scope can close although it was started in an uninterruptible region", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const worker = yield* Effect.uninterruptible(Turn.forkWorker(Effect.never).pipe(Scope.extend(scope)))
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isInterrupted(yield* Turn.exit(worker)))
    })
  )

  it.scoped("a fiber apart belongs to the turn that asks, and outside of any to nobody, whoever made its scope", () =>
    Effect.gen(function* () {
      const nursery = yield* Turn.enter(B)(Nursery.make)
      const apart = Effect.flatMap(Turn.forkApart(nursery)(Effect.zip(Turn.peek, Turn.currentOption)), Turn.result)
      const [mine, turn] = yield* Turn.enter(A)(apart)
      assert.deepStrictEqual(mine, factsOf(A))
      assert.strictEqual(Option.getOrNull(turn)?.id, A.id)
      const [nobody, none] = yield* apart
      assert.strictEqual(nobody.identity.platform._tag, "Unset")
      assert.isTrue(Option.isNone(none))
      const stranger = yield* Effect.exit(Turn.enter(A)(Effect.provideService(Turn.currentOption, Turn.CurrentTurn, B)))
      assert.isTrue(Exit.isFailure(stranger))
    })
  )

  it.effect("a certain worker begins and ends also when it is interrupted before its first step", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const note = (text: string) => Effect.sync(() => void seen.push(text))
      const work = (name: string) =>
        note(`${name} begun`).pipe(
          Effect.zipRight(Effect.interruptible(Effect.never)),
          Effect.ensuring(note(`${name} ended`))
        )
      const scope = yield* Scope.make()
      const nursery = yield* Scope.extend(Nursery.make, scope)
      const certain = yield* Turn.forkCertain(nursery)(work("certain"))
      yield* Turn.interrupt(certain)
      const other = yield* Turn.forkWorker(work("other")).pipe(Scope.extend(scope))
      yield* Turn.interrupt(other)
      assert.deepStrictEqual(seen, ["certain begun", "certain ended"])
      yield* Turn.enter(A)(
        Turn.forkCertain(nursery)(
          Effect.zip(
            Turn.peek,
            Effect.sync(() => "nobody")
          )
        )
      ).pipe(
        Effect.flatMap(Turn.result),
        Effect.map(([{ identity }]) => assert.strictEqual(identity.platform._tag, "Unset"))
      )
      const late = yield* Turn.forkCertain(nursery)(work("late"))
      yield* settle
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isInterrupted(yield* Turn.exit(late)))
      assert.deepStrictEqual(seen.slice(2), ["late begun", "late ended"])
    })
  )

  it.effect("cleared is explicitly nobody, and the capability falls back to supported", () =>
    Turn.enter(fullTurn("A", { asyncDelivery: false, workingDirectory: "/work/a" }))(
      Turn.cleared(
        Effect.gen(function* () {
          const late = yield* Effect.flatMap(Effect.forkDaemon(Turn.peek), (fiber) =>
            Effect.flatten(Fiber.await(fiber))
          )
          for (const name of SessionIdentity.fieldNames) assert.strictEqual(late.identity[name]._tag, "Cleared", name)
          assert.strictEqual(late.marker._tag, "NotCron")
          assert.strictEqual(late.origin._tag, "Cleared")
          assert.isTrue(yield* Capabilities.asyncDeliverySupported)
          assert.isTrue(Option.isNone(yield* WorkingDirectory.pinned))
        })
      )
    ).pipe(Effect.provide(AmbientEnvironment.layer({})))
  )

  it.effect("a late finalizer of a cleared handler reads nobody", () =>
    Effect.gen(function* () {
      const late = yield* Ref.make<string | null>("unread")
      const finalizer = Effect.flatMap(AmbientEnvironment.read("HERMES_SESSION_CHAT_ID"), (chat) => Ref.set(late, chat))
      yield* Turn.cleared(Effect.ensuring(Turn.enter(A)(Effect.void), finalizer))
      assert.strictEqual(yield* Ref.get(late), "")
    }).pipe(Effect.provide(AmbientEnvironment.layer({ HERMES_SESSION_CHAT_ID: "foreign" })))
  )
})

describe("Turn.warnOnKeyMismatch", () => {
  it.effect("warns when the bound key is not the one given, and changes nothing", () =>
    Turn.enter(B)(
      Effect.gen(function* () {
        const [carried, lines] = yield* logged(
          Effect.zipRight(Turn.warnOnKeyMismatch("dispatch", "key-other"), Effect.zip(Turn.peek, Turn.current))
        )
        assert.strictEqual(chatOf(carried[0]), "B")
        assert.strictEqual(carried[1].id, B.id)
        assert.deepStrictEqual(lines, [
          {
            level: "WARN",
            message: "bound session key differs from the key given",
            annotations: { where: "dispatch", bound: "key-B", expected: "key-other" }
          }
        ])
      })
    )
  )

  it.effect("says where, names a missing key and keeps silent when the keys agree", () =>
    Effect.gen(function* () {
      const [, unbound] = yield* logged(Turn.warnOnKeyMismatch("tool submit", "key-B"))
      assert.deepStrictEqual(unbound[0]?.annotations, { where: "tool submit", bound: "none", expected: "key-B" })
      const [, agreeing] = yield* logged(Turn.enter(B)(Turn.warnOnKeyMismatch("tool submit", "key-B")))
      assert.deepStrictEqual(agreeing, [])
    })
  )
})
