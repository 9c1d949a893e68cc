/** What changes do to the text of a file, or why they cannot be made. Pure. */
import { Either } from "effect"
import * as PatchText from "./PatchText.js"
import * as TextMatch from "./TextMatch.js"

export interface Changed {
  readonly text: string
  /** What the model should know: places that were found by a forgiving reading. */
  readonly notes: ReadonlyArray<string>
}

const shownLines = 8

const quoted = (lines: ReadonlyArray<string>, from: number): string =>
  lines
    .slice(from, from + shownLines)
    .map((line, index) => `${from + index + 1}|${line.slice(0, 200)}`)
    .join("\n")

const missing = (lines: ReadonlyArray<string>, wanted: ReadonlyArray<string>): string => {
  const near = TextMatch.nearest(lines, wanted)
  return near === null
    ? "the text to replace is not in the file; read it again"
    : `the text to replace is not in the file; most like it is:\n${quoted(lines, near)}`
}

const shownPlaces = 10

/** Only lines that are shown are counted: each costs a look at all of the text before it. */
const several = <A>(places: ReadonlyArray<A>, lineOf: (place: A) => number, advice: string): string =>
  `the text to replace stands ${places.length} times in the file (lines ${places
    .slice(0, shownPlaces)
    .map((place) => lineOf(place) + 1)
    .join(", ")}${places.length > shownPlaces ? ", …" : ""}); ${advice}`

const noteOf = (strictness: TextMatch.Strictness, line: number): ReadonlyArray<string> =>
  strictness === "exact" ? [] : [`line ${line + 1} was found with other ${strictness}`]

/** A file as lines with `\n` between them, and the way back to its own line ends and mark. */
const lineEnds = (text: string) => {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : ""
  const body = text.slice(mark.length)
  const windows = body.includes("\r\n") && !/(?:^|[^\r])\n/.test(body)
  return {
    body: windows ? body.replaceAll("\r\n", "\n") : body,
    back: (changed: string) => mark + (windows ? changed.replace(/\r?\n/g, "\r\n") : changed)
  }
}

const occurrences = (text: string, wanted: string): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) found.push(at)
  return found
}

const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length - 1

/** Replaces `before` by `after`: where it stands exactly, also within a line; else whole lines by a forgiving reading. */
export const replace = (
  text: string,
  before: string,
  after: string,
  everywhere: boolean
): Either.Either<Changed, string> => {
  const { back, body } = lineEnds(text)
  const wanted = before.replaceAll("\r\n", "\n")
  const fresh = after.replaceAll("\r\n", "\n")
  if (wanted === "") return Either.left("the text to replace is empty")
  if (wanted === fresh) return Either.left("the text to replace and its replacement are the same")
  const advice = "give more of the lines around it, or replace_all"
  const exact = occurrences(body, wanted)
  if (exact.length === 1 || (exact.length > 1 && everywhere))
    return Either.right({ text: back(body.split(wanted).join(fresh)), notes: [] })
  if (exact.length > 1) return Either.left(several(exact, (at) => lineOf(body, at), advice))
  const lines = body.split("\n")
  // a last line break is the end of a line here, not a line more
  const asked = wanted.replace(/\n$/, "").split("\n")
  const replacement = (wanted.endsWith("\n") ? fresh.replace(/\n$/, "") : fresh).split("\n")
  const found = TextMatch.find(lines, asked)
  if (found === null) return Either.left(missing(lines, asked))
  const places = found.places.filter((place, index) => index === 0 || place.from >= (found.places[index - 1]?.to ?? 0))
  if (places.length > 1 && !everywhere) return Either.left(several(places, ({ from }) => from, advice))
  const changed = places.map(({ from, to }, index) => [
    ...lines.slice(places[index - 1]?.to ?? 0, from),
    ...(fresh === "" ? [] : TextMatch.indented(replacement, asked, lines.slice(from, to)))
  ])
  return Either.right({
    text: back([...changed.flat(), ...lines.slice(places.at(-1)?.to ?? 0)].join("\n")),
    notes: noteOf(found.strictness, places[0]?.from ?? 0)
  })
}

/** Behind which line the anchors stand, one after the other; a text when one is missing. */
const behindAnchors = (
  lines: ReadonlyArray<string>,
  anchors: ReadonlyArray<string>,
  from: number
): Either.Either<number, string> => {
  let at = from
  for (const anchor of anchors) {
    const exact = lines.findIndex((line, index) => index >= at && line.trim() === anchor)
    const found = exact >= 0 ? exact : lines.findIndex((line, index) => index >= at && line.includes(anchor))
    if (found < 0) return Either.left(`there is no line ${JSON.stringify(anchor.slice(0, 120))} below line ${at}`)
    at = found + 1
  }
  return Either.right(at)
}

const nearestTo = (line: number, places: ReadonlyArray<TextMatch.Place>): ReadonlyArray<TextMatch.Place> =>
  places.toSorted((a, b) => Math.abs(a.from - line) - Math.abs(b.from - line) || a.from - b.from).slice(0, 1)

/** What stands there afterwards: what stays, stays as the file has it. */
const written = (hunk: PatchText.Hunk, there: ReadonlyArray<string>): ReadonlyArray<string> => {
  const asked = PatchText.before(hunk)
  let at = 0
  return hunk.lines.flatMap(([sign, text]) => {
    if (sign === "+") return TextMatch.indented([text], asked, there)
    const line = there[at++] ?? text
    return sign === " " ? [line] : []
  })
}

/** Makes the changes of one file in their order; all or none. */
export const apply = (text: string, hunks: ReadonlyArray<PatchText.Hunk>): Either.Either<Changed, string> => {
  const { back, body } = lineEnds(text)
  let lines: ReadonlyArray<string> = body.split("\n")
  const endsWithBreak = lines.at(-1) === ""
  if (endsWithBreak) lines = lines.slice(0, -1)
  const notes: Array<string> = []
  /** Below this line nothing was changed yet, and how many lines the file has more than before. */
  let done = 0
  let grown = 0
  for (const [index, hunk] of hunks.entries()) {
    const where = (problem: string): Either.Either<Changed, string> =>
      Either.left(`change ${index + 1} of ${hunks.length}: ${problem}`)
    const anchored = behindAnchors(lines, hunk.anchors, done)
    if (Either.isLeft(anchored)) return where(anchored.left)
    const from = anchored.right
    const expected = hunk.line === null ? null : hunk.line + grown
    const asked = PatchText.before(hunk)
    if (asked.length === 0) {
      const fresh = PatchText.after(hunk)
      const at =
        hunk.anchors.length > 0
          ? from
          : expected === null
            ? lines.length
            : Math.min(Math.max(expected, done), lines.length)
      lines = [...lines.slice(0, at), ...fresh, ...lines.slice(at)]
      done = at + fresh.length
      grown += fresh.length
      continue
    }
    const found = TextMatch.find(lines, asked, from)
    if (found === null) return where(missing(lines, asked))
    const places = hunk.atEnd
      ? found.places.slice(-1)
      : hunk.anchors.length > 0
        ? found.places.slice(0, 1)
        : expected === null
          ? found.places
          : nearestTo(expected, found.places)
    const [place] = places
    if (place === undefined || places.length > 1)
      return where(
        several(places, (one) => one.from, "give more lines around it, or a line `@@ …` that stands before it")
      )
    const there = lines.slice(place.from, place.to)
    const fresh = written(hunk, there)
    lines = [...lines.slice(0, place.from), ...fresh, ...lines.slice(place.to)]
    notes.push(...noteOf(found.strictness, place.from))
    done = place.from + fresh.length
    grown += fresh.length - asked.length
  }
  return Either.right({ text: back(lines.join("\n") + (endsWithBreak && lines.length > 0 ? "\n" : "")), notes })
}
