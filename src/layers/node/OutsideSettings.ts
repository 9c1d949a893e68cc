/** Settings that name servers outside: their variables filled in from `.env`, their secrets wrapped. Pure. */
import { Redacted } from "effect"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import type { ServerSettings } from "../../services/mcp/McpServers.js"
import type { SearchProvider } from "../../services/web/WebSearch.js"

type Written = string | number | boolean

export interface WrittenServer {
  readonly command?: string | undefined
  readonly args?: ReadonlyArray<string | number> | undefined
  readonly env?: { readonly [name: string]: Written } | undefined
  readonly cwd?: string | undefined
  readonly url?: string | undefined
  readonly headers?: { readonly [name: string]: Written } | undefined
  readonly connect_timeout?: number | undefined
  readonly timeout?: number | undefined
  readonly trusted_tools?: ReadonlyArray<string> | undefined
}

const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
/** What such a name holds is shown to nobody, wherever it was written. */
const secretName = /key|token|secret|passw|auth|credential|cookie/i

/** One server as `config.yaml` names it. */
export const mcpServer = (name: string, server: WrittenServer, environment: Environment): ServerSettings => {
  const missing = new Set<string>()
  const filled = (text: Written): string =>
    String(text).replace(variable, (_all, wanted: string) => {
      const value = environment[wanted] ?? ""
      if (value === "") missing.add(wanted)
      return value
    })
  const declared = (values: WrittenServer["env"] = {}) =>
    Object.fromEntries(
      Object.entries(values).map(([key, written]) => {
        const value = filled(written)
        return [key, secretName.test(key) || value !== String(written) ? Redacted.make(value) : value]
      })
    )
  const reach: ServerSettings["reach"] =
    server.url === undefined
      ? {
          _tag: "Command",
          command: server.command ?? "",
          args: (server.args ?? []).map(filled),
          env: declared(server.env),
          directory: server.cwd ?? null
        }
      : { _tag: "Address", url: server.url, headers: declared(server.headers) }
  return {
    name,
    reach,
    connectMillis: (server.connect_timeout ?? 60) * 1_000,
    callMillis: (server.timeout ?? 120) * 1_000,
    trusted: server.trusted_tools ?? [],
    missing: [...missing]
  }
}

/** Who searches: the one named, or with `auto` the first that has what it needs. */
export const webSearch = (
  wanted: "auto" | "brave" | "tavily" | "searxng" | "off",
  searxngUrl: string | null,
  secret: (name: string) => Redacted.Redacted | null
): SearchProvider | null => {
  const brave = secret("BRAVE_API_KEY")
  const tavily = secret("TAVILY_API_KEY")
  const known: ReadonlyArray<SearchProvider | null> = [
    searxngUrl === null ? null : { _tag: "searxng", url: searxngUrl },
    brave === null ? null : { _tag: "brave", apiKey: brave },
    tavily === null ? null : { _tag: "tavily", apiKey: tavily }
  ]
  return known.find((one) => one !== null && (wanted === "auto" || one._tag === wanted)) ?? null
}
