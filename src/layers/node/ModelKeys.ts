/** The keys of model providers, by the variables that they may stand in (contract §3, state-agent.md 3.8). */
import { Redacted } from "effect"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import * as ProviderDefaults from "../../services/operation/ProviderDefaults.js"
import type { Provider } from "../../services/operation/Settings.js"

/** The key that fits whatever provider is configured. */
const commonKey = "HERMES_MODEL_API_KEY"

/** The first of these variables that is set. */
export const secret = (environment: Environment, names: ReadonlyArray<string>): Redacted.Redacted | null => {
  const name = names.find((candidate) => (environment[candidate] ?? "") !== "")
  return name === undefined ? null : Redacted.make(environment[name] ?? "")
}

const mostKeys = 9

/** `NAME`, then `NAME_2` to `NAME_9`, of the first name that has any; each value once. */
export const secrets = (environment: Environment, names: ReadonlyArray<string>): ReadonlyArray<Redacted.Redacted> => {
  for (const name of names) {
    const numbered = Array.from({ length: mostKeys }, (_, index) => (index === 0 ? name : `${name}_${index + 1}`))
    const values = new Set(numbered.map((one) => environment[one] ?? "").filter((text) => text !== ""))
    if (values.size > 0) return [...values].map((text) => Redacted.make(text))
  }
  return []
}

export const keysOf = ([apiKey, ...spareKeys]: ReadonlyArray<Redacted.Redacted>) => ({
  apiKey: apiKey ?? null,
  ...(spareKeys.length === 0 ? {} : { spareKeys })
})

const originOf = (url: string | null): string | null => (url !== null && URL.canParse(url) ? new URL(url).origin : null)

/** What a backend's keys may be called: the common key goes to no other vendor than the one it was given for (state-agent.md 3.8). */
export const keyNamesFor =
  (environment: Environment, configured: { readonly provider: Provider; readonly baseUrl: string | null }) =>
  (of: Provider, baseUrl: string | null): ReadonlyArray<string> => {
    const own = ProviderDefaults.keyNames[configured.provider].filter((name) => name !== commonKey)
    const takesCommon =
      ProviderDefaults.keyNames[configured.provider].includes(commonKey) && secrets(environment, own).length === 0
    const mayHave = takesCommon
      ? of === configured.provider && originOf(baseUrl) === originOf(configured.baseUrl)
      : of === "openai-compatible"
    return mayHave ? ProviderDefaults.keyNames[of] : ProviderDefaults.keyNames[of].filter((name) => name !== commonKey)
  }
