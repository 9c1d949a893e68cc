/**
 * Files that a text asks to be sent with it (gateway.md 3.8): `MEDIA:<path>` tags, Markdown images of this machine, bare
 * paths with a known ending; none of them inside code. Pure: whether a file is there and may leave is `MediaFiles`'.
 */
import type { MediaKind } from "./Media.js"
import * as Markup from "./Markup.js"

/** A file as a text names it. */
export interface Mention {
  readonly written: string
  /** Asked for by a tag or an image; a bare path is only a guess, and one that leads nowhere is only text. */
  readonly explicit: boolean
  readonly kind: MediaKind
}

export interface Extracted {
  /** Without tags and images; bare paths stay, they are part of a sentence. */
  readonly text: string
  readonly mentions: ReadonlyArray<Mention>
}

const types: { readonly [ending: string]: readonly [MediaKind, string] } = {
  jpg: ["photo", "image/jpeg"],
  jpeg: ["photo", "image/jpeg"],
  png: ["photo", "image/png"],
  webp: ["photo", "image/webp"],
  gif: ["document", "image/gif"],
  svg: ["document", "image/svg+xml"],
  mp4: ["video", "video/mp4"],
  mov: ["video", "video/quicktime"],
  webm: ["video", "video/webm"],
  mkv: ["document", "video/x-matroska"],
  avi: ["document", "video/x-msvideo"],
  "3gp": ["video", "video/3gpp"],
  ogg: ["voice", "audio/ogg"],
  oga: ["voice", "audio/ogg"],
  opus: ["voice", "audio/ogg"],
  mp3: ["audio", "audio/mpeg"],
  m4a: ["audio", "audio/mp4"],
  wav: ["document", "audio/wav"],
  flac: ["document", "audio/flac"],
  pdf: ["document", "application/pdf"],
  txt: ["document", "text/plain"],
  md: ["document", "text/markdown"],
  csv: ["document", "text/csv"],
  json: ["document", "application/json"],
  html: ["document", "text/html"],
  zip: ["document", "application/zip"],
  docx: ["document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  xlsx: ["document", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  pptx: ["document", "application/vnd.openxmlformats-officedocument.presentationml.presentation"],
  epub: ["document", "application/epub+zip"]
}

const endingOf = (path: string): string => (/\.([A-Za-z0-9]{1,5})$/.exec(path)?.[1] ?? "").toLowerCase()

/** By its name; a file of an unknown ending is a document of bytes. */
export const typeOf = (path: string): string => types[endingOf(path)]?.[1] ?? "application/octet-stream"
const kindOf = (path: string): MediaKind => types[endingOf(path)]?.[0] ?? "document"

/** Voice messages of these kinds play everywhere. */
const voices: ReadonlySet<MediaKind> = new Set<MediaKind>(["audio", "voice"])

const asVoice = /\[\[audio_as_voice\]\]/gi
const asDocument = /\[\[as_document\]\]/gi

/** `MEDIA:` with a path to the next blank, or in quotes, or alone to the end of its line. */
const tag = /(?<![\w/])MEDIA:[ \t]{0,4}(?:"([^"\n]{1,1024})"|`([^`\n]{1,1024})`|([^\s"`][^\s]{0,1023}))/g
const lonelyTag = /^[ \t]*MEDIA:[ \t]*([^"`\s][^\n]{0,1023})$/gm
const image = /!\[[^\]\n]{0,256}\]\(\s{0,4}<?([^)>\s][^)>\n]{0,1023})>?\s{0,4}\)/g
/** Begins only where no path can have begun before it, so that a long run is read once. */
const bare = /(?<![\w/:.~"'`(<[-]|[\w/.@+-][@+])(~?\/(?:[\w.@+-]+\/)*[\w.@+-]+\.[A-Za-z0-9]{2,5})(?![\w/])/g

/** An address of the web, or of anything that is not a file here. */
const isAddress = (written: string): boolean => /^[a-z][a-z0-9+.-]+:/i.test(written) && !/^file:\/\//i.test(written)

const plainPath = (written: string): string =>
  written
    .replace(/^file:\/\//i, "")
    .replace(/[.,;:!?)\]}]+$/, (end) => (/^\.[a-z0-9]+$/i.test(end) ? end : ""))
    .trim()

interface Cut extends Markup.Span {
  readonly path: string
}

/** Does the text hold a tag or an image at all? Most do not, and cost nothing further. */
const mayMention = (text: string): boolean => text.includes("MEDIA:") || text.includes("](") || text.includes("/")

/** `spans` in their order. */
const isInside = (spans: ReadonlyArray<Markup.Span>, at: number): boolean =>
  at < (Markup.lastBefore(spans, at + 1)?.end ?? 0)

export const extract = (text: string): Extracted => {
  const voice = asVoice.test(text)
  const document = asDocument.test(text)
  asVoice.lastIndex = 0
  asDocument.lastIndex = 0
  if (!voice && !document && !mayMention(text)) return { text, mentions: [] }
  const { fences, spans } = Markup.parse(text)
  const kind = (path: string): MediaKind => {
    if (document) return "document"
    const own = kindOf(path)
    return voice && voices.has(own) ? "voice" : own
  }
  const cuts: Array<Cut> = []
  /** Those of the former looks, in their order; what one look finds does not overlap. */
  let former: ReadonlyArray<Cut> = []
  const inOrder = (): ReadonlyArray<Cut> => cuts.toSorted((a, b) => a.start - b.start)
  const cut = (start: number, length: number, path: string): void => {
    const clean = plainPath(path)
    // A tag in backticks is code to Markdown, and still meant.
    if (clean === "" || isInside(fences, start)) return
    if (start < (Markup.lastBefore(former, start + length)?.end ?? 0)) return
    cuts.push({ start, end: start + length, path: clean })
  }
  for (const found of text.matchAll(lonelyTag)) {
    const path = found[1] ?? ""
    if (/\s/.test(path.trim()) && endingOf(path.trim()) !== "" && !path.includes("MEDIA:"))
      if (!isInside(spans, found.index)) cut(found.index, found[0].length, path.trim())
  }
  former = inOrder()
  for (const found of text.matchAll(tag))
    if (!isInside(spans, found.index)) cut(found.index, found[0].length, found[1] ?? found[2] ?? found[3] ?? "")
  former = inOrder()
  for (const found of text.matchAll(image)) {
    const path = (found[1] ?? "").replace(/\s+"[^"]*"$/, "").trim()
    if (!isAddress(path) && !isInside(spans, found.index)) cut(found.index, found[0].length, path)
  }
  cuts.sort((a, b) => a.start - b.start)
  const mentions = new Map<string, Mention>()
  for (const { path } of cuts)
    if (!mentions.has(path)) mentions.set(path, { written: path, explicit: true, kind: kind(path) })
  for (const found of text.matchAll(bare)) {
    const path = found[1] ?? ""
    const at = found.index
    if (mentions.has(path) || types[endingOf(path)] === undefined || isInside(cuts, at)) continue
    if (isInside(fences, at) || isInside(spans, at)) continue
    mentions.set(path, { written: path, explicit: false, kind: kind(path) })
  }
  let rest = ""
  let at = 0
  for (const one of cuts) {
    rest += text.slice(at, one.start)
    at = one.end
  }
  rest += text.slice(at)
  const tidied =
    cuts.length === 0 && !voice && !document
      ? text
      : rest
          .replace(asVoice, "")
          .replace(asDocument, "")
          .replace(/(?<![ \t])[ \t]+$/gm, "")
          .replace(/\n{3,}/g, "\n\n")
          .trim()
  return { text: tidied, mentions: [...mentions.values()] }
}

/** The words alone, for a mirror or a transcript of somebody else's. */
export const withoutTags = (text: string): string => extract(text).text

/** A growing text as it may be shown: a tag that is only half there is not. */
export const shown = (text: string): string => {
  if (!text.includes("MEDIA:") && !text.includes("[[")) return text
  const last = text.lastIndexOf("\n") + 1
  const line = text.slice(last).replace(/(^|[^\w/])MEDIA:.*$/s, "$1")
  return withoutTags((text.slice(0, last) + line).replace(/\[\[\w*\]?$/, ""))
}

/** A name for people and platforms: on one line, without a folder, no longer than a file's may be. */
export const safeName = (name: string): string => {
  const clean = (name.split(/[/\\]/).at(-1) ?? "")
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\p{Surrogate}]/gu, "")
    .replace(/[\s"';:<>|?*=&%$`]+/g, "_")
    .replace(/^\.+/, "")
  const ending = /\.[A-Za-z0-9]{1,8}$/.exec(clean)?.[0] ?? ""
  const stem = [...clean.slice(0, clean.length - ending.length)].slice(0, 80).join("")
  return `${stem === "" ? "file" : stem}${ending}`
}
