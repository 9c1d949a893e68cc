/** Several keys, several backends: who is asked with which key, for how long, and who hears of it (state-agent.md 3.8, 3.9). */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, TestClock } from "effect"
import * as Cooldowns from "../../../src/layers/models/Cooldowns.js"
import * as AccessTokens from "../../../src/layers/models/oauth/AccessTokens.js"
import * as Route from "../../../src/layers/models/Route.js"
import { choose, type KeyStrategy } from "../../../src/services/agent/KeyStrategy.js"
import { ModelError, type ModelErrorReason, ModelRoute, ofTurn } from "../../../src/services/agent/ModelRoute.js"
import { ModelRoutes } from "../../../src/services/agent/ModelRoutes.js"
import { type ModelBackend, Settings } from "../../../src/services/operation/Settings.js"
import * as Server from "../../../src/testing/ModelServer.js"
import { fail, say, scriptedBackend, type StepInput } from "../../../src/testing/ScriptedModel.js"
import * as Testing from "../../../src/testing/Settings.js"
import { ask, backendOf, collect, edges, finishOf, textOf } from "./fixture.js"

const failure = (reason: ModelErrorReason, retryAfterMillis: number | null = null) =>
  fail(new ModelError({ reason, provider: "p", detail: "no", status: null, retryAfterMillis }))

const key = (name: string, ...steps: ReadonlyArray<StepInput>) => scriptedBackend(steps, { provider: "p", model: name })

const spoken = (route: Parameters<typeof collect>[0]) =>
  Effect.map(collect(route, ask("hello")), (parts) => finishOf(parts)?.backend.model)

const always = (step: StepInput) => Array.from({ length: 12 }, () => step)

describe("a further key of the same backend", () => {
  const table: ReadonlyArray<readonly [ModelErrorReason, string]> = [
    ["auth", "second key"],
    ["billing", "second key"],
    ["rate_limit", "second key"],
    ["overloaded", "fallback"],
    ["timeout", "fallback"],
    ["server_error", "fallback"],
    ["model_not_found", "fallback"],
    ["content_policy_blocked", "fallback"]
  ]
  for (const [reason, who] of table)
    it.effect(`after ${reason} the ${who} answers`, () =>
      Effect.gen(function* () {
        const keys = [yield* key("first key", ...always(failure(reason))), yield* key("second key", say("ok"))]
        const route = yield* Route.make(keys, [yield* key("fallback", say("ok"))], { maxRetries: 0 })
        const answer = yield* Effect.fork(spoken(route))
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(yield* answer, who)
      })
    )

  it.effect("is asked until the first one's time is over: 5 minutes, an hour, or what the provider says", () =>
    Effect.gen(function* () {
      for (const [reason, said, seconds] of [
        ["auth", null, 300],
        ["billing", null, 3_600],
        ["rate_limit", null, 3_600],
        ["rate_limit", 90_000, 90]
      ] as const) {
        const keys = [
          yield* key("one", failure(reason, said), ...always(say("ok"))),
          yield* key("two", ...always(say("ok")))
        ]
        const route = yield* Route.make(keys, [], { maxRetries: 0 })
        assert.strictEqual(yield* spoken(route), "two")
        yield* TestClock.adjust((seconds - 1) * 1_000)
        assert.strictEqual(yield* spoken(route), "two", reason)
        yield* TestClock.adjust(1_000)
        assert.strictEqual(yield* spoken(route), "one", reason)
      }
    })
  )

  it.effect("the only key is asked again after a minute, without credit after an hour", () =>
    Effect.gen(function* () {
      for (const [reason, seconds] of [
        ["auth", 60],
        ["rate_limit", 60],
        ["billing", 3_600]
      ] as const) {
        const route = yield* Route.make(
          yield* key("one", failure(reason), say("ok")),
          [yield* key("other", ...always(say("ok")))],
          { maxRetries: 0 }
        )
        assert.strictEqual(yield* spoken(route), "other")
        yield* TestClock.adjust((seconds - 1) * 1_000)
        assert.strictEqual(yield* spoken(route), "other", reason)
        yield* TestClock.adjust(1_000)
        assert.strictEqual(yield* spoken(route), "one", reason)
      }
    })
  )
})

describe("an outage that passes", () => {
  const took = (reason: ModelErrorReason, failures: number, recoveryCycles: number) =>
    Effect.gen(function* () {
      const first = yield* key("first", ...Array.from({ length: failures }, () => fail(reason)), say("ok"))
      const route = yield* Route.make(first, [], { maxRetries: 0, recoveryCycles })
      const answer = yield* Effect.fork(Effect.either(spoken(route)))
      let seconds = 0
      for (; (yield* answer.poll)._tag === "None" && seconds < 600; seconds += 15) yield* TestClock.adjust("15 seconds")
      return [(yield* answer)._tag, seconds, (yield* first.requests).length] as const
    })

  it.effect("is waited for: 15, 30 and then 60 s, as often as the settings say and no longer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* took("overloaded", 3, 5), ["Right", 105, 4])
      assert.deepStrictEqual(yield* took("server_error", 5, 5), ["Right", 225, 6])
      assert.deepStrictEqual(yield* took("server_error", 6, 5), ["Left", 225, 6])
      assert.deepStrictEqual((yield* took("overloaded", 6, 0))[0], "Left")
      for (const reason of ["auth", "rate_limit", "transport", "timeout"] as const)
        assert.deepStrictEqual((yield* took(reason, 6, 5))[2], 1, reason)
    })
  )
})

describe("a turn", () => {
  it.effect("stays with who took over; the next one begins with the configured backend", () =>
    Effect.gen(function* () {
      const first = yield* key("first", fail("overloaded"), ...always(say("ok")))
      const second = yield* key("second", ...always(say("ok")))
      const route = yield* Route.make(first, [second], { maxRetries: 0 })
      const turn = yield* ofTurn(route)
      const heard = () => Effect.map(collect(turn, ask("hello")), (parts) => finishOf(parts)?.backend.model)
      assert.strictEqual(yield* turn.contextWindow, first.contextWindow)
      assert.deepStrictEqual([yield* heard(), yield* heard()], ["second", "second"])
      assert.strictEqual((yield* first.requests).length, 1)
      assert.strictEqual(yield* spoken(yield* ofTurn(route)), "first")
    })
  )

  it.effect("leaves a backend that says nothing of use for the next one, as long as there is one", () =>
    Effect.gen(function* () {
      const backends = yield* Effect.forEach(["one", "two", "three"], (name) => key(name, ...always(say("ok"))))
      const [one, two, three] = backends
      if (one === undefined || two === undefined || three === undefined) return assert.fail()
      const turn = yield* ofTurn(yield* Route.make([one, two], [three], { maxRetries: 0 }))
      assert.strictEqual(yield* spoken(turn), "one")
      assert.isTrue(yield* turn.pass)
      assert.strictEqual(yield* spoken(turn), "three")
      assert.isFalse(yield* turn.pass)
      assert.isFalse(yield* (yield* ofTurn(yield* Route.make(one, [], { maxRetries: 0 }))).pass)
    })
  )

  it.effect("goes back when who took over fails", () =>
    Effect.gen(function* () {
      const first = yield* key("first", fail("overloaded"), ...always(say("ok")))
      const second = yield* key("second", say("ok"), fail("model_not_found"))
      const turn = yield* ofTurn(yield* Route.make(first, [second], { maxRetries: 0 }))
      assert.strictEqual(yield* spoken(turn), "second")
      assert.strictEqual(yield* spoken(turn), "first")
    })
  )

  it.effect("that is larger than a fallback takes in is not sent there, and says that it can be helped", () =>
    Effect.gen(function* () {
      const first = yield* key("first", ...always(fail("model_not_found")))
      const small = { ...(yield* key("small", ...always(say("ok")))), contextWindow: 1_000 }
      const turn = yield* ofTurn(yield* Route.make(first, [small], { maxRetries: 0 }))
      const long = ask("x".repeat(8_000))
      const error = yield* Effect.flip(collect(turn, long))
      assert.strictEqual(error.reason, "context_overflow")
      assert.include(error.detail, "small takes in 1000 tokens")
      // What is compacted goes to the one that took over.
      assert.strictEqual(yield* turn.contextWindow, 1_000)
      assert.strictEqual(yield* spoken(turn), "small")
      assert.strictEqual((yield* first.requests).length, 1)
    })
  )
})

describe("several keys of one provider", () => {
  const places: ReadonlyArray<readonly [KeyStrategy, ReadonlyArray<string>]> = [
    ["fill_first", ["a", "a", "a", "a"]],
    ["round_robin", ["a", "b", "c", "a"]],
    ["least_used", ["a", "b", "c", "a"]]
  ]
  for (const [strategy, asked] of places)
    it.effect(`are used as it is set: ${strategy}`, () =>
      Effect.gen(function* () {
        const keys = yield* Effect.forEach(["a", "b", "c"], (name) => key(name, ...always(say(name))))
        const route = yield* Route.make(keys, [], { maxRetries: 0, strategies: { p: strategy } })
        const turns = yield* Effect.forEach(asked, () => ofTurn(route))
        assert.deepStrictEqual(yield* Effect.forEach(turns, (turn) => spoken(turn)), [...asked])
        // A turn keeps its key.
        assert.deepStrictEqual(yield* Effect.forEach(turns, (turn) => spoken(turn)), [...asked])
      })
    )

  it("at random is any that is ready; the one that is at its limit is never among them", () => {
    const so = { used: () => 0, last: null }
    const chosen = [0, 0.2, 0.4, 0.6, 0.99].map((chance) => choose("random", [1, 4, 5], { ...so, chance }))
    assert.deepStrictEqual(chosen, [1, 1, 4, 4, 5])
    assert.strictEqual(choose("round_robin", [1, 4], { ...so, last: 4, chance: 0 }), 1)
    assert.strictEqual(choose("least_used", [1, 4], { used: (place) => 5 - place, last: 4, chance: 0 }), 4)
  })

  it.effect("in turn, the one that is at its limit is passed by", () =>
    Effect.gen(function* () {
      const keys = [
        yield* key("a", fail("rate_limit"), ...always(say("a"))),
        yield* key("b", ...always(say("b"))),
        yield* key("c", ...always(say("c")))
      ]
      const route = yield* Route.make(keys, [], { maxRetries: 0, strategies: { p: "round_robin" } })
      const each = Effect.flatMap(ofTurn(route), (turn) => spoken(turn))
      assert.deepStrictEqual(yield* Effect.forEach([1, 2, 3, 4], () => each), ["b", "b", "c", "b"])
    })
  )
})

describe("over HTTP", () => {
  const one = "sk-key-number-one-111111"
  const two = "sk-key-number-two-222222"

  const routed = <A, E>(
    self: Effect.Effect<A, E, ModelRoute | ModelRoutes>,
    model: ModelBackend,
    fallbacks: ReadonlyArray<ModelBackend> = []
  ) =>
    self.pipe(
      Effect.provide(
        Layer.merge(Route.layer, Route.routes).pipe(
          Layer.provide([
            Layer.mergeAll(edges, NodeFileSystem.layer, Cooldowns.layerMemory, AccessTokens.layerNone),
            Layer.succeed(Settings, Testing.settings("/nowhere", { model, fallbacks, agent: { apiMaxRetries: 0 } }))
          ])
        )
      )
    )

  it.scoped("a limit of one key is known to every route; no key is logged or told", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
      const server = yield* Server.make((request) =>
        request.headers["authorization"] === `Bearer ${one}`
          ? Server.refuses(429, { message: `the key ${one} is at its limit, ${two} is not` })
          : Server.says("with the second")
      )
      const model = backendOf(server.baseUrl, { apiKey: Redacted.make(one), spareKeys: [Redacted.make(two)] })
      yield* routed(
        Effect.gen(function* () {
          assert.strictEqual(textOf(yield* collect(yield* ModelRoute, ask("a"))), "with the second")
          const other = yield* (yield* ModelRoutes).over({ ...model }, [])
          assert.strictEqual(textOf(yield* collect(other, ask("b"))), "with the second")
        }),
        model
      ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      assert.deepStrictEqual(
        (yield* server.requests).map(({ headers }) => headers["authorization"]),
        [`Bearer ${one}`, `Bearer ${two}`, `Bearer ${two}`]
      )
      assert.isAtLeast(lines.length, 1)
      assert.notInclude(lines.join("\n"), "sk-key")

      const refusing = yield* Server.make([Server.refuses(401, { message: `no key like ${one} or ${two}` })])
      const error = yield* Effect.flip(
        routed(
          Effect.flatMap(ModelRoute, (route) => collect(route, ask("c"))),
          { ...model, baseUrl: refusing.baseUrl }
        )
      )
      assert.strictEqual(error.reason, "auth")
      assert.notInclude(JSON.stringify(error), "sk-key")
    })
  )

  it.scoped("a fallback without a key is left out, and who finds nobody answering is told", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([Server.refuses(401)])
      const lacking = backendOf("", { provider: "anthropic", baseUrl: null, apiKey: null })
      const error = yield* Effect.flip(
        routed(
          Effect.flatMap(ModelRoute, (route) => collect(route, ask("a"))),
          backendOf(server.baseUrl),
          [lacking]
        )
      )
      assert.strictEqual(error.reason, "auth")
      assert.include(error.detail, "The fallback anthropic is not set up: Set ANTHROPIC_API_KEY")
    })
  )
})
