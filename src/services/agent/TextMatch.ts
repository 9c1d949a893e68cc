/**
 * Where a piece of text stands in a file, forgiving what models get wrong without guessing: spaces at the ends of
 * lines, runs of spaces, typographic characters, the indentation of the whole piece. Pure.
 */

/** How the place was found, from the strictest on. */
export type Strictness = "exact" | "line ends" | "spacing" | "indentation"

/** Lines `from` to `to` (not included), counted from 0, and how far the file's indentation is from the asked one. */
export interface Place {
  readonly from: number
  readonly to: number
}

export interface Found {
  readonly strictness: Strictness
  readonly places: ReadonlyArray<Place>
}

const typographic: ReadonlyArray<readonly [RegExp, string]> = [
  [/[\u2018\u2019\u201A\u201B]/g, "'"],
  [/[\u201C\u201D\u201E\u201F]/g, '"'],
  [/[\u2010-\u2015\u2212]/g, "-"],
  [/[\u00A0\u2002-\u200A\u202F\u205F\u3000]/g, " "],
  [/\u2026/g, "..."]
]

const plain = (line: string): string =>
  typographic.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line)

const levels: ReadonlyArray<readonly [Strictness, (line: string) => string]> = [
  ["exact", (line) => line],
  ["line ends", (line) => line.trimEnd()],
  ["spacing", (line) => indentOf(line) + plain(line).trim().replace(/\s+/g, " ")],
  ["indentation", (line) => plain(line).trim().replace(/\s+/g, " ")]
]

const indentOf = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? ""

const windows = (lines: ReadonlyArray<string>, wanted: ReadonlyArray<string>, from: number): ReadonlyArray<Place> => {
  const found: Array<Place> = []
  for (let at = from; at + wanted.length <= lines.length; at++) {
    let same = 0
    while (same < wanted.length && lines[at + same] === wanted[same]) same++
    if (same === wanted.length) found.push({ from: at, to: at + wanted.length })
  }
  return found
}

/** Every place of `wanted` in `lines` from line `from` on, by the strictest reading that finds any; null when none does. */
export const find = (lines: ReadonlyArray<string>, wanted: ReadonlyArray<string>, from = 0): Found | null => {
  // blank lines alone stand everywhere
  if (wanted.every((line) => line.trim() === "")) {
    const places = windows(lines, wanted, from)
    return places.length === 0 ? null : { strictness: "exact", places }
  }
  for (const [strictness, read] of levels) {
    const places = windows(lines.map(read), wanted.map(read), from)
    if (places.length > 0) return { strictness, places }
  }
  return null
}

/** `replacement` written for the place that was found: with the file's indentation where the asked one differed. */
export const indented = (
  replacement: ReadonlyArray<string>,
  asked: ReadonlyArray<string>,
  found: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const at = asked.findIndex((line) => line.trim() !== "")
  const from = indentOf(asked[at] ?? "")
  const to = indentOf(found[at] ?? "")
  if (from === to) return replacement
  return replacement.map((line) => {
    if (line.trim() === "") return line
    if (line.startsWith(from)) return to + line.slice(from.length)
    return line.startsWith(to) ? line : to + line.trimStart()
  })
}

const bigrams = (text: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (let at = 0; at + 1 < text.length; at++) {
    const pair = text.slice(at, at + 2)
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
  }
  return counts
}

/** From 0, nothing in common, to 1. */
const likeness = (a: string, b: string): number => {
  if (a === b) return a === "" ? 0 : 1
  const one = bigrams(a)
  let shared = 0
  for (const [pair, count] of bigrams(b)) shared += Math.min(count, one.get(pair) ?? 0)
  return (2 * shared) / Math.max(1, a.length + b.length - 2)
}

const mostCompared = 20_000
const leastLike = 0.4

/** The line, from 0, where what is most like `wanted` begins; null when nothing is. For messages, never for changes. */
export const nearest = (lines: ReadonlyArray<string>, wanted: ReadonlyArray<string>): number | null => {
  const at = wanted.findIndex((line) => line.trim() !== "")
  const first = (wanted[at] ?? "").trim().slice(0, 300)
  let best = { line: -1, likeness: leastLike }
  for (const [index, line] of lines.slice(0, mostCompared).entries()) {
    const like = likeness(line.trim().slice(0, 300), first)
    if (like > best.likeness) best = { line: index, likeness: like }
  }
  return best.line < 0 ? null : Math.max(0, best.line - at)
}
