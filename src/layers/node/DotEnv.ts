/** The home's `.env`: `NAME=value` lines, quotes optional, `#` comments. Pure. */
import { Either } from "effect"
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

const bare = /^[^\s"'#]*$/

/** The line that says it; the left side says why no line can. */
const written = (name: string, content: string): Either.Either<string, string> => {
  if (/[\r\n\0]/.test(content)) return Either.left(`${name} has more than one line`)
  if (bare.test(content)) return Either.right(`${name}=${content}`)
  const row = ['"', "'"].map((quote) => `${name}=${quote}${content}${quote}`)
  const read = row.find((candidate) => parse(candidate)[name] === content)
  return read === undefined ? Either.left(`${name} cannot be written into .env`) : Either.right(read)
}

/**
 * The text with these variables set and everything else as it was: in the place of the last line that sets one, else of
 * the comment that stands for it, else at the end. Null takes a variable out.
 */
export const revised = (
  text: string,
  values: { readonly [name: string]: string | null }
): Either.Either<string, string> =>
  Either.gen(function* () {
    let rows = text.split("\n")
    for (const [name, content] of Object.entries(values)) {
      const sets = (row: string): boolean => line.exec(row.replace(/\r$/, ""))?.[1] === name
      const place = rows.findLastIndex(sets)
      const stands = place !== -1 ? place : rows.findLastIndex((row) => row.trim() === `# ${name}=`)
      if (content === null) rows = rows.filter((row) => !sets(row))
      else {
        const row = yield* written(name, content)
        if (stands === -1) rows = rows.at(-1) === "" ? [...rows.slice(0, -1), row, ""] : [...rows, row, ""]
        else rows = rows.flatMap((before, index) => (index === stands ? [row] : sets(before) ? [] : [before]))
      }
    }
    return rows.join("\n")
  })
