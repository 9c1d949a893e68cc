/** The home's `.env`: `NAME=value` lines, quotes optional, `#` comments. Pure. */
import type { Environment } from "../../fibers/AmbientEnvironment.js"

const line = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/

const value = (written: string): string => {
  const quoted = /^(["'])(.*)\1(?:\s+#.*)?$/.exec(written)
  return quoted === null ? written.replace(/\s+#.*$/, "") : (quoted[2] ?? "")
}

/** The variables of a `.env` text; lines that are none are left out. */
export const parse = (text: string): Environment =>
  Object.fromEntries(
    text.split(/\r?\n/).flatMap((row) => {
      const match = line.exec(row)
      return match === null || match[1] === undefined ? [] : [[match[1], value(match[2] ?? "")]]
    })
  )
