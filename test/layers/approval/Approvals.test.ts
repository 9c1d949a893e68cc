import { describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Ref, TestClock } from "effect"
import { expect } from "vitest"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ApprovalsLayer from "../../../src/layers/approval/Approvals.js"
import * as DrainLayer from "../../../src/layers/operation/Drain.js"
import * as ApprovalStoreLayer from "../../../src/layers/sqlite/ApprovalStore.js"
import {
  type ApprovalRow,
  Approvals,
  Authorized,
  NotApproved,
  type Scope
} from "../../../src/services/approval/Approval.js"
import * as UsageLayer from "../../../src/layers/sqlite/Usage.js"
import { Usage } from "../../../src/services/agent/Usage.js"
import { SessionId } from "../../../src/services/session/Session.js"
import * as RiskJudgeLayer from "../../../src/layers/approval/RiskJudge.js"
import { advisedAgainst, type Risk, RiskJudge } from "../../../src/services/approval/RiskJudge.js"
import * as Testing from "../../../src/testing/ScriptedModel.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { Drain } from "../../../src/services/operation/Drain.js"
import type { SettingsShape } from "../../../src/services/operation/Settings.js"
import { layerMemory } from "../sqlite/temporary.js"
import { Post, post } from "../support/post.js"
import { withWall } from "../support/wallClock.js"
import { activity, ids, redactor, Seen, settings, settingsLayer, turn } from "../support/hands.js"

/** One life of the gateway: everything but the database. */
const life = (changes?: Partial<SettingsShape["approvals"]>) =>
  Layer.provideMerge(
    ApprovalsLayer.layer,
    Layer.mergeAll(
      post,
      ApprovalStoreLayer.layer,
      settingsLayer("/nonexistent", { approvals: { ...settings("/").approvals, ...changes } }),
      redactor,
      activity,
      DrainLayer.layer,
      ids
    )
  )

const world = (changes?: Partial<SettingsShape["approvals"]>) => Layer.provideMerge(life(changes), layerMemory)

const question = (subject: string, callId = subject) => ({
  tool: "terminal",
  callId,
  subject,
  reasons: ["not on the read-only list"]
})

/** A gated act: does not compile without the gate, and says what it was allowed to do. */
const act = (subject: string, callId = subject) =>
  Effect.flatMap(Approvals, (approvals) =>
    approvals.authorize(question(subject, callId))(
      Effect.map(Authorized, (authorized) => `ran ${authorized.question.subject}`)
    )
  )

const ask = (chat: string, subject: string, changes?: Parameters<typeof turn>[1], callId = subject) =>
  Effect.fork(Effect.either(Turn.enter(turn(chat, changes))(act(subject, callId))))

const settle = (millis = 1) => TestClock.adjust(millis)

const open = (key: string | null) => Effect.flatMap(Approvals, (approvals) => approvals.open(key))

/** Waits (in real time) until a conversation has a question of this subject. */
const asked = (key: string, subject: string): Effect.Effect<ApprovalRow, never, Approvals> =>
  Effect.gen(function* () {
    for (;;) {
      const row = (yield* Effect.orDie(open(key))).find((one) => one.subject === subject)
      if (row !== undefined) return row
      yield* settle()
    }
  })

const answer = (
  key: string | null,
  approve: boolean,
  options: { readonly id?: string; readonly reason?: string; readonly scope?: Scope } = {}
) =>
  Effect.flatMap(Approvals, (approvals) =>
    approvals.answer({
      sessionKey: key,
      id: options.id ?? null,
      approve,
      scope: options.scope ?? "once",
      reason: options.reason ?? null,
      by: "ada"
    })
  )

const right = (value: string) => expect.objectContaining({ _tag: "Right", right: value })
const left = (cause: NotApproved["cause"]) =>
  expect.objectContaining({ _tag: "Left", left: expect.objectContaining({ _tag: "NotApproved", cause }) })

describe("a question", () => {
  it.effect("is a row first, then asked in the chat and thread of its turn, and runs only on a yes", () =>
    Effect.gen(function* () {
      const fiber = yield* ask("a", "make build")
      const row = yield* asked("key:a", "make build")
      expect(row).toMatchObject({ sessionKey: "key:a", turnId: "turn_a", tool: "terminal", state: "open" })
      expect(row.expiresAt - row.askedAt).toBe(300_000)
      yield* settle()
      const { sent } = yield* Post
      const [message] = yield* Ref.get(sent)
      expect(message?.address).toMatchObject({ platform: "telegram", chatId: "a", threadId: "ta" })
      expect(message?.cause).toEqual({ kind: "approval", id: row.id })
      expect(message?.text).toContain("make build")
      expect(message?.text).toContain("not on the read-only list")
      expect(message?.text).toMatch(/\/approve.*\/deny/)
      expect(message?.buttons).toEqual([])
      expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
      expect(yield* answer("key:a", true)).toMatchObject({ id: row.id, state: "approved", answer: "once", by: "ada" })
      expect(yield* Fiber.join(fiber)).toEqual(right("ran make build"))
      const events = yield* Ref.get(yield* Seen)
      expect(events.map((event) => event._tag)).toEqual(["approval.asked", "approval.answered"])
    }).pipe(Effect.provide(world()))
  )

  it.effect("has buttons where the adapter has them", () =>
    Effect.gen(function* () {
      const { buttons, sent } = yield* Post
      yield* Ref.set(buttons, true)
      const fiber = yield* ask("a", "x")
      const row = yield* asked("key:a", "x")
      yield* settle()
      expect((yield* Ref.get(sent))[0]?.buttons?.map((button) => button.value)).toEqual([
        `approve:${row.id}`,
        `approve-session:${row.id}`,
        `approve-always:${row.id}`,
        `deny:${row.id}`
      ])
      yield* answer("key:a", false, { id: row.id, reason: "not today" })
      expect(yield* Fiber.join(fiber)).toMatchObject({
        left: { cause: "denied", reason: expect.stringContaining("not today") }
      })
    }).pipe(Effect.provide(world()))
  )

  it.effect("on the page or in a terminal is an event, not a message", () =>
    Effect.gen(function* () {
      const web = DeliveryOrigin.live(DeliveryOrigin.address({ platform: "web", chatId: "a" }))
      const fibers = [yield* ask("a", "x", { origin: web }), yield* ask("b", "y", { origin: DeliveryOrigin.cleared })]
      yield* asked("key:a", "x")
      yield* asked("key:b", "y")
      yield* answer("key:a", true)
      yield* answer("key:b", true)
      for (const fiber of fibers) expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Right" })
      const { sent } = yield* Post
      expect(yield* Ref.get(sent)).toEqual([])
    }).pipe(Effect.provide(world()))
  )

  it.effect("of a delegate is asked in its parent's conversation", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(
        Turn.enter(turn("a"))(
          Turn.delegate({ id: Turn.TurnId.make("child"), sessionKey: "child-key", sessionId: "child-session" })(
            act("x")
          )
        )
      )
      const row = yield* asked("key:a", "x")
      expect(row.turnId).toBe("child")
      yield* settle()
      const { sent } = yield* Post
      expect((yield* Ref.get(sent))[0]?.address).toMatchObject({ chatId: "a", threadId: "ta" })
      yield* answer("key:a", true)
      expect(yield* Fiber.join(fiber)).toBe("ran x")
    }).pipe(Effect.provide(world()))
  )

  it.effect("shows what hides, and no secrets; what runs is what was asked", () =>
    Effect.gen(function* () {
      const subject = "echo a-secret-that-is-known \u202e\u200b\u0007"
      const fiber = yield* ask("a", subject)
      const row = yield* asked("key:a", "echo [redacted] \\u{202e}\\u{200b}\\u{7}")
      yield* answer("key:a", true, { id: row.id })
      expect(yield* Fiber.join(fiber)).toEqual(right(`ran ${subject}`))
    }).pipe(Effect.provide(world()))
  )
})

describe("several questions", () => {
  it.effect("of one conversation are asked one after the other, those of two beside each other", () =>
    Effect.gen(function* () {
      const first = yield* ask("a", "1")
      yield* asked("key:a", "1")
      const second = yield* ask("a", "2")
      yield* settle()
      const third = yield* ask("a", "3")
      const other = yield* ask("b", "9")
      yield* asked("key:b", "9")
      expect((yield* open("key:a")).map((row) => row.subject)).toEqual(["1"])
      expect((yield* answer("key:a", true)).subject).toBe("1")
      yield* asked("key:a", "2")
      expect((yield* open("key:a")).map((row) => row.subject)).toEqual(["2"])
      yield* answer("key:a", false)
      yield* asked("key:a", "3")
      yield* answer("key:a", true)
      yield* answer("key:b", true)
      expect(yield* Fiber.join(first)).toEqual(right("ran 1"))
      expect(yield* Fiber.join(second)).toEqual(left("denied"))
      expect(yield* Fiber.join(third)).toEqual(right("ran 3"))
      expect(yield* Fiber.join(other)).toEqual(right("ran 9"))
    }).pipe(Effect.provide(world()))
  )

  it.effect("that are equal share one: a no holds for all, after a yes each asks for itself", () =>
    Effect.gen(function* () {
      const one = yield* ask("a", "same", {}, "c1")
      yield* asked("key:a", "same")
      const two = yield* ask("a", "same", {}, "c2")
      yield* settle()
      const first = yield* answer("key:a", true)
      expect(yield* Fiber.join(one)).toMatchObject({ _tag: "Right" })
      const again = yield* asked("key:a", "same")
      expect(again.id).not.toBe(first.id)
      const three = yield* ask("a", "same", {}, "c3")
      yield* settle()
      yield* answer("key:a", false)
      expect(yield* Fiber.join(two)).toEqual(left("denied"))
      expect(yield* Fiber.join(three)).toEqual(left("denied"))
      const { sent } = yield* Post
      expect(yield* Ref.get(sent)).toHaveLength(2)
    }).pipe(Effect.provide(world()))
  )
})

describe("no answer", () => {
  it.effect("in time means no, and the person is told", () =>
    Effect.gen(function* () {
      const fiber = yield* ask("a", "x")
      const row = yield* asked("key:a", "x")
      yield* TestClock.adjust(299_000)
      expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust(2_000)
      expect(yield* Fiber.join(fiber)).toEqual(left("expired"))
      expect(yield* Effect.flip(answer("key:a", true, { id: row.id }))).toMatchObject({ _tag: "NothingToAnswer" })
      expect(yield* Effect.flip(answer("key:a", true))).toMatchObject({ _tag: "NothingToAnswer" })
      const { notices } = yield* Post
      expect(yield* Ref.get(notices)).toEqual(["approval.expired"])
      const approvals = yield* Approvals
      expect((yield* approvals.list(1))[0]).toMatchObject({ state: "expired" })
    }).pipe(Effect.provide(world()))
  )

  it.effect("is waited for no longer when the clock is set back", () =>
    withWall((set) =>
      Effect.gen(function* () {
        const fiber = yield* ask("a", "x")
        yield* asked("key:a", "x")
        yield* set(-3_600_000)
        yield* TestClock.adjust(301_000)
        expect(yield* Fiber.join(fiber)).toEqual(left("expired"))
      })
    ).pipe(Effect.provide(world()))
  )

  it.effect("because the work was interrupted is no refusal of the person's", () =>
    Effect.gen(function* () {
      const fiber = yield* ask("a", "x")
      yield* asked("key:a", "x")
      const next = yield* ask("a", "y")
      yield* settle()
      yield* Fiber.interrupt(fiber)
      yield* asked("key:a", "y")
      const approvals = yield* Approvals
      expect((yield* approvals.list(10)).find((row) => row.subject === "x")).toMatchObject({
        state: "cancelled",
        by: null
      })
      yield* approvals.cancelTurn("turn_a", "gone")
      expect(yield* Fiber.join(next)).toEqual(left("interrupted"))
      expect(yield* open(null)).toEqual([])
    }).pipe(Effect.provide(world()))
  )

  it.effect("because it could not be asked means no; where that is in doubt it is waited for", () =>
    Effect.gen(function* () {
      const { next } = yield* Post
      yield* Ref.set(next, "failed")
      const failed = yield* ask("a", "x")
      for (let tries = 0; tries < 20; tries++) yield* settle()
      expect(yield* Fiber.join(failed)).toEqual(left("unreachable"))
      expect(yield* open("key:a")).toEqual([])
      yield* Ref.set(next, "unknown")
      const doubtful = yield* ask("a", "y")
      yield* asked("key:a", "y")
      yield* settle()
      yield* answer("key:a", true)
      expect(yield* Fiber.join(doubtful)).toEqual(right("ran y"))
    }).pipe(Effect.provide(world()))
  )

  it.effect("of another conversation counts", () =>
    Effect.gen(function* () {
      const fiber = yield* ask("a", "x")
      const row = yield* asked("key:a", "x")
      expect(yield* Effect.flip(answer("key:b", true, { id: row.id }))).toMatchObject({ _tag: "NothingToAnswer" })
      expect(yield* Effect.flip(answer("key:b", true))).toMatchObject({ _tag: "NothingToAnswer" })
      yield* answer(null, true, { id: row.id })
      expect(yield* Fiber.join(fiber)).toEqual(right("ran x"))
    }).pipe(Effect.provide(world()))
  )

  it.effect("but the first counts, however many come at once", () =>
    Effect.gen(function* () {
      const fiber = yield* ask("a", "x")
      const row = yield* asked("key:a", "x")
      const answers = yield* Effect.forEach(
        [true, false, true, false],
        (approve) => Effect.either(answer("key:a", approve, { id: row.id })),
        { concurrency: "unbounded" }
      )
      const [winner, ...more] = answers.flatMap((one) => (one._tag === "Right" ? [one.right.state] : []))
      expect(more).toEqual([])
      expect((yield* Fiber.join(fiber))._tag).toBe(winner === "approved" ? "Right" : "Left")
    }).pipe(Effect.provide(world()))
  )
})

describe("nobody there", () => {
  const cron = CronMarker.cron({ job: "job", run: "run" })
  const nobody = (kind: "cron" | "single_query" | "unattended") => ({ presence: Presence.nobody(kind) })

  it.effect("means no, whatever kind of nobody it is; a cron run is not asked about even in a chat", () =>
    Effect.gen(function* () {
      for (const changes of [nobody("cron"), nobody("single_query"), nobody("unattended"), { marker: cron }])
        expect(yield* Fiber.join(yield* ask("a", "x", changes))).toEqual(left("nobody"))
      expect(yield* open(null)).toEqual([])
      const { sent } = yield* Post
      expect(yield* Ref.get(sent)).toEqual([])
    }).pipe(Effect.provide(world()))
  )

  it.effect("can be set to yes, each kind for itself", () =>
    Effect.gen(function* () {
      expect(yield* Fiber.join(yield* ask("a", "x", { marker: cron }))).toEqual(right("ran x"))
      expect(yield* Fiber.join(yield* ask("a", "x", nobody("cron")))).toEqual(right("ran x"))
      expect(yield* Fiber.join(yield* ask("a", "x", nobody("unattended")))).toEqual(left("nobody"))
    }).pipe(Effect.provide(world({ cronMode: "approve" })))
  )

  const child = Turn.delegate({ id: Turn.TurnId.make("child"), sessionKey: "child-key", sessionId: "s" })

  it.effect("holds for a cron run's delegate; without the marker it would have been asked and run", () =>
    Effect.gen(function* () {
      const denied = yield* Effect.either(Turn.enter(turn("a", { marker: cron }))(child(act("x"))))
      expect(denied).toEqual(left("nobody"))
      const unmarked = yield* Effect.fork(Turn.enter(turn("a"))(child(act("x"))))
      yield* asked("key:a", "x")
      yield* answer("key:a", true)
      expect(yield* Fiber.join(unmarked)).toBe("ran x")
    }).pipe(Effect.provide(world()))
  )

  it.effect("is not asked either when the owner has switched approvals off", () =>
    Effect.gen(function* () {
      expect(yield* Fiber.join(yield* ask("a", "x"))).toEqual(right("ran x"))
      expect(yield* Fiber.join(yield* ask("a", "x", { marker: cron }))).toEqual(right("ran x"))
    }).pipe(Effect.provide(world({ mode: "off" })))
  )
})

describe("a restart", () => {
  const inLife = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.scoped(Effect.provide(self, Layer.fresh(life())))

  it.effect("goes on with an open question; it is asked once and answered once", () =>
    Effect.gen(function* () {
      const row = yield* inLife(
        Effect.gen(function* () {
          const fiber = yield* ask("a", "x")
          const found = yield* asked("key:a", "x")
          const drain = yield* Drain
          yield* drain.begin({ restart: true })
          yield* Fiber.interrupt(fiber)
          return found
        })
      )
      yield* inLife(
        Effect.gen(function* () {
          expect((yield* open("key:a")).map(({ id }) => id)).toEqual([row.id])
          const fiber = yield* ask("a", "x")
          yield* settle()
          yield* answer("key:a", true, { id: row.id })
          expect(yield* Fiber.join(fiber)).toEqual(right("ran x"))
          expect(yield* (yield* Approvals).list(10)).toHaveLength(1)
        })
      )
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("gives the person a minute more when the time ran out meanwhile", () =>
    Effect.gen(function* () {
      yield* inLife(
        Effect.gen(function* () {
          const fiber = yield* ask("a", "x")
          yield* asked("key:a", "x")
          yield* (yield* Drain).begin({ restart: true })
          yield* Fiber.interrupt(fiber)
        })
      )
      yield* TestClock.adjust(3_600_000)
      yield* inLife(
        Effect.gen(function* () {
          const fiber = yield* ask("a", "x")
          yield* TestClock.adjust(58_000)
          expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
          yield* TestClock.adjust(4_000)
          expect(yield* Fiber.join(fiber)).toEqual(left("expired"))
        })
      )
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("counts a yes that was given while nobody waited, once", () =>
    Effect.gen(function* () {
      yield* inLife(
        Effect.gen(function* () {
          const fiber = yield* ask("a", "x")
          yield* asked("key:a", "x")
          yield* (yield* Drain).begin({ restart: true })
          yield* Fiber.interrupt(fiber)
          yield* answer("key:a", true)
        })
      )
      yield* inLife(
        Effect.gen(function* () {
          expect(yield* Fiber.join(yield* ask("a", "x"))).toEqual(right("ran x"))
          const again = yield* ask("a", "x")
          yield* asked("key:a", "x")
          yield* answer("key:a", false)
          expect(yield* Fiber.join(again)).toEqual(left("denied"))
        })
      )
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("counts a no that was given while nobody waited, once", () =>
    Effect.gen(function* () {
      yield* inLife(
        Effect.gen(function* () {
          const fiber = yield* ask("a", "x")
          yield* asked("key:a", "x")
          yield* (yield* Drain).begin({ restart: true })
          yield* Fiber.interrupt(fiber)
          yield* answer("key:a", false, { reason: "not today" })
        })
      )
      yield* inLife(
        Effect.gen(function* () {
          expect(yield* Fiber.join(yield* ask("a", "x"))).toMatchObject({
            left: { cause: "denied", reason: expect.stringContaining("not today") }
          })
          expect(yield* open("key:a")).toEqual([])
          const again = yield* ask("a", "x")
          yield* asked("key:a", "x")
          yield* answer("key:a", true)
          expect(yield* Fiber.join(again)).toEqual(right("ran x"))
        })
      )
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("does not count a yes for another command of the same call", () =>
    Effect.gen(function* () {
      yield* inLife(
        Effect.gen(function* () {
          const fiber = yield* ask("a", "x", {}, "call")
          yield* asked("key:a", "x")
          yield* (yield* Drain).begin({ restart: true })
          yield* Fiber.interrupt(fiber)
          yield* answer("key:a", true)
        })
      )
      yield* inLife(
        Effect.gen(function* () {
          const other = yield* ask("a", "y", {}, "call")
          yield* asked("key:a", "y")
          yield* answer("key:a", false)
          expect(yield* Fiber.join(other)).toEqual(left("denied"))
        })
      )
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("is not needed for an answer that another process wrote", () =>
    Effect.gen(function* () {
      yield* inLife(
        Effect.gen(function* () {
          const fiber = yield* ask("a", "x")
          yield* asked("key:a", "x")
          yield* inLife(answer("key:a", true))
          expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
          yield* TestClock.adjust(2_000)
          expect(yield* Fiber.join(fiber)).toEqual(right("ran x"))
        })
      )
    }).pipe(Effect.provide(layerMemory))
  )
})

describe("the types", () => {
  it("let nothing gated run without the gate", () => {
    const gated = Effect.map(Authorized, () => "acted")
    const authorized: Effect.Effect<string, unknown, Approvals | Turn.CurrentTurn> = Effect.flatMap(
      Approvals,
      (approvals) => approvals.authorize(question("x"))(gated)
    )
    // @ts-expect-error the gate is missing
    const bare: Effect.Effect<string, unknown, Approvals | Turn.CurrentTurn> = gated
    expect([authorized, bare]).toHaveLength(2)
  })
})

describe("a yes for more than once", () => {
  const cron = { marker: CronMarker.cron({ job: "j", run: "r" }) }
  const now = (chat: string, subject: string, changes?: Parameters<typeof turn>[1]) =>
    Effect.either(Turn.enter(turn(chat, changes))(act(subject)))

  it.effect("covers the same reasons in its conversation, in the line too, and nowhere else", () =>
    Effect.gen(function* () {
      const first = yield* ask("a", "one")
      yield* asked("key:a", "one")
      const waiting = yield* ask("a", "two")
      yield* settle()
      yield* answer("key:a", true, { scope: "session" })
      expect(yield* Fiber.join(first)).toEqual(right("ran one"))
      expect(yield* Fiber.join(waiting)).toEqual(right("ran two"))
      expect(yield* now("a", "three")).toEqual(right("ran three"))
      expect(yield* now("a", "three", cron)).toEqual(left("nobody"))
      const other = yield* ask("b", "four")
      yield* asked("key:b", "four")
      yield* answer("key:b", false)
      expect(yield* Fiber.join(other)).toEqual(left("denied"))
      const approvals = yield* Approvals
      const unlike = yield* Effect.fork(
        Effect.either(
          Turn.enter(turn("a"))(
            approvals.authorize({ ...question("five"), reasons: [...question("five").reasons, "deletes"] })(Effect.void)
          )
        )
      )
      yield* asked("key:a", "five")
      yield* answer("key:a", false)
      expect(yield* Fiber.join(unlike)).toEqual(left("denied"))
    }).pipe(Effect.provide(world()))
  )

  it.effect("for a conversation ends with it: another one under the same key is asked again", () =>
    Effect.gen(function* () {
      const database = yield* Database
      const begin = (id: string, at: number) =>
        database.write(
          "test",
          Effect.flatMap(Transaction, (sql) =>
            sql`UPDATE sessions SET ended_at = ${at} WHERE key = 'key:a'`.pipe(
              Effect.zipRight(
                sql`INSERT INTO sessions ${sql.insert({
                  id,
                  key: "key:a",
                  source: "telegram",
                  started_at: at,
                  last_activity_at: at
                })}`
              )
            )
          )
        )
      yield* begin("one", 0)
      const first = yield* ask("a", "one")
      yield* asked("key:a", "one")
      yield* answer("key:a", true, { scope: "session" })
      expect(yield* Fiber.join(first)).toEqual(right("ran one"))
      expect(yield* now("a", "two")).toEqual(right("ran two"))
      yield* settle(1_000)
      yield* begin("two", yield* Clock.currentTimeMillis)
      const again = yield* ask("a", "three")
      expect(yield* Effect.raceFirst(asked("key:a", "three"), Fiber.join(again))).toMatchObject({ state: "open" })
      yield* answer("key:a", false)
      expect(yield* Fiber.join(again)).toEqual(left("denied"))
      const approvals = yield* Approvals
      expect(yield* approvals.grants).toEqual([])
    }).pipe(Effect.provide(world()))
  )

  it.effect("for always counts everywhere, after a restart and in a scheduled run, until it is taken back", () =>
    Effect.gen(function* () {
      const first = yield* ask("a", "one").pipe(
        Effect.tap(() => asked("key:a", "one")),
        Effect.tap(() => answer("key:a", true, { scope: "always" })),
        Effect.flatMap(Fiber.join),
        Effect.provide(life())
      )
      expect(first).toEqual(right("ran one"))
      yield* Effect.gen(function* () {
        expect(yield* now("b", "two")).toEqual(right("ran two"))
        expect(yield* now("b", "three", cron)).toEqual(right("ran three"))
        const approvals = yield* Approvals
        const [grant] = yield* approvals.grants
        expect(grant).toMatchObject({ subject: "one", answer: "always", by: "ada" })
        expect(yield* approvals.revoke(grant?.id ?? "")).toMatchObject({ answer: "always, revoked" })
        expect(yield* Effect.flip(approvals.revoke(grant?.id ?? ""))).toMatchObject({ _tag: "NothingToRevoke" })
        expect(yield* approvals.grants).toEqual([])
        expect(yield* now("b", "four", cron)).toEqual(left("nobody"))
      }).pipe(Effect.provide(life()))
    }).pipe(Effect.provide(layerMemory))
  )
})

describe("refusals in a row", () => {
  const no = (chat: string, subject: string, changes?: Parameters<typeof turn>[1]) =>
    Effect.gen(function* () {
      const fiber = yield* ask(chat, subject, changes)
      yield* asked(`key:${chat}`, subject)
      yield* answer(`key:${chat}`, false)
      return yield* Fiber.join(fiber)
    })
  const helper = { id: Turn.TurnId.make("helper"), parent: Turn.TurnId.make("turn_a"), depth: 1 }

  it.effect("end the asking of a turn and of its helpers; a new turn, another chat or a yes begins anew", () =>
    Effect.gen(function* () {
      for (const subject of ["rm x", "rm ./x"]) expect(yield* no("a", subject)).toEqual(left("denied"))
      expect(yield* no("a", "rm -- x", helper)).toEqual(left("denied"))
      for (const changes of [undefined, helper])
        expect(yield* Fiber.join(yield* ask("a", "find x -delete", changes))).toMatchObject({
          left: { cause: "denied", reason: expect.stringMatching(/^3 requests in a row were refused.*Stop here/) }
        })
      expect(yield* open("key:a")).toEqual([])
      expect(yield* no("b", "rm x")).toEqual(left("denied"))
      const next = { id: Turn.TurnId.make("turn_a2") }
      expect(yield* no("a", "rm x", next)).toEqual(left("denied"))
      expect(yield* no("a", "rm y", next)).toEqual(left("denied"))
      const yes = yield* ask("a", "ls", next)
      yield* asked("key:a", "ls")
      yield* answer("key:a", true)
      expect(yield* Fiber.join(yes)).toEqual(right("ran ls"))
      for (const subject of ["1", "2"]) expect(yield* no("a", subject, next)).toEqual(left("denied"))
      const third = yield* ask("a", "3", next)
      yield* asked("key:a", "3")
      yield* Fiber.interrupt(third)
    }).pipe(Effect.provide(world()))
  )

  it.effect("never end it when the owner wants no such end", () =>
    Effect.gen(function* () {
      for (const subject of ["1", "2", "3", "4", "5"]) expect(yield* no("a", subject)).toEqual(left("denied"))
    }).pipe(Effect.provide(world({ denialBreakerThreshold: 0 })))
  )
})

describe("a judging model", () => {
  const judging = (risks: Record<string, Risk>, changes: Partial<SettingsShape["approvals"]> = { mode: "smart" }) =>
    world(changes).pipe(
      Layer.provide(
        Layer.succeed(RiskJudge, {
          name: "test/judge",
          judge: ({ subject }) => Effect.succeed(risks[subject] ?? "unsure")
        })
      )
    )

  it.effect("lets a low risk through once, asks about the rest, and what it advises against only for once", () =>
    Effect.gen(function* () {
      for (const call of ["c1", "c2"])
        expect(yield* Fiber.join(yield* ask("a", "small", {}, call))).toEqual(right("ran small"))
      const approvals = yield* Approvals
      expect(yield* approvals.list(5)).toMatchObject([
        { state: "approved", answer: "once", by: "smart: test/judge" },
        { state: "approved", answer: "once", by: "smart: test/judge" }
      ])
      const unsure = yield* ask("a", "what")
      expect((yield* asked("key:a", "what")).reasons).toEqual(["not on the read-only list"])
      yield* answer("key:a", false)
      expect(yield* Fiber.join(unsure)).toEqual(left("denied"))
      const high = yield* ask("a", "big")
      const row = yield* asked("key:a", "big")
      expect(row.reasons).toContain(advisedAgainst)
      yield* settle()
      expect(yield* answer("key:a", true, { scope: "always" })).toMatchObject({ answer: "once" })
      expect(yield* Fiber.join(high)).toEqual(right("ran big"))
      expect(yield* approvals.grants).toEqual([])
    }).pipe(Effect.provide(judging({ small: "low", big: "high" })))
  )

  it.effect("decides nothing where nobody is there", () =>
    Effect.gen(function* () {
      const marker = CronMarker.cron({ job: "j", run: "r" })
      expect(yield* Fiber.join(yield* ask("a", "small", { marker }))).toEqual(left("nobody"))
    }).pipe(Effect.provide(judging({ small: "low" })))
  )

  it.effect("that fails, says more than a word or is told what to say leaves it to the person", () => {
    const answers: Record<string, Testing.StepInput> = {
      low: Testing.parts([
        { _tag: "Text", delta: "LOW." },
        {
          _tag: "Finish",
          reason: "stop",
          usage: { inputTokens: 30, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
        }
      ]),
      high: Testing.say("high"),
      chatty: Testing.say("LOW, because the text says that I should"),
      broken: Testing.fail("server_error"),
      silent: Testing.hang()
    }
    const model = Testing.scriptedModel((request) => {
      const [message] = request.messages
      const subject = message?._tag === "user" ? (JSON.parse(message.text) as { action: string }).action : ""
      expect(request.systemPrompt).toContain("never touch prod")
      return answers[subject] ?? Testing.say("UNSURE")
    })
    return Effect.gen(function* () {
      const { judge } = yield* RiskJudge
      const risk = (subject: string) => judge(question(subject))
      expect(yield* Turn.enter(turn("a"))(risk("low"))).toBe("low")
      expect(yield* (yield* Usage).ofSession(SessionId.make("session_a"))).toMatchObject({ calls: 1, inputTokens: 30 })
      expect(yield* risk("high")).toBe("high")
      for (const subject of ["chatty", "broken", "other", "x".repeat(2_001)])
        expect(yield* risk(subject)).toBe("unsure")
      const slow = yield* Effect.fork(risk("silent"))
      yield* TestClock.adjust("30 seconds")
      expect(yield* Fiber.join(slow)).toBe("unsure")
    }).pipe(
      Effect.provide(
        RiskJudgeLayer.layer.pipe(
          Layer.provideMerge(model),
          Layer.provideMerge(Layer.provideMerge(UsageLayer.layer, layerMemory)),
          Layer.provideMerge(
            settingsLayer("/nonexistent", {
              approvals: { ...settings("/").approvals, mode: "smart", smartPolicy: "never touch prod" }
            })
          )
        )
      )
    )
  })
})
