/** A person's words as they are shown: without what their row says beside them for the model. Pure. */
import { taken } from "../../../services/conversation/AttachedFile.js"
import type { Attached } from "./gateway.js"

export interface SaidFile {
  readonly name: string
  readonly mimeType: string
  /** Where its bytes are, as long as they are kept; null where that is not known. */
  readonly url: string | null
}

const urlOf = (platform: string, stored: string): string => `/api/files/${platform}/${encodeURIComponent(stored)}`

/** Kept for a message that is not stored yet. */
export const ofAttached = ({ id, mimeType, name }: Attached): SaidFile => ({ name, mimeType, url: urlOf("web", id) })

const urlAt = (path: string): string | null => {
  const [, platform = "", stored = ""] = /\/media\/([a-z_]+)\/([^/]+)$/.exec(path) ?? []
  return stored === "" ? null : urlOf(platform, stored)
}

/** Who sends files and nothing else says their names. */
export const namesOf = (files: ReadonlyArray<{ readonly name: string }>): string =>
  `(${files.map(({ name }) => name).join(", ")})`

export const withFiles = (text: string, files: ReadonlyArray<SaidFile>) => ({
  text: files.length > 0 && text === namesOf(files) ? "" : text,
  files
})

export const ofRow = (row: string): ReturnType<typeof withFiles> => {
  const { files, text } = taken(row)
  return withFiles(
    text,
    files.map(({ mimeType, name, path }) => ({ name, mimeType, url: urlAt(path) }))
  )
}
