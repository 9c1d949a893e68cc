import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import * as Turn from "../../src/fibers/Turn.js"
import { A, B, cronTurn, fullTurn, turn } from "./support/turns.js"
import { poisoned, registeredNames } from "./support/names.js"

const withEnvironment = (environment: Record<string, string | undefined>) =>
  Effect.provide(AmbientEnvironment.layer(environment))

describe("AmbientEnvironment.read", () => {
  it.effect.each(registeredNames)("%s: bound value, bound empty, unset, fallback", (name) =>
    Effect.gen(function* () {
      const read = AmbientEnvironment.read(name, "fallback")
      const inTurn = name.startsWith("HERMES_CRON") ? cronTurn("C") : fullTurn("A")
      const value = yield* Turn.enter(inTurn)(read)
      assert.notInclude(["", "foreign", "fallback"], value, "a bound value")
      const empty = turn("E", { identity: SessionIdentity.cleared })
      assert.strictEqual(yield* Turn.enter(empty)(read), "", "bound to empty: no fallback")
      assert.strictEqual(yield* Turn.cleared(read), "", "cleared: no fallback")
      assert.strictEqual(yield* read, "foreign", "unset: the environment")
      assert.strictEqual(yield* Turn.enter(inTurn)(Turn.detach(read)), "foreign", "detached: the environment")
      assert.strictEqual(yield* read.pipe(withEnvironment({})), "fallback", "unset and not in the environment")
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("an entry of the environment that is empty is an answer", () =>
    Effect.map(AmbientEnvironment.read("HERMES_SESSION_ID", "fallback"), (value) => assert.strictEqual(value, "")).pipe(
      withEnvironment({ HERMES_SESSION_ID: "", DROPPED: undefined })
    )
  )

  it.effect("another name is a plain look-up, also inside a turn", () =>
    Turn.enter(A)(
      Effect.gen(function* () {
        assert.strictEqual(yield* AmbientEnvironment.read("EDITOR"), "vi")
        assert.strictEqual(yield* AmbientEnvironment.read("PAGER", "less"), "less")
        assert.strictEqual(yield* AmbientEnvironment.read("PAGER"), "")
      })
    ).pipe(withEnvironment({ EDITOR: "vi" }))
  )

  it.effect("a turn whose marker is unset asks the environment for the marker only", () =>
    Turn.enter(turn("A", { marker: CronMarker.unset }))(
      Effect.gen(function* () {
        assert.strictEqual(yield* AmbientEnvironment.read("HERMES_CRON_SESSION"), "1")
        assert.strictEqual(yield* AmbientEnvironment.read("HERMES_CRON_JOB_ID"), "job")
        assert.strictEqual(yield* AmbientEnvironment.read("HERMES_SESSION_CHAT_ID"), "A")
        assert.strictEqual(yield* AmbientEnvironment.read("HERMES_SESSION_THREAD_ID"), "")
      })
    ).pipe(
      withEnvironment({ HERMES_CRON_SESSION: "1", HERMES_CRON_JOB_ID: "job", HERMES_SESSION_THREAD_ID: "foreign" })
    )
  )
})

describe("AmbientEnvironment.isCron", () => {
  it.effect("an explicit no masks the environment, an unset marker does not", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* AmbientEnvironment.isCron)
      assert.isTrue(yield* Turn.enter(turn("A", { marker: CronMarker.unset }))(AmbientEnvironment.isCron))
      assert.isFalse(yield* Turn.enter(A)(AmbientEnvironment.isCron))
      assert.isFalse(yield* Turn.cleared(AmbientEnvironment.isCron))
    }).pipe(withEnvironment({ HERMES_CRON_SESSION: "1" }))
  )

  it.effect("an interactive turn is not poisoned by cron runs before it, beside it and around it", () =>
    Effect.gen(function* () {
      const cron = Turn.enter(cronTurn("C"))
      const interactive = Turn.enter(B)(AmbientEnvironment.isCron)
      assert.isTrue(yield* cron(AmbientEnvironment.isCron))
      assert.isFalse(yield* AmbientEnvironment.isCron)
      assert.isFalse(yield* interactive)
      const answers = yield* Effect.all(
        [
          cron(Effect.zipRight(Effect.yieldNow(), AmbientEnvironment.isCron)),
          interactive,
          cron(AmbientEnvironment.isCron)
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers, [true, false, true])
      assert.deepStrictEqual(yield* cron(Effect.zip(interactive, AmbientEnvironment.isCron)), [false, true])
    }).pipe(withEnvironment({}))
  )
})

describe("AmbientEnvironment.markerOf", () => {
  it("is a cron run's where the name is truthy, else unset and never an explicit no", () => {
    for (const value of ["1", "true", "YES", " on "]) {
      assert.isTrue(CronMarker.isCron(AmbientEnvironment.markerOf({ HERMES_CRON_SESSION: value })), value)
    }
    for (const environment of [
      {},
      { HERMES_CRON_SESSION: "" },
      { HERMES_CRON_SESSION: "0" },
      { HERMES_CRON_JOB_ID: "j" }
    ]) {
      assert.strictEqual(AmbientEnvironment.markerOf(environment)._tag, "Unset")
    }
  })

  it("knows the job and its whole creator, or none", () => {
    const marker = (environment: Record<string, string>) =>
      AmbientEnvironment.markerOf({ HERMES_CRON_SESSION: "1", ...environment })
    const creator = { HERMES_CRON_JOB_ORIGIN_USER_ID: "u", HERMES_CRON_JOB_ORIGIN_PLATFORM: "telegram" }
    assert.deepStrictEqual(
      marker({ HERMES_CRON_JOB_ID: "j", ...creator }),
      CronMarker.cron({ job: "j", run: null, createdBy: { platform: "telegram", userId: "u" } })
    )
    assert.deepStrictEqual(
      marker({ HERMES_CRON_JOB_ORIGIN_USER_ID: "u" }),
      CronMarker.cron({ job: null, run: null, createdBy: null })
    )
  })

  it.effect("a process that was started in a cron run stays cron whatever it binds", () =>
    Effect.gen(function* () {
      const marker = AmbientEnvironment.markerOf(yield* AmbientEnvironment.AmbientEnvironment)
      assert.isTrue(yield* Turn.enter(turn("A", { marker }))(AmbientEnvironment.isCron))
    }).pipe(withEnvironment({ HERMES_CRON_SESSION: "1" }))
  )
})

describe("AmbientEnvironment.startedInsideTurn", () => {
  it("holds for any name of a session or of the marker, also an empty one", () => {
    assert.isTrue(AmbientEnvironment.startedInsideTurn({ HERMES_SESSION_ID: "s" }))
    assert.isTrue(AmbientEnvironment.startedInsideTurn({ HERMES_SESSION_THREAD_ID: "" }))
    assert.isTrue(AmbientEnvironment.startedInsideTurn({ HERMES_CRON_SESSION: "" }))
    assert.isFalse(AmbientEnvironment.startedInsideTurn({ HERMES_HOME: "/h", PATH: "/bin" }))
  })
})
