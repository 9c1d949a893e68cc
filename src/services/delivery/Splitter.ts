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
  if (fence === null || (at > fence.contentStart && at < fence.contentEnd)) return at
  const outside = at <= fence.contentStart ? fence.start : fence.contentEnd - 1
  return outside > from ? outside : at
}

/** Where to cut `text[from…]`, at most at `to`. */
const cut = (text: string, markup: Markup.Markup, from: number, to: number): number => {
  const window = text.slice(from, to)
  const backwards = (mark: string, floor: number): number => {
    for (let at = window.lastIndexOf(mark); at >= floor; at = at === 0 ? -1 : window.lastIndexOf(mark, at - 1)) {
      if (Markup.mayBreak(markup, text, from + at + 1)) return from + at + 1
    }
    return -1
  }
  for (const at of [backwards("\n", window.length >> 1), backwards(" ", 0), backwards("\n", 0)])
    if (at !== -1) return at
  const span = Markup.spanAt(markup, to)
  if (span !== null && span.start > from) return span.start
  return besideFenceLine(markup, from, graphemeBoundary(text, from, to))
}

interface Uncounted extends Omit<Piece, "text"> {
  /** Its last line closes a fence and must stand alone, so the counter goes below. */
  readonly endsWithFence: boolean
}

const reopened = (fence: Markup.Fence | null): string => (fence === null ? "" : `${fence.marker}${fence.info}\n`)

/** Closed by what the piece itself is read as: a cut can make a fence of what was none, and end one early. */
const closed = (piece: Omit<Piece, "text" | "suffix">): Uncounted => {
  const sent = piece.prefix + piece.body
  const last = Markup.parse(sent).fences.at(-1)
  const suffix = last === undefined || last.closed ? "" : `\n${last.marker}`
  const endsWithFence = last !== undefined && (!last.closed || sent.slice(last.end).trim() === "")
  return { ...piece, suffix, endsWithFence }
}

const cutAll = (text: string, markup: Markup.Markup, limit: Limit, reserve: number): ReadonlyArray<Uncounted> => {
  const out: Array<Uncounted> = []
  for (let from = 0; from < text.length;) {
    const prefix = reopened(Markup.fenceAt(markup, from))
    const end = reach(
      text,
      from,
      limit.maxMessageLength - reserve - measure(prefix, limit.lengthUnit),
      limit.lengthUnit
    )
    const to = end === text.length ? end : cut(text, markup, from, end)
    const separator = to < text.length && (text[to - 1] === "\n" || text[to - 1] === " ") ? text.slice(to - 1, to) : ""
    out.push(closed({ prefix, body: text.slice(from, to - separator.length), separator }))
    from = to
  }
  return out
}

const counter = (index: number, of: number, ownLine: boolean): string => `${ownLine ? "\n" : " "}(${index}/${of})`

/** The pieces of `text`; one with nothing added when it fits. No piece is longer than the limit. */
export const pieces = (text: string, limit: Limit): ReadonlyArray<Piece> => {
  if (reach(text, 0, limit.maxMessageLength, limit.lengthUnit) === text.length) {
    return [{ prefix: "", body: text, separator: "", suffix: "", text }]
  }
  if (limit.maxMessageLength < roomy) {
    return cutAll(text, Markup.none, limit, 0).map(({ prefix, body, separator }) => ({
      prefix,
      body,
      separator,
      suffix: "",
      text: body
    }))
  }
  const markup = Markup.parse(text)
  for (let digits = 3; ; digits += 1) {
    const counted = counter(10 ** digits - 1, 10 ** digits - 1, false).length
    const cuts = cutAll(text, markup, limit, counted + Markup.longestClosing)
    if (cuts.length >= 10 ** digits) continue
    return cuts.map(({ endsWithFence, ...piece }, index) => ({
      ...piece,
      text: piece.prefix + piece.body + piece.suffix + counter(index + 1, cuts.length, endsWithFence)
    }))
  }
}

/** The texts of {@link pieces}, as they are sent. */
export const split = (text: string, limit: Limit): ReadonlyArray<string> =>
  pieces(text, limit).map((piece) => piece.text)
