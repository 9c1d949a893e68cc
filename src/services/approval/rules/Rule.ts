/** What a rule of the catalogue looks at, and what it finds (gateway.md 5.4 and 5.5). */
import type { Invocation } from "../shell/Invocation.js"

export interface Finding {
  readonly verdict: "ask" | "never"
  readonly rule: string
  readonly text: string
}

export type Rule = (invocation: Invocation) => ReadonlyArray<Finding>

export const asks = (rule: string, text: string): ReadonlyArray<Finding> => [{ verdict: "ask", rule, text }]
export const nevers = (rule: string, text: string): ReadonlyArray<Finding> => [{ verdict: "never", rule, text }]
export const none: ReadonlyArray<Finding> = []

/** A folder's or file's word as an absolute path with marks; null when it is not known where it stands. */
export const absolute = (written: string, directory: string | null): string | null => {
  if (written.startsWith("/")) return normal(written)
  if (directory === null) return null
  return normal(`${directory}/${written}`)
}

/** Without `.`, `..` and doubled slashes; marks are letters here. */
const normal = (file: string): string => {
  const parts: Array<string> = []
  for (const part of file.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return `/${parts.join("/")}`
}
