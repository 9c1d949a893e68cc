/** Files that the programs of `awk` and `sed` name: what stands in their quotes is no word of the shell's. */
import * as Marked from "../shell/Marked.js"

export interface Named {
  readonly reads: ReadonlyArray<string>
  readonly writes: ReadonlyArray<string>
  /** Does it write where its text does not say? */
  readonly hides: boolean
}

const literal = /"((?:[^"\\]|\\.)*)"/g

/** `print > "file"`, `getline < "file"`: every text that it opens, or that could be a path. */
const ofAwk = (program: string): Named => {
  const texts = [...program.matchAll(literal)].map(([, text = ""]) => text)
  const printed = [...program.matchAll(/\bprintf?\b[^;}\n]*?>>?\s*([^;}\n]+)/g)].map(([, target = ""]) => target.trim())
  return {
    reads: texts.filter((text) => /^[/~.]/.test(text)),
    writes: printed.flatMap((target) => /^"((?:[^"\\]|\\.)*)"$/.exec(target)?.[1] ?? []),
    hides: printed.some((target) => /ENVIRON|^"[^"]*"\s*\S/.test(target))
  }
}

/** `r file`, `R file`, `w file`, `W file`, and the flag `w` of a substitution. */
const ofSed = (program: string): Named => {
  const after = (letters: string): ReadonlyArray<string> =>
    program
      .split("\n")
      .flatMap((line) =>
        [...line.matchAll(new RegExp(`(?:^|[;{}\\s\\d$/!~,])[${letters}]\\s*([/~.\\w][^;}\\n]*)`, "g"))].map(
          ([, file = ""]) => file.trim()
        )
      )
  return {
    reads: after("rR").filter((file) => /[/~.]/.test(file)),
    writes: after("wW").filter((file) => /[/~.]/.test(file)),
    hides: false
  }
}

const quotedSql = /'((?:[^']|'')*)'|"((?:[^"]|"")*)"/g
const orders = /(?:^|\n)\s*(?:\.([a-z]+)|\\([a-z]+))[ \t]+([^\n]*)/g
const opening = /\b(?:attach(?:\s+database)?|writefile\s*\(|into\s+(?:outfile|dumpfile)|\bto)\s*$/i

/** Files in the text that a database's client is given: what stands in quotes like a path, and what its own orders name. */
export const ofSql = (program: string): Named => {
  const text = Marked.show(program)
  const quoted = [...text.matchAll(quotedSql)].flatMap((match) => {
    const file = (match[1] ?? match[2] ?? "").replace(/^file:(?:\/\/)?([^?]*).*$/, "$1")
    return /^[^\s*%]+$/.test(file) && /[/.]/.test(file)
      ? [{ file, opens: opening.test(text.slice(0, match.index)) }]
      : []
  })
  const ordered = [...text.matchAll(orders)].flatMap(([, dot, , words = ""]) =>
    words
      .split(/\s+/)
      .map((word) => word.replace(/^["']|["']$/g, ""))
      .filter((word) => /^[^-|]/.test(word))
      .map((file) => ({ file, opens: dot !== undefined && /^(?:o|b|sa|cl|res|on)/.test(dot) }))
  )
  const files = [...quoted, ...ordered]
  return {
    reads: files.map(({ file }) => file),
    writes: files.flatMap(({ file, opens }) => (opens ? [file] : [])),
    hides: false
  }
}

export const named = (name: string, program: string): Named => {
  const text = Marked.show(program)
  return /^g?sed$/.test(name) ? ofSed(text) : ofAwk(text)
}
