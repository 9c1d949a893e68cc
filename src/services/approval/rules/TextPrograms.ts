/** Files that the programs of `awk`, `sed` and databases name: what stands in their quotes is no word of the shell's. */
import { type Invocation, textsOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import * as AwkProgram from "./AwkProgram.js"
import * as SedScript from "./SedScript.js"

export interface Named {
  readonly reads: ReadonlyArray<string>
  readonly writes: ReadonlyArray<string>
  /** Does it write where its text does not say? */
  readonly hides: boolean
}

const quotedSql = /'((?:[^']|'')*)'|"((?:[^"]|"")*)"/g
const orders = /(?:^|\n)\s*(?:\.([a-z]+)|\\([a-z]+))[ \t]+([^\n]*)/g
const opening = /\b(?:attach(?:\s+database)?|writefile\s*\(|into(?:\s+(?:outfile|dumpfile))?|\bto)\s*$/i

/** Files in the text that a database's client is given: what stands in quotes like a path, and what its own orders name. */
const ofSql = (program: string): Named => {
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

/** Clients that take orders of the database's language. */
export const databases = /^(?:sqlite3?|duckdb|psql|mysql|mariadb|litecli|pgcli|usql)$/

/** The programs that a call brings along in its words. */
export const of = (invocation: Invocation): ReadonlyArray<Named> => {
  const texts = textsOf(invocation)
  if (/^[gmn]?awk$/.test(invocation.name)) return [AwkProgram.of(texts)]
  if (/^g?sed$/.test(invocation.name)) return [{ ...SedScript.of(texts), hides: false }]
  return databases.test(invocation.name) ? [...texts, invocation.stdin.text ?? ""].map(ofSql) : []
}
