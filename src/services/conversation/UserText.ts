/** What the model reads of an inbound message: sender, what it answers, its files, its text (gateway.md 2.2, 3.5). Pure. */
import * as AttachedFile from "./AttachedFile.js"
import type { InboundEvent } from "./InboundEvent.js"
import { type Heard, note } from "./Listener.js"

const silence: Heard = { texts: new Map(), unheard: false }

/** A display name on one line that cannot pass for the prefix of another sender. */
export const senderName = (name: string): string =>
  name
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/[[\]]/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 240) || "unknown"

const quote = (text: string): string => JSON.stringify(text.length > 500 ? `${text.slice(0, 500)}…` : text)

/** The text of the user's row. In a conversation shared by several people each message names its sender. */
export const of = (event: InboundEvent, shared: boolean, heard: Heard = silence): string => {
  if (event.internal !== null) return event.text
  const lines: Array<string> = []
  if (event.replyTo !== null && event.replyTo.text !== null)
    lines.push(
      `(in reply to ${event.replyTo.author === null ? "a message" : senderName(event.replyTo.author)}: ${quote(event.replyTo.text)})`
    )
  for (const file of event.media) {
    lines.push(AttachedFile.lineOf(file))
    const said = note(file, heard)
    if (said !== null) lines.push(said)
  }
  const sender = shared ? `[${senderName(event.source.userName ?? event.source.userId ?? "")}] ` : ""
  lines.push(`${sender}${event.text}`)
  return lines.join("\n")
}
