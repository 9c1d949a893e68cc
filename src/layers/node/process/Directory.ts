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

/** The directory or its nearest ancestor that can be entered, at last the place for temporary files (gateway.md 1.5). */
export const usable = (asked: string): { readonly directory: string; readonly note: string | null } => {
  for (let directory = asked; ; directory = path.dirname(directory)) {
    if (isUsable(directory))
      return { directory, note: directory === asked ? null : `${asked} cannot be entered; this ran in ${directory}` }
    if (path.dirname(directory) === directory) break
  }
  return { directory: tmpdir(), note: `${asked} cannot be entered; this ran in ${tmpdir()}` }
}
