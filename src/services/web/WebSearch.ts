/** Who searches the web for the agent (gateway.md 8.2). */
import type { Redacted } from "effect"

export type SearchProvider =
  | { readonly _tag: "searxng"; readonly url: string }
  | { readonly _tag: "brave"; readonly apiKey: Redacted.Redacted }
  | { readonly _tag: "tavily"; readonly apiKey: Redacted.Redacted }
