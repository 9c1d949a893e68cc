import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as Price from "../../../src/services/agent/Price.js"

const tokens = {
  inputTokens: 1_000_000,
  outputTokens: 1_000_000,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0
}

const cost = (provider: string, model: string, own: ReadonlyArray<Price.Price> = []) =>
  Price.costOf({ provider, model }, tokens, own)

describe("the price of tokens", () => {
  it("is the list price of the model whose name fits the furthest", () => {
    assert.strictEqual(cost("anthropic", "claude-sonnet-4-5-20250929"), 18)
    assert.strictEqual(cost("openai", "gpt-5"), 11.25)
    assert.strictEqual(cost("openai", "gpt-5-mini-2025-08-07"), 2.25)
    assert.strictEqual(cost("anthropic", "claude-opus-4-5"), 30)
    assert.strictEqual(cost("anthropic", "claude-opus-4-1"), 90)
  })

  it("is not guessed: a server of one's own sells under names of others", () => {
    assert.isNull(cost("openai-compatible", "gpt-5"))
    assert.isNull(cost("openai", "gpt-42-ultra"))
    assert.strictEqual(cost("offline", "assistant"), 0)
  })

  it("is the owner's where the owner names one", () => {
    const own = [{ model: "qwen3", input: 1, output: 2, cacheRead: 1, cacheWrite: 1 }]
    assert.strictEqual(cost("openai-compatible", "qwen3:32b", own), 3)
    assert.strictEqual(cost("openai-compatible", "alibaba/qwen3-max", own), 3)
    assert.strictEqual(cost("openai", "gpt-5", [{ ...own[0]!, model: "gpt-5" }]), 3)
  })

  it("counts each token once: fresh, from a cache or into one", () => {
    const amount = fc.integer({ min: 0, max: 1_000_000 })
    fc.assert(
      fc.property(amount, amount, amount, amount, (fresh, cacheReadTokens, cacheWriteTokens, outputTokens) => {
        const flat = [{ model: "m", input: 1, output: 1, cacheRead: 1, cacheWrite: 1 }]
        const used = {
          inputTokens: fresh + cacheReadTokens + cacheWriteTokens,
          outputTokens,
          cacheReadTokens,
          cacheWriteTokens,
          reasoningTokens: 0
        }
        const all = used.inputTokens + outputTokens
        assert.approximately(Price.costOf({ provider: "x", model: "m" }, used, flat) ?? -1, all / 1_000_000, 1e-9)
      })
    )
  })
})
