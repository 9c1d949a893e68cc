import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Metric, MetricBoundaries, Redacted, Schema, TestClock } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import { parse } from "../../../src/layers/http/CompletionRequest.js"
import * as Guard from "../../../src/layers/http/Guard.js"
import * as Keyring from "../../../src/layers/http/Keyring.js"
import * as Prometheus from "../../../src/layers/http/Prometheus.js"
import * as Routes from "../../../src/layers/http/Routes.js"
import { ApiError, failure } from "../../../src/services/api/ApiError.js"
import { callerOf, forward, Forwarded } from "../../../src/services/api/Caller.js"
import { PathText } from "../../../src/services/api/Parameters.js"
import { Instant } from "../../../src/services/operation/Instant.js"

describe("Guard", () => {
  it("knows the names of this machine and the named ones", () => {
    const guard = Guard.make("127.0.0.1", ["hermes.example", "other.example:8642"])
    const passes = (host: string) => guard.check({ host }) === null
    for (const host of [
      "localhost",
      "localhost:1",
      "127.0.0.1",
      "127.9.9.9:80",
      "[::1]:8642",
      "hermes.example",
      "HERMES.example:99",
      "other.example:8642"
    ])
      assert.isTrue(passes(host), host)
    for (const host of [
      "",
      "other.example",
      "other.example:1",
      "xlocalhost",
      "localhost.evil.com",
      "127.0.0.1.nip.io",
      "[::2]",
      "1.2.3.4",
      "localhost:99999999",
      "local host",
      "hermes.example/evil"
    ])
      assert.isFalse(passes(host), host)
  })

  it("takes an origin only when it is the same server's", () => {
    const guard = Guard.make("127.0.0.1", ["hermes.example"])
    const passes = (host: string, origin: string) => guard.check({ host, origin }) === null
    assert.isTrue(passes("127.0.0.1:8642", "http://127.0.0.1:8642"))
    assert.isTrue(passes("hermes.example", "https://hermes.example"))
    assert.isTrue(passes("hermes.example:443", "https://hermes.example"))
    for (const [host, origin] of [
      ["127.0.0.1:8642", "http://127.0.0.1:3000"],
      ["127.0.0.1:8642", "http://localhost:8642"],
      ["hermes.example", "https://evil.example"],
      ["127.0.0.1:8642", "null"],
      ["127.0.0.1:8642", "file://"],
      ["127.0.0.1:8642", "http://127.0.0.1:8642.evil.example"]
    ] as const)
      assert.isFalse(passes(host, origin), origin)
  })
})

describe("Keyring", () => {
  it.effect("takes its key and cookies of its making, for 30 days", () =>
    Effect.gen(function* () {
      const keyring = Keyring.make(Redacted.make("a-key-of-this-home"))
      assert.isTrue(keyring.isKey("a-key-of-this-home"))
      for (const wrong of ["", "a-key-of-this-hom", "a-key-of-this-home ", "A-KEY-OF-THIS-HOME"])
        assert.isFalse(keyring.isKey(wrong), wrong)
      const { value } = yield* keyring.mint
      assert.isTrue(yield* keyring.isCookie(value))
      assert.isFalse(yield* Keyring.make(Redacted.make("another-key-altogether")).isCookie(value))
      const [expires, signature] = value.split(".")
      for (const forged of [
        `${expires}`,
        `${expires}.`,
        `.${signature}`,
        `zzzzzzzzz.${signature}`,
        `${value}.x`,
        `${value}AA`
      ])
        assert.isFalse(yield* keyring.isCookie(forged), forged)
      yield* TestClock.adjust("30 days")
      assert.isFalse(yield* keyring.isCookie(value))
    })
  )

  it.effect("takes nothing when there is no key", () =>
    Effect.gen(function* () {
      const keyring = Keyring.make(Redacted.make(""))
      assert.isFalse(keyring.isKey(""))
      assert.isFalse(yield* keyring.isCookie((yield* keyring.mint).value))
    })
  )
})

describe("Forwarded", () => {
  const decode = (header: string) => Schema.decodeUnknownEither(Forwarded, { onExcessProperty: "error" })(header)

  it("carries a turn's names through a header, and none outside of a turn", () => {
    const environment = {
      HERMES_SESSION_CHAT_NAME: 'Çay ☕ "quoted" \n',
      HERMES_CRON_SESSION: "1",
      HERMES_CRON_JOB_ID: "j",
      HERMES_UI_SESSION_ID: "tab",
      HERMES_HOME: "/secret",
      API_SERVER_KEY: "k"
    }
    const header = forward(environment)
    assert.match(header ?? "", /^[\x20-\x7e]+$/)
    const read = Either.getOrThrow(decode(header ?? ""))
    assert.deepStrictEqual(read, {
      HERMES_SESSION_CHAT_NAME: 'Çay ☕ "quoted" \n',
      HERMES_CRON_SESSION: "1",
      HERMES_CRON_JOB_ID: "j",
      HERMES_UI_SESSION_ID: "tab"
    })
    const caller = callerOf("key", read)
    assert.isTrue(caller.insideTurn)
    assert.isTrue(CronMarker.same(caller.marker, CronMarker.cron({ job: "j", run: null })))
    assert.isNull(forward({ HERMES_HOME: "/h", PATH: "/bin" }))
    assert.isFalse(callerOf("key", {}).insideTurn)
    for (const bad of ["", "null", "[]", '{"HERMES_HOME":"x"}', '{"HERMES_SESSION_ID":null}'])
      assert.isTrue(Either.isLeft(decode(bad)), bad)
  })
})

describe("CompletionRequest", () => {
  it("takes the last message as the question and the rest as context", () => {
    const asked = Either.getOrThrow(
      parse([
        { role: "user", content: "a" },
        { role: "system", content: "s" },
        { role: "user", content: "b" }
      ])
    )
    assert.deepInclude(asked, { question: "b", instructions: "s" })
    assert.deepStrictEqual(asked.context, [{ _tag: "user", text: "a", platformMessageId: null }])
    assert.isTrue(
      Either.isLeft(
        parse([
          { role: "user", content: "a" },
          { role: "assistant", content: "b" }
        ])
      )
    )
  })
})

describe("Prometheus", () => {
  it.effect("writes every kind of metric, its labels escaped and its families together", () =>
    Effect.gen(function* () {
      const name = "test_prometheus"
      yield* Metric.update(Metric.tagged(Metric.counter(`${name}_count`, { description: "a\nb" }), "who", 'x"y\\z'), 2)
      yield* Metric.update(Metric.tagged(Metric.counter(`${name}_count`, { description: "a\nb" }), "who", "w"), 3)
      yield* Metric.set(Metric.gauge(`${name}-gauge`), 1.5)
      yield* Metric.update(Metric.histogram(`${name}_time`, MetricBoundaries.fromIterable([1, 10])), 5)
      yield* Metric.update(Metric.frequency(`${name}_word`), "hello")
      const text = Prometheus.render([Prometheus.gauge("hermes_x", "X.", 7)], yield* Metric.snapshot)
      for (const line of [
        "# HELP hermes_x X.",
        "hermes_x 7",
        `# HELP ${name}_count a\\nb`,
        `${name}_count{who="x\\"y\\\\z"} 2`,
        `${name}_count{who="w"} 3`,
        `${name}_gauge 1.5`,
        `${name}_time_bucket{le="1"} 0`,
        `${name}_time_bucket{le="10"} 1`,
        `${name}_time_bucket{le="+Inf"} 1`,
        `${name}_time_sum 5`,
        `${name}_word{key="hello"} 1`
      ])
        assert.include(text.split("\n"), line)
      assert.strictEqual(text.split(`# TYPE ${name}_count counter`).length, 2)
      assert.isTrue(text.endsWith("\n"))
    })
  )
})

describe("Routes", () => {
  it("knows the methods of a path", () => {
    const methodsOf = Routes.make()
    assert.deepStrictEqual(methodsOf("/health?x=1"), ["GET"])
    assert.sameMembers([...methodsOf("/api/sessions/abc")], ["GET", "PATCH", "DELETE"])
    assert.deepStrictEqual(methodsOf("/openapixjson"), [])
    assert.deepStrictEqual(methodsOf("/api/sessions/a/b/c"), [])
  })
})

describe("what crosses the wire", () => {
  it("is an instant in ISO 8601, a path segment escaped, and an error of its status only", () => {
    assert.strictEqual(Schema.encodeSync(Instant)(0), "1970-01-01T00:00:00.000Z")
    assert.strictEqual(Schema.decodeSync(Instant)("2026-11-29T12:00:00+01:00"), Date.UTC(2026, 10, 29, 11))
    assert.isTrue(Either.isLeft(Schema.decodeUnknownEither(Instant)("soon")))
    assert.strictEqual(Schema.encodeSync(PathText)("a/b?c"), "a%2Fb%3Fc")
    // Half a surrogate pair would end the client.
    assert.strictEqual(Schema.encodeSync(PathText)("a\ud800"), "a%EF%BF%BD")
    const error = new ApiError({ status: 404, code: "not_found", message: "no" })
    assert.deepStrictEqual(Schema.encodeSync(failure(404, ""))(error), {
      error: { code: "not_found", message: "no", type: "not_found_error" }
    })
    assert.isTrue(Either.isLeft(Schema.encodeEither(failure(400, ""))(error)))
  })
})
