/** A person's words as they are shown: without what their row says beside them for the model. Pure. */
import { taken } from "../../../services/conversation/AttachedFile.js"

export interface SaidFile {
  readonly name: string
  readonly mimeType: string
}

/** Who sends files and nothing else says their names. */
export const namesOf = (files: ReadonlyArray<SaidFile>): string => `(${files.map(({ name }) => name).join(", ")})`

export const withFiles = (text: string, files: ReadonlyArray<SaidFile>) => ({
  text: files.length > 0 && text === namesOf(files) ? "" : text,
  files
})

export const ofRow = (row: string): ReturnType<typeof withFiles> => {
  const { files, text } = taken(row)
  return withFiles(text, files)
}
