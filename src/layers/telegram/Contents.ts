/** What a message carries besides its text, in words: files are named, places and polls told. */
import type { Contents, Named } from "./Update.js"

/** One line, without the brackets that frame a note, so that a file's name cannot pose as one. */
const plain = (text: string): string =>
  text
    .replace(/[\s[\]]+/g, " ")
    .trim()
    .slice(0, 120)

const size = (bytes: number | null): string | null =>
  bytes === null
    ? null
    : bytes < 1024 * 1024
      ? `${Math.ceil(bytes / 1024)} KB`
      : `${(bytes / 1024 / 1024).toFixed(1)} MB`

const file = (kind: string, found: Named): string => {
  const details = [
    found.file_name === null ? null : plain(found.file_name),
    found.mime_type === null ? null : plain(found.mime_type),
    found.width === null || found.height === null ? null : `${found.width}×${found.height}`,
    found.duration === null ? null : `${found.duration} s`,
    size(found.file_size)
  ].filter((detail) => detail !== null)
  return details.length === 0 ? kind : `${kind} (${details.join(", ")})`
}

/** Files of a message, which cannot be opened here. */
export const files = (contents: Contents): ReadonlyArray<string> => {
  const { photo, animation, document, video, audio, voice, video_note, sticker, story, game } = contents
  const { checklist, paid_media, invoice } = contents
  const largest = photo?.at(-1)
  return [
    largest === undefined ? null : file("photo", largest),
    // Telegram sends an animation as a document too.
    animation === null ? (document === null ? null : file("document", document)) : file("animation", animation),
    video === null ? null : file("video", video),
    audio === null ? null : file("audio", audio),
    voice === null ? null : file("voice message", voice),
    video_note === null ? null : file("video message", video_note),
    sticker === null ? null : sticker.emoji === null ? "sticker" : `sticker ${plain(sticker.emoji)}`,
    story === null ? null : "story",
    game === null ? null : "game",
    checklist === null ? null : "checklist",
    paid_media === null ? null : "paid media",
    invoice === null ? null : "invoice"
  ].filter((found) => found !== null)
}

/** What needs no file to be told in full. */
export const told = (contents: Contents): ReadonlyArray<string> => {
  const { venue, location, contact, poll, dice } = contents
  const where = venue?.location ?? location
  const name = (parts: ReadonlyArray<string | null>): string => plain(parts.filter((part) => part !== null).join(" "))
  return [
    where === null || where === undefined
      ? null
      : `[location: ${where.latitude}, ${where.longitude}${venue === null ? "" : ` ${name([venue.title, venue.address])}`}]`,
    contact === null ? null : `[contact: ${name([contact.first_name, contact.last_name, contact.phone_number])}]`,
    poll === null
      ? null
      : `[poll: ${plain(poll.question)} — ${poll.options.map((one) => plain(one.text)).join(" / ")}]`,
    dice === null ? null : `[dice: ${name([dice.emoji, dice.value === null ? null : String(dice.value)])}]`
  ].filter((found) => found !== null)
}

/** The note about files that the model reads: never silence about what cannot be opened. */
export const note = (found: ReadonlyArray<string>): string =>
  found.length === 0
    ? ""
    : `[attached: ${found.join("; ")}. Attachments from Telegram cannot be opened here yet; only their kind is known]`
