import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Stream, TestClock } from "effect"
import * as Route from "../../../src/layers/models/Route.js"
import { ModelError, type ModelErrorReason } from "../../../src/services/agent/ModelRoute.js"
import { call, fail, parts, say, scriptedBackend, type StepInput } from "../../../src/testing/ScriptedModel.js"
import { ask, collect, finishOf, textOf } from "./fixture.js"

const failure = (
  reason: ModelErrorReason,
  more: { readonly status?: number; readonly retryAfterMillis?: number; readonly detail?: string } = {}
): ModelError =>
  new ModelError({
    reason,
    provider: "first",
    detail: more.detail ?? "no",
    status: more.status ?? null,
    retryAfterMillis: more.retryAfterMillis ?? null
  })

const backend = (provider: string, steps: ReadonlyArray<StepInput>) =>
  scriptedBackend(steps, { provider, model: `${provider}-model` })

/** Runs a call to its end, moving the clock whenever it waits; answers how long that took. */
const timed = <A, E>(self: Effect.Effect<A, E>, step = 1) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(self)
    let seconds = 0
    while ((yield* Fiber.poll(fiber))._tag === "None" && seconds < 5_000) {
      yield* TestClock.adjust(step * 1_000)
      seconds += step
    }
    return { value: yield* Effect.flatten(Fiber.await(fiber)), seconds }
  })

describe("retries", () => {
  it.effect("an answer at once is handed through as it is", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [say("a", "b")])
      const route = yield* Route.make(first, [], { maxRetries: 3 })
      const said = yield* collect(route, ask("hello"))
      assert.strictEqual(textOf(said), "ab")
      assert.deepStrictEqual(finishOf(said)?.backend, { provider: "first", model: "first-model" })
      assert.deepStrictEqual(route.primary, { provider: "first", model: "first-model" })
    })
  )

  it.effect("what went wrong in the end is kept until an answer comes whole", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [fail(failure("auth", { status: 401 })), say("a")])
      const route = yield* Route.make(first, [], { maxRetries: 3 })
      assert.isNull(yield* route.trouble)
      yield* Effect.flip(collect(route, ask("hello")))
      assert.strictEqual((yield* route.trouble)?.error.reason, "auth")
      yield* collect(route, ask("hello"))
      assert.isNull(yield* route.trouble)
    })
  )

  it.effect("who asks is told of each wait before it, of that for the whole chain too", () =>
    Effect.gen(function* () {
      const first = yield* backend(
        "first",
        Array.from({ length: 4 }, () => fail(failure("server_error", { status: 500 })))
      )
      const waits: Array<readonly [string, number | null, number]> = []
      const route = yield* Route.make(first, [], { maxRetries: 1, recoveryCycles: 1 })
      yield* timed(
        Effect.flip(
          collect(route, {
            ...ask("hello"),
            waits: ({ backend, error, millis }) =>
              Effect.sync(() => void waits.push([backend.provider, error.status, Math.floor(millis / 1_000)]))
          })
        )
      )
      assert.deepStrictEqual(
        waits.map(([provider, status, seconds]) => [provider, status, seconds >= 15]),
        [
          ["first", 500, false],
          ["first", 500, true],
          ["first", 500, false]
        ]
      )
    })
  )

  it.effect("three more tries after 2, 4 and 8 seconds, each up to half longer, then the error", () =>
    Effect.gen(function* () {
      const first = yield* backend(
        "first",
        Array.from({ length: 5 }, () => fail(failure("server_error", { status: 500 })))
      )
      const route = yield* Route.make(first, [], { maxRetries: 3 })
      const { value, seconds } = yield* timed(Effect.flip(collect(route, ask("hello"))))
      assert.strictEqual((yield* first.requests).length, 4)
      assert.isAtLeast(seconds, 14)
      assert.isAtMost(seconds, 22)
      assert.strictEqual(value.reason, "server_error")
    })
  )

  it.effect("the fourth try may succeed", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [
        fail("transport"),
        fail("timeout"),
        fail("malformed_stream"),
        say("at last")
      ])
      const route = yield* Route.make(first, [], { maxRetries: 3 })
      assert.strictEqual(textOf((yield* timed(collect(route, ask("hello")))).value), "at last")
    })
  )

  it.effect("a provider's own wait is kept to, up to ten minutes; a longer one is not waited for", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [
        fail(failure("rate_limit", { status: 429, retryAfterMillis: 600_000 })),
        say("ok")
      ])
      const route = yield* Route.make(first, [], { maxRetries: 3 })
      const { seconds } = yield* timed(collect(route, ask("hello")), 30)
      assert.isAtLeast(seconds, 600)
      assert.isAtMost(seconds, 630)

      const patient = yield* backend("first", [
        fail(failure("rate_limit", { status: 429, retryAfterMillis: 3_600_000 })),
        say("ok")
      ])
      const other = yield* Route.make(patient, [], { maxRetries: 3 })
      const error = yield* Effect.flip(collect(other, ask("hello")))
      assert.strictEqual(error.retryAfterMillis, 3_600_000)
      assert.strictEqual((yield* patient.requests).length, 1)
    })
  )

  it.effect("what cannot be helped by asking again is asked once", () =>
    Effect.gen(function* () {
      for (const reason of [
        "auth",
        "billing",
        "model_not_found",
        "content_policy_blocked",
        "provider_policy_blocked",
        "format_error",
        "context_overflow",
        "payload_too_large",
        "not_configured"
      ] as const) {
        const first = yield* backend("first", [fail(reason), say("never")])
        const route = yield* Route.make(first, [], { maxRetries: 3 })
        assert.strictEqual((yield* Effect.flip(collect(route, ask("hello")))).reason, reason)
        assert.strictEqual((yield* first.requests).length, 1, reason)
      }
    })
  )

  it.effect("nothing is tried again once somebody has seen a part of the answer", () =>
    Effect.gen(function* () {
      for (const said of [
        { _tag: "Text", delta: "so far" } as const,
        { _tag: "ToolCall", name: "weather", arguments: {} } as const
      ]) {
        const first = yield* backend("first", [fail("transport", [said]), say("never")])
        const second = yield* backend("second", [say("never")])
        const route = yield* Route.make(first, [second], { maxRetries: 3 })
        const heard: Array<string> = []
        const error = yield* Effect.flip(
          Stream.runForEach(route.stream(ask("hello")), (part) => Effect.sync(() => heard.push(part._tag)))
        )
        assert.strictEqual(error.reason, "transport")
        assert.deepStrictEqual(heard, [said._tag])
        assert.strictEqual((yield* first.requests).length + (yield* second.requests).length, 1)
      }
    })
  )

  it.effect("reasoning alone was seen by nobody", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [fail("transport", [{ _tag: "Reasoning", delta: "hm" }]), say("ok")])
      const route = yield* Route.make(first, [], { maxRetries: 3 })
      assert.strictEqual(textOf((yield* timed(collect(route, ask("hello")))).value), "ok")
    })
  )

  it.effect("a person who interrupts ends the wait at once", () =>
    Effect.gen(function* () {
      const failed = yield* Deferred.make<void>()
      const first = yield* backend("first", [
        () => ({ _tag: "Effect", effect: Effect.as(Deferred.succeed(failed, undefined), fail("server_error")) }),
        say("never")
      ])
      const route = yield* Route.make(first, [], { maxRetries: 3 })
      const fiber = yield* Effect.fork(collect(route, ask("hello")))
      yield* Deferred.await(failed)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* first.requests).length, 1)
    })
  )
})

describe("fallbacks", () => {
  it.effect("a limit moves on at once, and whoever spoke says so", () =>
    Effect.gen(function* () {
      for (const reason of [
        "rate_limit",
        "billing",
        "auth",
        "model_not_found",
        "not_configured",
        "format_error"
      ] as const) {
        const first = yield* backend("first", [fail(reason)])
        const second = yield* backend("second", [call("weather")])
        const route = yield* Route.make(first, [second], { maxRetries: 3 })
        const said = yield* collect(route, ask("hello"))
        assert.deepStrictEqual(finishOf(said)?.backend, { provider: "second", model: "second-model" }, reason)
      }
    })
  )

  it.effect("an overloaded or silent backend gets two tries, a failing one all of them", () =>
    Effect.gen(function* () {
      for (const [reason, tries] of [
        ["overloaded", 2],
        ["timeout", 2],
        ["server_error", 4],
        ["transport", 4]
      ] as const) {
        const first = yield* backend(
          "first",
          Array.from({ length: 4 }, () => fail(reason))
        )
        const second = yield* backend("second", [say("ok")])
        const route = yield* Route.make(first, [second], { maxRetries: 3 })
        assert.strictEqual(textOf((yield* timed(collect(route, ask("hello")))).value), "ok")
        assert.strictEqual((yield* first.requests).length, tries, reason)
      }
    })
  )

  it.effect("a conversation that is too large goes to nobody else", () =>
    Effect.gen(function* () {
      for (const reason of ["context_overflow", "payload_too_large", "provider_policy_blocked"] as const) {
        const second = yield* backend("second", [say("never")])
        const route = yield* Route.make(yield* backend("first", [fail(reason)]), [second], { maxRetries: 3 })
        assert.strictEqual((yield* Effect.flip(collect(route, ask("hello")))).reason, reason)
        assert.strictEqual((yield* second.requests).length, 0)
      }
    })
  )

  it.effect("each call starts with the first backend, but for a minute after a limit", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [fail("rate_limit"), say("first"), fail("server_error")])
      const second = yield* backend("second", [say("one"), say("two")])
      const route = yield* Route.make(first, [second], { maxRetries: 0 })
      const spoken = Effect.map(collect(route, ask("hello")), textOf)
      assert.strictEqual(yield* spoken, "one")
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(yield* spoken, "two")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* spoken, "first")
    })
  )

  it.effect("a longer reset time is the cooldown", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [fail(failure("rate_limit", { retryAfterMillis: 300_000 })), say("first")])
      const second = yield* backend("second", [say("one"), say("two")])
      const route = yield* Route.make(first, [second], { maxRetries: 3 })
      const spoken = Effect.map(collect(route, ask("hello")), textOf)
      yield* spoken
      yield* TestClock.adjust("299 seconds")
      assert.strictEqual(yield* spoken, "two")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* spoken, "first")
    })
  )

  it.effect("an exhausted chain answers with the first error and the others behind it, and cools the first down", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [fail(failure("auth", { status: 401, detail: "bad key" })), say("first")])
      const second = yield* backend("second", [
        fail(new ModelError({ ...failure("billing", { status: 402, detail: "no credit" }), provider: "second" })),
        say("second")
      ])
      const route = yield* Route.make(first, [second], { maxRetries: 3 })
      const error = yield* Effect.flip(collect(route, ask("hello")))
      assert.deepStrictEqual([error.reason, error.provider, error.status], ["auth", "first", 401])
      assert.strictEqual(error.detail, "bad key. Then second failed too (billing): no credit")
      // Both cool down, so the first is asked again and not nobody.
      assert.strictEqual(textOf(yield* collect(route, ask("hello"))), "first")
    })
  )

  it.effect("an exhausted chain says when the first of its backends may answer again", () =>
    Effect.gen(function* () {
      const hours = 7_200_000
      const chain = (...later: ReadonlyArray<ModelError>) =>
        Effect.gen(function* () {
          const first = yield* backend("first", [fail(failure("rate_limit", { retryAfterMillis: hours }))])
          const others = yield* Effect.forEach(later, (error, n) => backend(`other ${n}`, [fail(error)]))
          const route = yield* Route.make(first, others, { maxRetries: 0 })
          return (yield* Effect.flip(collect(route, ask("hello")))).retryAfterMillis
        })
      assert.strictEqual(yield* chain(failure("rate_limit", { retryAfterMillis: 60_000 })), 60_000)
      assert.strictEqual(yield* chain(failure("billing", { retryAfterMillis: 2 * hours })), hours)
      assert.isNull(yield* chain(failure("server_error")))
      assert.isNull(yield* chain(failure("rate_limit", { retryAfterMillis: 60_000 }), failure("transport")))
      assert.strictEqual(yield* chain(failure("auth"), failure("model_not_found")), hours)
    })
  )

  it.effect("a step without Finish is still an answer", () =>
    Effect.gen(function* () {
      const first = yield* backend("first", [parts([{ _tag: "Reasoning", delta: "hm" }])])
      const route = yield* Route.make(first, [], { maxRetries: 0 })
      assert.strictEqual(finishOf(yield* collect(route, ask("hello")))?.reason, "stop")
    })
  )

  it.effect("the log names backend and reason and no word of the conversation or the error", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
      const first = yield* backend("first", [
        fail(failure("rate_limit", { detail: "key sk-secret-12345678 is limited" }))
      ])
      const second = yield* backend("second", [say("ok")])
      const route = yield* Route.make(first, [second], { maxRetries: 3 })
      yield* collect(route, ask("my private words")).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], "rate_limit")
      assert.notInclude(lines[0], "sk-secret")
      assert.notInclude(lines[0], "private words")
    })
  )
})
