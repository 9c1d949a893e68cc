import { assert, describe, it } from "@effect/vitest"
import {
  backoffMillis,
  classify,
  cooldownMillis,
  type Evidence,
  verdict
} from "../../../src/services/agent/ModelEvidence.js"
import { ModelError, ModelErrorReason } from "../../../src/services/agent/ModelRoute.js"

const small = { messages: 4, tokens: 1_000, contextWindow: 128_000 }

const seen = (more: Partial<Evidence>): Evidence => ({
  model: "some-model",
  status: null,
  code: null,
  message: "",
  transport: null,
  size: small,
  ...more
})

const table: ReadonlyArray<readonly [Partial<Evidence>, ModelErrorReason]> = [
  [{ status: 401 }, "auth"],
  [{ status: 403, message: "Forbidden" }, "auth"],
  [{ status: 403, message: "Key limit exceeded: the key's spending limit" }, "billing"],
  [{ status: 403, message: "Your input was flagged by moderation" }, "content_policy_blocked"],
  [{ status: 402, message: "Insufficient credits" }, "billing"],
  [{ status: 402, message: "Usage limit reached, try again in 5 minutes" }, "rate_limit"],
  [{ status: 402, message: "Usage limit reached" }, "billing"],
  [{ status: 404, message: "The model `x` does not exist" }, "model_not_found"],
  [{ status: 404, message: "No endpoints found matching your data policy" }, "provider_policy_blocked"],
  [{ status: 404, message: "No endpoints found for x. Insufficient credits" }, "billing"],
  [{ status: 404, message: "404 page not found" }, "unknown"],
  [{ status: 408 }, "timeout"],
  [{ status: 413 }, "payload_too_large"],
  [{ status: 429, message: "Too many requests" }, "rate_limit"],
  [{ status: 429, message: "The engine is currently overloaded" }, "overloaded"],
  [{ status: 429, message: "deepseek/r1 is temporarily rate-limited upstream" }, "overloaded"],
  [{ status: 429, code: "1305", message: "busy" }, "overloaded"],
  [{ status: 429, message: "Extra usage is required for long context requests" }, "context_overflow"],
  [{ status: 429, code: "insufficient_quota" }, "billing"],
  [{ status: 400, message: "Unsupported parameter: max_tokens exceeds the limit" }, "format_error"],
  [{ status: 400, message: "This model's maximum context length is 8192 tokens" }, "context_overflow"],
  [{ status: 400, message: "prompt is too long: 210000 tokens > 200000" }, "context_overflow"],
  [{ status: 400, message: "Invalid schema for function 'x'" }, "format_error"],
  [{ status: 400, code: "content_filter", message: "filtered" }, "content_policy_blocked"],
  [{ status: 422, message: "Input should be a valid string" }, "format_error"],
  [{ status: 500 }, "server_error"],
  [{ status: 500, message: "2 validation errors for ChatCompletionRequest" }, "format_error"],
  [{ status: 502 }, "server_error"],
  [{ status: 503, message: "Loading model" }, "overloaded"],
  [{ status: 524 }, "server_error"],
  [{ status: 524, size: { ...small, tokens: 100_000 } }, "context_overflow"],
  [{ status: 529 }, "overloaded"],
  [{ code: "overloaded_error", message: "Overloaded" }, "overloaded"],
  [{ code: "rate_limit_error" }, "rate_limit"],
  [{ code: "429", message: "slow down" }, "rate_limit"],
  [{ code: "502", message: "Provider returned error" }, "server_error"],
  [{ code: "exceed_context_size_error" }, "context_overflow"],
  [{ code: "invalid_request_error", message: "prompt is too long" }, "context_overflow"],
  [{ code: "invalid_request_error", message: "hm" }, "format_error"],
  [{ code: "api_error", message: "Internal" }, "server_error"],
  [{ message: "The server had a hiccup" }, "unknown"],
  [{ message: "request timed out" }, "timeout"],
  [{ transport: "connect" }, "transport"],
  [{ transport: "dns" }, "transport"],
  [{ transport: "tls" }, "transport"],
  [{ transport: "timeout" }, "timeout"],
  [{ transport: "disconnect" }, "transport"],
  [{ transport: "disconnect", model: "o3" }, "timeout"],
  [{ transport: "disconnect", model: "deepseek-reasoner" }, "timeout"],
  [{ transport: "disconnect", size: { messages: 10, tokens: 80_000, contextWindow: 128_000 } }, "context_overflow"],
  [{ transport: "disconnect", size: { messages: 201, tokens: 10, contextWindow: 128_000 } }, "context_overflow"],
  [{ transport: "disconnect", size: { messages: 201, tokens: 10, contextWindow: 1_000_000 } }, "transport"],
  [{ transport: "disconnect", size: { messages: 10, tokens: 121_000, contextWindow: 256_000 } }, "context_overflow"]
]

describe("how long a key is left alone (3.9)", () => {
  const minute = 60_000
  const table: ReadonlyArray<readonly [ModelErrorReason, number | null, boolean, number]> = [
    ["auth", null, false, 5 * minute],
    ["auth", null, true, minute],
    ["billing", null, false, 60 * minute],
    ["billing", null, true, 60 * minute],
    ["rate_limit", null, false, 60 * minute],
    ["rate_limit", null, true, minute],
    ["rate_limit", 5_000, false, 5_000],
    ["rate_limit", 5_000, true, 5_000],
    ["rate_limit", 1e12, false, 1_440 * minute],
    ["overloaded", null, false, 0],
    ["overloaded", 90_000, true, 0],
    ["transport", null, false, 0],
    ["context_overflow", null, false, 0]
  ]
  for (const [reason, retryAfterMillis, alone, millis] of table)
    it(`${reason}, ${alone ? "the only key" : "one of several"}, resets in ${retryAfterMillis}: ${millis} ms`, () => {
      const error = new ModelError({ reason, provider: "p", detail: "", status: null, retryAfterMillis })
      assert.strictEqual(cooldownMillis(error, alone), millis)
    })
})

describe("what a failed call was (state-agent.md 3.7)", () => {
  for (const [evidence, reason] of table)
    it(`${JSON.stringify(evidence)} → ${reason}`, () => {
      assert.strictEqual(classify(seen(evidence)), reason)
    })
})

describe("what may be done then", () => {
  it("every reason has a verdict, and only some may be tried again", () => {
    const retried = ModelErrorReason.literals.filter((reason) => verdict(reason).retry)
    assert.deepStrictEqual(retried, [
      "rate_limit",
      "overloaded",
      "server_error",
      "timeout",
      "transport",
      "malformed_stream",
      "unknown"
    ])
  })

  const error = (
    retryAfterMillis: number | null,
    reason: ModelErrorReason = "server_error",
    status: number | null = 500
  ) => new ModelError({ reason, provider: "p", detail: "", status, retryAfterMillis })

  it("waits double from 2 s to 60 s, with up to half more", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4, 5, 6, 20].map((retries) => backoffMillis(error(null), retries, 0)),
      [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]
    )
    assert.strictEqual(backoffMillis(error(null), 0, 1), 3_000)
  })

  it("an overload reported inside an answer is given more time (3.5)", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3, 9].map((retries) => backoffMillis(error(null, "overloaded", null), retries, 0)),
      [15_000, 30_000, 60_000, 120_000, 120_000]
    )
  })

  it("a provider's own wait wins up to ten minutes", () => {
    assert.strictEqual(backoffMillis(error(600_000), 0, 0.5), 600_000)
    assert.isNull(backoffMillis(error(600_001), 0, 0.5))
  })
})
