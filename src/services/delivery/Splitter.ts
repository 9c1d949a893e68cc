/**
 * Cuts a message into pieces that a platform takes (gateway.md 3.8): ` (i/n)` at the end of each, at a newline beyond
 * the half or else at a space, never inside inline code, and a code fence is closed in one piece and opened again, with
 * its language, in the next. Pure; linear in the length of the text.
 */
import type { AdapterCapabilities } from "../adapter/Adapter.js"
import * as Markup from "./Markup.js"

export type Limit = Pick<AdapterCapabilities, "maxMessageLength" | "lengthUnit">

/** One message of several. `body` and `separator` of all pieces, in order, are the original text. */
export interface Piece {
  /** Opens again the code fence that the former piece closed. */
  readonly prefix: string
  readonly body: string
  /** The newline or space at which the text was cut; left out of `text`. */
  readonly separator: string
  /** Closes a code fence that goes on. */
  readonly suffix: string
  /** What is sent, with its ` (i/n)`. */
  readonly text: string
}

/** Under this many units there is no room for fences and counters: the text is cut and nothing else. */
const roomy = 128

/** Length of `text` in the platform's unit: UTF-16 units, or characters as code points. */
export const measure = (text: string, unit: Limit["lengthUnit"]): number => {
  if (unit === "utf16") return text.length
  let count = 0
  for (let at = 0; at < text.length; at += width(text, at)) count += 1
  return count
}

/** UTF-16 units of the code point at `at`. */
const width = (text: string, at: number): 1 | 2 => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)

/** The furthest index with at most `room` units since `from`, never inside a surrogate pair. */
const reach = (text: string, from: number, room: number, unit: Limit["lengthUnit"]): number => {
  if (from >= text.length) return text.length
  if (unit === "chars") {
    let at = from
    for (let left = room; left > 0 && at < text.length; left -= 1) at += width(text, at)
    return at
  }
  const at = Math.min(text.length, from + room)
  return at < text.length && width(text, at - 1) === 2 ? at - 1 : at
}

/** How far back a cut looks for the start of a grapheme (a letter with its accents, a family of emoji). */
const graphemeWindow = 64

const graphemeBoundary = (text: string, from: number, to: number): number => {
  const start = Math.max(from, to - graphemeWindow)
  let boundary = from
  for (const { index } of new Intl.Segmenter().segment(text.slice(start, to + graphemeWindow))) {
    if (start + index > to) break
    boundary = start + index
  }
  return boundary > from ? boundary : Math.max(to, from + width(text, from))
}

/** A forced cut that would fall on or into the line that opens or closes a fence, moved out of it. */
const besideFenceLine = (markup: Markup.Markup, from: number, at: number): number => {
  const fence = Markup.fenceAt(markup, at)
  if (fence === null || Markup.mayBreak(markup, at)) return at
  const outside = at <= fence.contentStart ? fence.start : fence.contentEnd - 1
  return outside > from ? outside : at
}

/** Where to cut `text[from…]`, at most at `closed` inside a fence and at most at `open` outside of one. */
const cut = (text: string, markup: Markup.Markup, from: number, open: number, closed: number): number => {
  const window = text.slice(from, open)
  const allowed = (at: number): boolean =>
    at > from && (at <= closed || Markup.fenceAt(markup, at) === null) && Markup.mayBreak(markup, at)
  const backwards = (mark: string, floor: number): number => {
    for (let at = window.lastIndexOf(mark); at >= floor; at = at === 0 ? -1 : window.lastIndexOf(mark, at - 1)) {
      if (allowed(from + at + 1)) return from + at + 1
    }
    return -1
  }
  for (const at of [backwards("\n", window.length >> 1), backwards(" ", 0), backwards("\n", 0)])
    if (at !== -1) return at
  const end = Markup.fenceAt(markup, open) === null ? open : closed
  const span = Markup.spanAt(markup, end)
  if (span !== null && span.start > from) return span.start
  return besideFenceLine(markup, from, graphemeBoundary(text, from, end))
}

const fits = (text: string, from: number, room: number, unit: Limit["lengthUnit"]): boolean =>
  reach(text, from, room, unit) === text.length

const reopened = (fence: Markup.Fence): string => `${fence.marker}${fence.info}\n`
const closing = (fence: Markup.Fence): string => `\n${fence.marker}`

interface Uncounted extends Omit<Piece, "text"> {
  /** The piece ends with a line that must stand alone, so its counter goes below. */
  readonly endsInFence: boolean
}

const cutAll = (text: string, markup: Markup.Markup, limit: Limit, reserve: number): ReadonlyArray<Uncounted> => {
  const unit = limit.lengthUnit
  const out: Array<Uncounted> = []
  for (let from = 0; from < text.length;) {
    const entered = Markup.fenceAt(markup, from)
    const prefix = entered === null ? "" : reopened(entered)
    const room = limit.maxMessageLength - reserve - measure(prefix, unit)
    const unclosed = Markup.fenceAt(markup, text.length)
    const rest = unclosed === null ? "" : closing(unclosed)
    const last = fits(text, from, room - rest.length, unit)
    const to = last
      ? text.length
      : cut(text, markup, from, reach(text, from, room, unit), reach(text, from, room - Markup.longestClosing, unit))
    const left = last ? unclosed : Markup.fenceAt(markup, to)
    const separator = !last && (text[to - 1] === "\n" || text[to - 1] === " ") ? text.slice(to - 1, to) : ""
    const body = text.slice(from, to - separator.length)
    const suffix = left === null ? "" : closing(left)
    out.push({ prefix, body, separator, suffix, endsInFence: suffix !== "" || Markup.endsWithFence(markup, to) })
    from = to
  }
  return out
}

const counter = (index: number, of: number, ownLine: boolean): string => `${ownLine ? "\n" : " "}(${index}/${of})`

/** The pieces of `text`; one with nothing added when it fits. No piece is longer than the limit. */
export const pieces = (text: string, limit: Limit): ReadonlyArray<Piece> => {
  const whole: Piece = { prefix: "", body: text, separator: "", suffix: "", text }
  if (fits(text, 0, limit.maxMessageLength, limit.lengthUnit)) return [whole]
  if (limit.maxMessageLength < roomy) {
    return cutAll(text, Markup.none, limit, 0).map((piece) => ({ ...piece, text: piece.body }))
  }
  const markup = Markup.parse(text)
  for (let reserve = 10; ; reserve += 2) {
    const cuts = cutAll(text, markup, limit, reserve)
    if (counter(cuts.length, cuts.length, false).length > reserve) continue
    return cuts.map(({ endsInFence, ...piece }, index) => ({
      ...piece,
      text: piece.prefix + piece.body + piece.suffix + counter(index + 1, cuts.length, endsInFence)
    }))
  }
}

/** The texts of {@link pieces}, as they are sent. */
export const split = (text: string, limit: Limit): ReadonlyArray<string> =>
  pieces(text, limit).map((piece) => piece.text)
