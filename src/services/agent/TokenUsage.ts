/** What calls of a model used. */
/** What one answer used, as the provider counted it. */
export interface TokenUsage {
  /** The whole prompt: what came from a cache and what was written to one are in it. */
  readonly inputTokens: number
  /** Everything that was generated, reasoning in it. */
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

export const none: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0
}

/** Both together; null where a provider told nothing. */
export const sum = (a: TokenUsage, b: TokenUsage | null): TokenUsage =>
  b === null
    ? a
    : {
        inputTokens: a.inputTokens + b.inputTokens,
        outputTokens: a.outputTokens + b.outputTokens,
        cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
        cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
        reasoningTokens: a.reasoningTokens + b.reasoningTokens
      }
