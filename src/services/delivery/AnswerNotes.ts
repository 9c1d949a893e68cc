/**
 * What stands around an answer for the person who reads it, and the answer without it: to a model these words are not its
 * own. Pure.
 */
import * as Span from "../operation/Span.js"
import type { Message, Summary } from "../session/Transcript.js"
import * as Notice from "./Notice.js"

export interface Known {
  /** Was it cut off, as by the model's length limit? */
  readonly truncated: boolean
  /** The backend that took over, as `provider/model`. */
  readonly spokenBy: string | null
  /** How long the message waited, where that has to be said. */
  readonly ageMillis: number | null
}

/** The answer with what has to be known about it; one that the model ran out of before it began is that note alone. */
export const around = (answer: string, { ageMillis, spokenBy, truncated }: Known): string =>
  [
    ...(ageMillis === null ? [] : [Notice.replyLate({ ageMillis }).text]),
    ...(answer === "" ? [] : [answer]),
    ...(truncated ? [Notice.replyTruncated().text] : []),
    ...(spokenBy === null ? [] : [Notice.spokenByFallback({ backend: spokenBy }).text])
  ].join("\n\n")

/** What a note says before and behind what differs in it. */
const frame = (note: string, differs: string): readonly [before: string, behind: string] => {
  const [before = note, behind = ""] = note.split(differs)
  return [before, behind]
}

const backend = "provider/model"
const age = 7_200_000
const [fallbackBefore, fallbackBehind] = frame(Notice.spokenByFallback({ backend }).text, backend)
const [lateBefore, lateBehind] = frame(Notice.replyLate({ ageMillis: age }).text, Span.words(age))
const truncated = Notice.replyTruncated().text

const withoutLast = (text: string, isNote: (paragraph: string) => boolean): string => {
  const at = text.lastIndexOf("\n\n")
  const start = at === -1 ? 0 : at + 2
  return isNote(text.slice(start)) ? text.slice(0, Math.max(0, at)) : text
}

const isFallback = (paragraph: string): boolean =>
  paragraph.startsWith(fallbackBefore) && paragraph.endsWith(fallbackBehind) && !paragraph.includes("\n")

const isTruncated = (paragraph: string): boolean => paragraph === truncated

const unsigned = (text: string): string => (text.endsWith(fallbackBehind) ? withoutLast(text, isFallback) : text)

/** Does an answer say of itself that it was cut off? */
export const isCut = (text: string): boolean => {
  const said = unsigned(text)
  return said.endsWith(truncated) && withoutLast(said, isTruncated) !== said
}

/** The answer alone: the same text where nothing stands around it. */
const without = (text: string): string => {
  const said = unsigned(text)
  const whole = said.endsWith(truncated) ? withoutLast(said, isTruncated) : said
  if (!whole.startsWith(lateBefore)) return whole
  const end = whole.indexOf(lateBehind)
  if (end === -1 || whole.slice(0, end).includes("\n")) return whole
  return whole.slice(end + lateBehind.length).replace(/^\n\n/, "")
}

/** A message as a model reads it: of an answer what it said itself, null where that is nothing. The same one otherwise. */
export const own = (message: Message | Summary): Message | Summary | null => {
  if (message._tag !== "assistant" || message.toolCalls.length > 0) return message
  const text = message.finishReason === "empty" ? "" : without(message.text)
  if (text === "") return null
  return text === message.text ? message : { ...message, text }
}
