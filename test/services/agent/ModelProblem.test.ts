import { assert, describe, it } from "@effect/vitest"
import { describe as describeError, text } from "../../../src/services/agent/ModelProblem.js"
import { ModelError, ModelErrorReason } from "../../../src/services/agent/ModelRoute.js"

const error = (reason: ModelErrorReason, more: Partial<ConstructorParameters<typeof ModelError>[0]> = {}): ModelError =>
  new ModelError({ reason, provider: "anthropic", detail: "", status: null, retryAfterMillis: null, ...more })

describe("a model's failure in words (gateway.md 3.6)", () => {
  it("each class has its cause and its next step", () => {
    const said = (reason: ModelErrorReason, more = {}) => text(describeError(error(reason, more), 4))
    assert.include(said("auth", { status: 401 }), "ANTHROPIC_API_KEY")
    assert.include(said("auth", { status: 401, provider: "openai" }), "OPENAI_API_KEY")
    assert.include(said("auth", { status: 401, provider: "openai-compatible" }), "HERMES_MODEL_API_KEY")
    assert.include(said("billing", { status: 402 }), "credit")
    assert.include(said("rate_limit", { status: 429, retryAfterMillis: 7_200_000 }), "resets in about 2 hours")
    assert.notInclude(said("rate_limit", { status: 429 }), "resets")
    assert.include(said("overloaded", { status: 529 }), "overloaded")
    assert.include(said("context_overflow", { status: 400 }), "/new")
    assert.include(said("not_configured", { detail: "Set HERMES_MODEL." }), "Set HERMES_MODEL.")
  })

  it("is said of somebody by their name, and what they said is a sentence of its own", () => {
    const said = (provider: string, detail: string) =>
      text(describeError(error("server_error", { provider, detail }), 4))
    assert.include(
      said("openai-compatible", "boom"),
      `The model's server had an error of its own. It said: "boom". Send`
    )
    assert.include(said("openai", "Try later."), `OpenAI had an error of its own. It said: "Try later." Send`)
  })

  it("a 400 or 500 behind a long conversation points at its size", () => {
    for (const status of [400, 500]) {
      const reason = status === 400 ? "format_error" : "server_error"
      assert.include(describeError(error(reason, { status }), 51).cause, "too large")
      assert.notInclude(describeError(error(reason, { status }), 50).cause, "too large")
    }
    assert.notInclude(describeError(error("auth", { status: 401 }), 500).cause, "too large")
  })

  it("every reason says something to do", () => {
    for (const reason of ModelErrorReason.literals) {
      const { cause, next } = describeError(error(reason, { detail: "why" }), 4)
      assert.notStrictEqual(cause, "")
      assert.notStrictEqual(next, "")
    }
  })

})
