/** What a model's tokens cost: the owner's own prices, else the list prices of well-known models. Estimates, in US dollars. Pure. */
import type { TokenUsage } from "./TokenUsage.js"

/** US dollars for a million tokens. */
export interface Price {
  /** The start of the model's name. */
  readonly model: string
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

const anthropic = (model: string, input: number, output: number): Price => ({
  model,
  input,
  output,
  cacheRead: input / 10,
  cacheWrite: input * 1.25
})

const openai = (model: string, input: number, output: number, cacheRead: number): Price => ({
  model,
  input,
  output,
  cacheRead,
  cacheWrite: input
})

/** The providers' public list prices. */
const listed: ReadonlyArray<Price> = [
  anthropic("claude-opus-4-5", 5, 25),
  anthropic("claude-opus-4", 15, 75),
  anthropic("claude-sonnet-4", 3, 15),
  anthropic("claude-3-7-sonnet", 3, 15),
  anthropic("claude-haiku-4-5", 1, 5),
  anthropic("claude-3-5-haiku", 0.8, 4),
  openai("gpt-5", 1.25, 10, 0.125),
  openai("gpt-5-mini", 0.25, 2, 0.025),
  openai("gpt-5-nano", 0.05, 0.4, 0.005),
  openai("gpt-4.1", 2, 8, 0.5),
  openai("gpt-4.1-mini", 0.4, 1.6, 0.1),
  openai("gpt-4.1-nano", 0.1, 0.4, 0.025),
  openai("gpt-4o", 2.5, 10, 1.25),
  openai("gpt-4o-mini", 0.15, 0.6, 0.075),
  openai("o3", 2, 8, 0.5),
  openai("o4-mini", 1.1, 4.4, 0.275)
]

/** Costs nothing, wherever its name comes from. */
const freeProviders: ReadonlySet<string> = new Set(["offline", "scripted"])

/** The price whose name fits a model's the furthest; a router's `vendor/model` is known by the model. */
const priceOf = (model: string, prices: ReadonlyArray<Price>): Price | null => {
  const name = model.slice(model.lastIndexOf("/") + 1)
  let best: Price | null = null
  for (const price of prices)
    if (
      (name.startsWith(price.model) || model.startsWith(price.model)) &&
      price.model.length > (best?.model.length ?? -1)
    )
      best = price
  return best
}

/**
 * What a call cost; null where nobody knows the price. `own` are the owner's prices, which win.
 * `tokens.inputTokens` is the whole prompt, with what came from a cache and was written to one in it.
 */
export const costOf = (
  backend: { readonly provider: string; readonly model: string },
  tokens: TokenUsage,
  own: ReadonlyArray<Price>
): number | null => {
  const price =
    priceOf(backend.model, own) ??
    (backend.provider === "anthropic" || backend.provider === "openai" ? priceOf(backend.model, listed) : null)
  if (price === null) return freeProviders.has(backend.provider) ? 0 : null
  const fresh = Math.max(0, tokens.inputTokens - tokens.cacheReadTokens - tokens.cacheWriteTokens)
  return (
    (fresh * price.input +
      tokens.cacheReadTokens * price.cacheRead +
      tokens.cacheWriteTokens * price.cacheWrite +
      tokens.outputTokens * price.output) /
    1_000_000
  )
}
