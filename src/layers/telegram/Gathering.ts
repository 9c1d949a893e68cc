/**
 * What a client sends in pieces becomes one message again: an album, and a text too long for one message. Everything
 * else goes on at once (decision 24). Pure; the caller says what time it is.
 */
import { Array as Arr } from "effect"
import type { Written } from "./Inbound.js"

/** A piece at least this long was probably cut by the client, so more may follow. UTF-16 units. */
const longText = 4_000
/** How long the next piece may take, and all of them together. Milliseconds. */
const pace = { album: { next: 600, all: 2_000 }, text: { next: 2_000, all: 15_000 } }
/** Telegram's largest album, and as many pieces of text as anybody pastes. */
const most = { album: 10, text: 64 }

/** Pieces that wait for more of them. */
export interface Held {
  readonly kind: "album" | "text"
  readonly parts: Arr.NonEmptyReadonlyArray<Written>
  readonly since: number
  readonly due: number
}

export type Gathering = ReadonlyArray<Held>

export const empty: Gathering = []

/** A client cuts at the end of a line or between words, and the newline or space there is lost. */
const joined = (before: string, after: string): string =>
  before === "" || after === "" || before.endsWith("\n") ? before + after : `${before}\n${after}`

/** Text and files of all pieces; the reply context of the first, the id and time of the last. */
const merged = (parts: Arr.NonEmptyReadonlyArray<Written>): Written => ({
  ...Arr.lastNonEmpty(parts),
  updates: parts.flatMap((part) => part.updates),
  text: parts.reduce((text, part) => joined(text, part.text), ""),
  files: parts.flatMap((part) => part.files),
  attachments: parts.flatMap((part) => part.attachments),
  replyTo: parts[0].replyTo,
  answersBot: parts.some((part) => part.answersBot)
})

const sameVoice = ({ parts: [first] }: Held, message: Written): boolean =>
  first.chat.id === message.chat.id && first.threadId === message.threadId && first.userId === message.userId

const isPlain = (message: Written): boolean =>
  message.album === null && message.files.length === 0 && message.attachments.length === 0

const goesOn = (held: Held, message: Written): boolean =>
  held.kind === "album"
    ? message.album === held.parts[0].album
    : isPlain(message) && message.replyTo === null && !message.text.startsWith("/")

const kindOf = (message: Written): Held["kind"] | null =>
  message.album !== null ? "album" : isPlain(message) && message.text.length >= longText ? "text" : null

const hold = (before: Held | null, message: Written, kind: Held["kind"], now: number): Held => {
  const since = before?.since ?? now
  return {
    kind,
    parts: before === null ? [message] : [...before.parts, message],
    since,
    due: Math.min(now + pace[kind].next, since + pace[kind].all)
  }
}

/** Takes messages in the order of the chat; gives those that are whole, and keeps the rest. */
export const take = (
  gathering: Gathering,
  messages: ReadonlyArray<Written>,
  now: number
): { readonly gathering: Gathering; readonly whole: ReadonlyArray<Written> } => {
  const whole: Array<Written> = []
  let held = gathering
  for (const message of messages) {
    const own = held.find((one) => sameVoice(one, message)) ?? null
    const others = held.filter((one) => one !== own)
    const joins = own !== null && goesOn(own, message)
    if (own !== null && !joins) whole.push(merged(own.parts))
    const kind = joins ? own.kind : kindOf(message)
    const next = kind === null ? null : hold(joins ? own : null, message, kind, now)
    const isComplete =
      next === null ||
      next.parts.length >= most[next.kind] ||
      // A short piece is the last one.
      (next.kind === "text" && message.text.length < longText)
    if (isComplete) whole.push(next === null ? message : merged(next.parts))
    held = isComplete || next === null ? others : [...others, next]
  }
  const due = held.filter((one) => one.due <= now)
  return {
    gathering: held.filter((one) => one.due > now),
    whole: [...whole, ...due.map((one) => merged(one.parts))]
  }
}

/** Updates that may not be confirmed yet. */
export const heldUpdates = (gathering: Gathering): ReadonlyArray<number> =>
  gathering.flatMap((held) => held.parts.flatMap((part) => part.updates))

/** Milliseconds until something is due; null when nothing is held. */
export const untilDue = (gathering: Gathering, now: number): number | null =>
  gathering.length === 0 ? null : Math.max(0, Math.min(...gathering.map((held) => held.due)) - now)
