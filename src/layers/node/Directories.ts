/** Directories with everything above them. */
import { mkdirSync, type Stats, statSync } from "node:fs"
import path from "node:path"

/** What is there; null when nothing is, or nothing can be said. */
const look = (file: string): Stats | null => {
  try {
    return statSync(file)
  } catch {
    return null
  }
}

const isDirectory = (directory: string): boolean => look(directory)?.isDirectory() === true

/** Something else stands where a directory should; the code is the system's for it. */
class NotADirectory extends Error {
  readonly code = "ENOTDIR"

  constructor(directory: string) {
    super(`${directory} is not a directory`)
  }
}

/**
 * Makes a directory where there is none, and those above it. Throws what the system says; step by step, because Node's own
 * recursive way never ends where a directory that is there takes no other (/proc).
 */
export const make = (directory: string, mode?: number): void => {
  if (isDirectory(directory)) return
  const above = path.dirname(directory)
  if (above !== directory) make(above, mode)
  try {
    mkdirSync(directory, { mode })
  } catch (error) {
    // Another process may have been faster.
    if (isDirectory(directory)) return
    throw look(directory) === null ? error : new NotADirectory(directory)
  }
}
