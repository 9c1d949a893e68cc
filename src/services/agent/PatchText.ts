/** Patches of several files as models write them: the V4A form (`*** Update File:`) and unified diffs. Pure. */
import { Either } from "effect"

/** A run of lines that is replaced by another. */
export interface Hunk {
  /** Lines that stand somewhere before it, as `@@ class Foo` names them. */
  readonly anchors: ReadonlyArray<string>
  /** ` ` stays, `-` goes, `+` comes. */
  readonly lines: ReadonlyArray<readonly [sign: " " | "-" | "+", text: string]>
  /** Where a diff says that it stands, from 0; null when nothing says it. */
  readonly line: number | null
  readonly atEnd: boolean
}

export type FileChange =
  | { readonly _tag: "Add"; readonly path: string; readonly lines: ReadonlyArray<string>; readonly endsOpen: boolean }
  | { readonly _tag: "Delete"; readonly path: string }
  | {
      readonly _tag: "Update"
      readonly path: string
      readonly moveTo: string | null
      readonly hunks: ReadonlyArray<Hunk>
    }

const mostFiles = 50
const mostHunks = 500

/** What is wrong with the text, for the model. */
type Parsed = Either.Either<ReadonlyArray<FileChange>, string>

interface Growing {
  anchors: Array<string>
  lines: Array<readonly [" " | "-" | "+", string]>
  line: number | null
  atEnd: boolean
}

const growing = (line: number | null = null): Growing => ({ anchors: [], lines: [], line, atEnd: false })

/** The lines that a hunk expects. */
export const before = (hunk: Hunk): ReadonlyArray<string> =>
  hunk.lines.flatMap(([sign, text]) => (sign === "+" ? [] : [text]))

/** The lines that it brings or leaves. */
export const after = (hunk: Hunk): ReadonlyArray<string> =>
  hunk.lines.flatMap(([sign, text]) => (sign === "-" ? [] : [text]))

/** Takes one line of a hunk's body; false when it is none. */
const take = (hunk: Growing, line: string): boolean => {
  // an empty line of context often loses its blank
  const sign = line === "" ? " " : line.charAt(0)
  if (sign !== "+" && sign !== "-" && sign !== " ") return false
  hunk.lines.push([sign, line.slice(1)])
  return true
}

const header = /^\*\*\* (Add|Update|Delete) File: (.+)$/

const v4a = (lines: ReadonlyArray<string>): Parsed => {
  const changes: Array<FileChange> = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at++] ?? ""
    const [, kind, name] = header.exec(line) ?? []
    if (kind === undefined || name === undefined) {
      if (line.trim() === "") continue
      return Either.left(`a line that belongs to no file: ${JSON.stringify(line.slice(0, 120))}`)
    }
    const path = name.trim()
    const body: Array<string> = []
    while (at < lines.length && !header.test(lines[at] ?? "")) body.push(lines[at++] ?? "")
    while (body.length > 0 && body.at(-1) === "") body.pop()
    if (kind === "Delete") {
      if (body.length > 0) return Either.left(`${path}: a file that is deleted has no lines in the patch`)
      changes.push({ _tag: "Delete", path })
    } else if (kind === "Add") {
      const wrong = body.find((one) => !one.startsWith("+") && one !== "")
      if (wrong !== undefined)
        return Either.left(`${path}: each line of a new file begins with +, not ${JSON.stringify(wrong.slice(0, 120))}`)
      changes.push({ _tag: "Add", path, lines: body.map((one) => one.slice(1)), endsOpen: false })
    } else {
      const moved = /^\*\*\* Move to: (.+)$/.exec(body[0] ?? "")
      const hunks = v4aHunks(path, moved === null ? body : body.slice(1))
      if (Either.isLeft(hunks)) return Either.left(hunks.left)
      if (hunks.right.length === 0 && moved === null) return Either.left(`${path}: there is nothing to change in it`)
      changes.push({ _tag: "Update", path, moveTo: moved?.[1]?.trim() ?? null, hunks: hunks.right })
    }
  }
  return Either.right(changes)
}

const v4aHunks = (path: string, body: ReadonlyArray<string>): Either.Either<ReadonlyArray<Hunk>, string> => {
  const hunks: Array<Hunk> = []
  let hunk = growing()
  const close = (): void => {
    if (hunk.lines.length > 0) hunks.push(hunk)
    hunk = growing()
  }
  for (const line of body) {
    if (line === "*** End of File") {
      hunk.atEnd = true
      continue
    }
    const numbers = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@/.exec(line)
    if (line.startsWith("@@")) {
      if (hunk.lines.length > 0) close()
      const anchor = line
        .slice(2)
        .replace(/@@\s*$/, "")
        .trim()
      if (numbers !== null) hunk.line = Math.max(0, Number(numbers[1]) - 1)
      else if (anchor !== "") hunk.anchors.push(anchor)
    } else if (!take(hunk, line))
      return Either.left(
        `${path}: a line of a change begins with a blank, + or -, not ${JSON.stringify(line.slice(0, 120))}`
      )
  }
  close()
  return Either.right(hunks)
}

/** The name in a diff's header: without `a/`, `b/` and the time behind a tab; null for no file. */
const named = (line: string): string | null => {
  const name = (line.slice(4).split("\t")[0] ?? "").trim().replace(/^"(.*)"$/, "$1")
  return name === "/dev/null" ? null : name.replace(/^[ab]\//, "")
}

const unified = (lines: ReadonlyArray<string>): Parsed => {
  const changes: Array<FileChange> = []
  let at = 0
  while (at < lines.length) {
    if (!(lines[at] ?? "").startsWith("--- ") || !(lines[at + 1] ?? "").startsWith("+++ ")) {
      if (/^(Binary files |GIT binary patch)/.test(lines[at] ?? ""))
        return Either.left("a change of a binary file cannot be made")
      at++
      continue
    }
    const from = named(lines[at] ?? "")
    const to = named(lines[at + 1] ?? "")
    at += 2
    const hunks: Array<Hunk> = []
    let endsOpen = false
    for (let start = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(lines[at] ?? ""); start !== null;) {
      const hunk = growing(Math.max(0, Number(start[1]) - (start[2] === "0" ? 0 : 1)))
      at++
      let old = Number(start[2] ?? 1)
      let fresh = Number(start[3] ?? 1)
      // the counts say where it ends, so that a removed line of dashes is no header
      while (at < lines.length && (old > 0 || fresh > 0 || (lines[at] ?? "").startsWith("\\"))) {
        const line = lines[at] ?? ""
        if (line.startsWith("\\")) endsOpen = true
        else if (line.startsWith("@@ ") || !take(hunk, line)) break
        else {
          if (!line.startsWith("+")) old--
          if (!line.startsWith("-")) fresh--
        }
        at++
      }
      // miscounted, as models do: what still looks like its body is
      while (at < lines.length && /^[+-](?![+-]{2} )/.test(lines[at] ?? "") && take(hunk, lines[at] ?? "")) at++
      hunks.push(hunk)
      start = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(lines[at] ?? "")
    }
    if (from === null && to === null) return Either.left("a change from no file to no file")
    if (from === null) changes.push({ _tag: "Add", path: to ?? "", lines: hunks.flatMap(after), endsOpen })
    else if (to === null) changes.push({ _tag: "Delete", path: from })
    else if (hunks.length === 0) return Either.left(`${from}: there is no \`@@ -1,2 +1,2 @@\` under its header`)
    else changes.push({ _tag: "Update", path: from, moveTo: to === from ? null : to, hunks })
  }
  return Either.right(changes)
}

/** Reads a patch; one that touches a file twice, or is too large for a person to follow, is refused. */
export const parse = (text: string): Parsed => {
  const lines = text.replaceAll("\r\n", "\n").split("\n")
  const begin = lines.findIndex((line) => line.trim() === "*** Begin Patch")
  const end = lines.findLastIndex((line) => line.trim() === "*** End Patch")
  const isV4a = begin >= 0 || lines.some((line) => header.test(line))
  const parsed = isV4a ? v4a(lines.slice(begin + 1, end < 0 ? lines.length : end)) : unified(lines)
  return Either.flatMap(parsed, (changes) => {
    if (changes.length === 0)
      return Either.left(
        "there is no change in it; write `*** Begin Patch`, `*** Update File: path`, the lines, `*** End Patch`"
      )
    if (changes.length > mostFiles) return Either.left(`${changes.length} files are too many, at most ${mostFiles}`)
    if (changes.some((change) => change._tag === "Update" && change.hunks.length > mostHunks))
      return Either.left(`too many changes in one file, at most ${mostHunks}`)
    const paths = changes.flatMap((change) =>
      change._tag === "Update" && change.moveTo !== null ? [change.path, change.moveTo] : [change.path]
    )
    const twice = paths.find((path, index) => paths.indexOf(path) !== index)
    return twice === undefined ? Either.right(changes) : Either.left(`${twice} stands twice in the patch`)
  })
}
