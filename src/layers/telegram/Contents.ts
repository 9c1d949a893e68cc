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

/** A file of a message that the bot can fetch. */
export interface Attachment {
  readonly fileId: string
  readonly id: string
  readonly name: string
  readonly mimeType: string
  /** As Telegram says; null when it does not. */
  readonly bytes: number | null
  /** In a person's words. */
  readonly told: string
}

const endings: { readonly [mimeType: string]: string } = {
  "image/jpeg": "jpg",
  "audio/ogg": "ogg",
  "audio/mpeg": "mp3",
  "video/mp4": "mp4"
}

/** What is in a message by its kind: the largest photo, and an animation once (Telegram sends it as a document too). */
const named = ({
  photo,
  animation,
  document,
  video,
  audio,
  voice,
  video_note
}: Contents): ReadonlyArray<readonly [kind: string, mimeType: string, found: Named]> => {
  const all: ReadonlyArray<readonly [string, string, Named | null | undefined]> = [
    ["photo", "image/jpeg", photo?.at(-1)],
    ["document", "application/octet-stream", animation === null ? document : null],
    ["animation", "video/mp4", animation],
    ["video", "video/mp4", video],
    ["audio", "audio/mpeg", audio],
    ["voice message", "audio/ogg", voice],
    ["video message", "video/mp4", video_note]
  ]
  return all.flatMap(([kind, mimeType, found]) =>
    found === null || found === undefined ? [] : [[kind, mimeType, found] as const]
  )
}

export const attachments = (contents: Contents): ReadonlyArray<Attachment> =>
  named(contents).flatMap(([kind, usual, found]) => {
    if (found.file_id === null) return []
    const mimeType = found.mime_type ?? usual
    return [
      {
        fileId: found.file_id,
        id: found.file_unique_id ?? found.file_id,
        name: found.file_name ?? `${kind.replace(/ /g, "-")}.${endings[mimeType] ?? "bin"}`,
        mimeType,
        bytes: found.file_size,
        told: file(kind, found)
      }
    ]
  })

/** What cannot be opened here. */
export const files = (contents: Contents): ReadonlyArray<string> => {
  const { sticker, story, game } = contents
  const { checklist, paid_media, invoice } = contents
  return [
    ...named(contents).map(([kind, , found]) => (found.file_id === null ? file(kind, found) : null)),
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
  found.length === 0 ? "" : `[attached: ${found.join("; ")}. They cannot be opened here; only their kind is known]`

/** Files of a message that another one answers: their kind is enough. */
export const mentioned = (contents: Contents): string => {
  const all = [...attachments(contents).map(({ told }) => told), ...files(contents)]
  return all.length === 0 ? "" : `[attached: ${all.join("; ")}]`
}
