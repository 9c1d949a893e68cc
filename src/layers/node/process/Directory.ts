import { accessSync, constants, statSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"

/** May a process be started in this directory? */
export const isUsable = (directory: string): boolean => {
  try {
    accessSync(directory, constants.X_OK)
    return statSync(directory).isDirectory()
  } catch {
    return false
  }
}

const whatIs = (directory: string): string => {
  try {
    const found = statSync(directory, { throwIfNoEntry: false })
    return found === undefined ? "is not there" : found.isDirectory() ? "cannot be entered" : "is no folder"
  } catch {
    return "cannot be entered"
  }
}

/** Why no process can be started in it, in words; null where one can. */
export const problemOf = (directory: string): string | null =>
  isUsable(directory) ? null : `the folder ${directory} ${whatIs(directory)}`

/** The directory or its nearest ancestor that can be entered, at last the place for temporary files (gateway.md 1.5). */
export const usable = (asked: string): { readonly directory: string; readonly note: string | null } => {
  for (let directory = asked; ; directory = path.dirname(directory)) {
    if (isUsable(directory))
      return { directory, note: directory === asked ? null : `${asked} cannot be entered; this ran in ${directory}` }
    if (path.dirname(directory) === directory) break
  }
  return { directory: tmpdir(), note: `${asked} cannot be entered; this ran in ${tmpdir()}` }
}
