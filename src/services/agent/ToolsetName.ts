/** The names that toolsets go by in settings and jobs (gateway.md 8.1, 8.2). Pure. */
import * as Spelling from "../operation/Spelling.js"

/** Bundles by name; what is none is a toolset itself. None names another bundle. */
const bundles: { readonly [name: string]: ReadonlyArray<string> } = {
  debugging: ["file", "terminal", "web"],
  coding: [
    "file",
    "terminal",
    "search",
    "web",
    "skills",
    "browser",
    "todo",
    "memory",
    "session_search",
    "clarify",
    "code_execution",
    "delegation",
    "vision"
  ],
  safe: ["web", "search", "vision", "todo", "session_search", "clarify"]
}

/** The toolsets that tools of this program are in; those of MCP servers are `mcp-` and the server's name. */
export const own: ReadonlyArray<string> = [
  "clarify",
  "code_execution",
  "cronjob",
  "delegation",
  "file",
  "memory",
  "messaging",
  "session_search",
  "skills",
  "terminal",
  "todo",
  "web"
]

/** Everything that may be written, without `mcp-` and a server's name: what bundles name stands for itself, too. */
export const known: ReadonlyArray<string> = [
  ...new Set([...own, ...Object.values(bundles).flat(), ...Object.keys(bundles), "all", "no_mcp"])
].toSorted()

/** `mcp-` and the server's name. */
export const isExternal = (name: string): boolean => /^mcp(-|$)/.test(name)

const isKnown = (name: string): boolean => name === "*" || isExternal(name) || known.includes(name)

/** Names with their bundles written out; `all` and `*` are null, which is everything. */
export const expanded = (names: ReadonlyArray<string>): ReadonlyArray<string> | null =>
  names.some((name) => name === "all" || name === "*")
    ? null
    : [...new Set(names.flatMap((name) => (Object.hasOwn(bundles, name) ? (bundles[name] ?? []) : [name])))]

/** The first name that stands for nothing, and what is wrong with it, in words; null when all stand for something. */
export const doubt = (names: ReadonlyArray<string>): { readonly name: string; readonly problem: string } | null => {
  const name = names.find((one) => !isKnown(one))
  if (name === undefined) return null
  const [near] = Spelling.near(name, known, 2)
  const meant = near === undefined ? "" : ` (did you mean ${near}?)`
  return { name, problem: `there is no toolset "${name}"${meant}; there are ${known.join(", ")} and mcp-SERVER` }
}
