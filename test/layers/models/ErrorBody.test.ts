import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { fromText, retryAfterMillis } from "../../../src/layers/models/ErrorBody.js"
import { detailOf, scrubber, transportFailure } from "../../../src/layers/models/Failure.js"
import { wireArguments, wireArgumentText, wireId } from "../../../src/layers/models/WireCall.js"

describe("what a provider says about an error", () => {
  const bodies: ReadonlyArray<readonly [string, string, string | null]> = [
    [
      '{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}',
      "m",
      "context_length_exceeded"
    ],
    ['{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "Overloaded", "overloaded_error"],
    [
      '{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"too busy"}}}',
      "Provider returned error: too busy",
      "502"
    ],
    ['{"error":"model not found"}', "model not found", null],
    ['{"object":"error","message":"m","type":"BadRequestError","code":400}', "m", "BadRequestError"],
    ['{"detail":"Not Found"}', "Not Found", null],
    ['{"detail":[{"msg":"field required"}]}', '[{"msg":"field required"}]', null],
    [
      '[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}]',
      "Resource exhausted",
      "429"
    ],
    ["plain words", "plain words", null],
    ["", "", null]
  ]
  for (const [body, message, code] of bodies)
    it(body, () => {
      assert.deepStrictEqual(fromText(body), { message, code })
    })

  it("a wait is read from headers first, then from the words", () => {
    const now = Date.parse("2026-01-01T00:00:00Z")
    assert.deepStrictEqual(
      [
        retryAfterMillis({ "retry-after-ms": "250", "retry-after": "9" }, "", now),
        retryAfterMillis({ "retry-after": "9" }, "", now),
        retryAfterMillis({ "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT" }, "", now),
        retryAfterMillis({ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, "", now),
        retryAfterMillis({ "retry-after": "soon" }, "", now),
        retryAfterMillis({}, "Please try again in 7m12s.", now),
        retryAfterMillis({}, "Please try again in 1.5s.", now),
        retryAfterMillis({}, "Limit resets in 2h", now),
        retryAfterMillis({}, "no idea", now),
        retryAfterMillis({ "retry-after": "9".repeat(400) }, "", now),
        retryAfterMillis({ "retry-after": "Thu, 01 Jan 9999 00:00:00 GMT" }, "", now)
      ],
      [250, 9_000, 60_000, 0, null, 432_000, 1_500, 7_200_000, null, 2_678_400_000, 2_678_400_000]
    )
  })
})

describe("errors carry no secrets", () => {
  const scrub = scrubber(Redacted.make("s3cr3t-key-of-mine"))
  it("neither the configured key nor what looks like one", () => {
    assert.strictEqual(scrub("key s3cr3t-key-of-mine!"), "key [redacted]!")
    assert.notInclude(scrub("Bearer abcdef.ghijkl and sk-ant-REDACTED"), "abcdef")
    assert.notInclude(scrub("sk-ant-REDACTED"), "12345678")
  })
  it("a detail is one short line", () => {
    assert.strictEqual(detailOf("a\n\u0007b\t c", scrub), "a b c")
    assert.strictEqual(
      detailOf("TypeError: no\n    at f (/srv/a.js:1:2)\n    at g (<anonymous>)", scrub),
      "TypeError: no"
    )
    const python = 'Traceback (most recent call last):\n  File "/a.py", line 3, in f\n    raise X\nX: out of cheese\n'
    assert.strictEqual(detailOf(python, scrub), "X: out of cheese")
    assert.strictEqual(detailOf("at most 5 (five)\nat a time: no more", scrub), "at most 5 (five) at a time: no more")
    assert.strictEqual(detailOf("<!doctype html><title>Bad gateway</title>", scrub), "an HTML page: Bad gateway")
    assert.isAtMost(detailOf("x".repeat(10_000), scrub).length, 501)
  })
})

describe("how a connection failed", () => {
  const nested = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code }) })
  it("the code may lie deep", () => {
    assert.strictEqual(transportFailure(nested("ECONNREFUSED")).transport, "connect")
    assert.strictEqual(transportFailure(nested("ENOTFOUND")).transport, "dns")
    assert.strictEqual(transportFailure(nested("UND_ERR_CONNECT_TIMEOUT")).transport, "timeout")
    assert.strictEqual(transportFailure(nested("UND_ERR_SOCKET")).transport, "disconnect")
    assert.strictEqual(transportFailure(nested("DEPTH_ZERO_SELF_SIGNED_CERT")).transport, "tls")
    assert.strictEqual(
      transportFailure(
        new TypeError("x", { cause: new AggregateError([Object.assign(new Error("y"), { code: "ECONNREFUSED" })]) })
      ).transport,
      "connect"
    )
    assert.strictEqual(transportFailure("who knows").transport, "disconnect")
  })
})

describe("calls as providers accept them", () => {
  it("ids, names and arguments", () => {
    assert.strictEqual(wireId("functions.weather:0"), "functions_weather_0")
    assert.strictEqual(wireId(""), "call")
    assert.strictEqual(wireId("x".repeat(100)).length, 64)
    assert.deepStrictEqual(wireArguments(""), {})
    assert.deepStrictEqual(wireArguments("[1]"), { invalid_arguments: "[1]" })
    assert.strictEqual(wireArgumentText('{ "a" : 1 }'), '{ "a" : 1 }')
    assert.strictEqual(wireArgumentText("{"), '{"invalid_arguments":"{"}')
  })
})
