import { Schema } from "effect"
import type { CauseKind } from "./Outbox.js"

export const MediaKind = Schema.Literal("photo", "video", "audio", "voice", "document")
export type MediaKind = typeof MediaKind.Type

/** A file that goes out: where it really lies, and what people see of it. */
export const MediaFile = Schema.Struct({
  kind: MediaKind,
  /** Absolute, every symlink followed. */
  path: Schema.String,
  name: Schema.String,
  mimeType: Schema.String,
  bytes: Schema.Int
})
export type MediaFile = typeof MediaFile.Type

/** Whose words may carry files: never a question, a notice or a command's answer, which quote what others wrote. */
const carrying: ReadonlySet<CauseKind> = new Set<CauseKind>(["turn", "cron", "send_message"])
export const mayCarry = (cause: CauseKind): boolean => carrying.has(cause)

/** Files of one message at most; what is left is said. */
export const mostFiles = 20

/** Several pictures or films are one message where the platform knows albums; everything else is one each. */
export const grouped = (files: ReadonlyArray<MediaFile>, album: number): ReadonlyArray<ReadonlyArray<MediaFile>> => {
  const groups: Array<Array<MediaFile>> = []
  const isSeen = ({ kind }: MediaFile): boolean => kind === "photo" || kind === "video"
  for (const file of files) {
    const last = groups.at(-1)
    const first = last?.[0]
    if (last !== undefined && first !== undefined && isSeen(first) && isSeen(file) && last.length < album)
      last.push(file)
    else groups.push([file])
  }
  return groups
}
