import { Effect } from "effect"
import { chmodSync, closeSync, constants, lstatSync, openSync, type Stats } from "node:fs"
import path from "node:path"
import * as Directories from "../node/Directories.js"

const exists = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EEXIST"

const look = (file: string): Stats | null => lstatSync(file, { throwIfNoEntry: false }) ?? null

/** Takes a directory away from everybody else; one that is shared on purpose (sticky, like /tmp) is left alone. */
const closeDirectory = (directory: string): void => {
  Directories.make(directory, 0o700)
  const { mode } = lstatSync(directory)
  if ((mode & 0o077) !== 0 && (mode & constants.S_IFMT) === constants.S_IFDIR && (mode & 0o1000) === 0)
    chmodSync(directory, 0o700)
}

/**
 * Makes the directory (0700) and an empty database file (0600) where there is none, without following a symbolic link.
 *
 * This is the only time the file is opened by other means than SQLite, and only because it is new: closing any
 * descriptor of an open database drops the process's locks on it (state-agent.md 1.1). Sidecars take the file's mode.
 */
export const prepare = (file: string): Effect.Effect<void, Error> =>
  Effect.try({
    try: () => {
      closeDirectory(path.dirname(file))
      try {
        closeSync(openSync(file, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600))
      } catch (error) {
        if (!exists(error)) throw error
      }
      close(file)
    },
    catch: (error) => (error instanceof Error ? error : new Error(String(error)))
  })

/** Mode 0600 for the file and its sidecars, by path; symbolic links are left alone. */
const close = (file: string): void => {
  for (const name of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) {
    const found = look(name)
    if (found !== null && found.isFile() && (found.mode & 0o177) !== 0) chmodSync(name, 0o600)
  }
}

/** Which file a name means, by device and inode; null when there is none. */
export const identityOf = (name: string): string | null => {
  const found = look(name)
  return found === null ? null : `${found.dev}:${found.ino}`
}

/** What became of the files of an open database: they are others now, a part was cut off, or the disk did not take one. */
export interface Loss {
  readonly kind: "replaced" | "cut" | "unsynced"
  readonly detail: string
}

export interface Watch {
  readonly lost: () => Loss | null
  /** How long the log was when it was last looked at. */
  readonly logBytes: () => number
}

/** No log is ever cut below this by SQLite itself (`journal_size_limit`). */
export const logLimitBytes = 67_108_864

/**
 * Notes which files an open database consists of, and tells later what became of them; null while they are the same and
 * whole. A database file never shrinks while it is open (only vacuum makes it smaller, and only when nobody holds it),
 * and a log only down to its limit. Only names are looked at, nothing is opened.
 */
export const watch = (file: string): Effect.Effect<Watch> =>
  Effect.sync(() => {
    const watched = [file, `${file}-wal`, `${file}-shm`].flatMap((name) => {
      const found = look(name)
      return found === null ? [] : [{ name, dev: found.dev, ino: found.ino, size: found.size }]
    })
    const isLog = (name: string): boolean => name !== file
    const lost = (): Loss | null => {
      for (const known of watched) {
        const found = look(known.name)
        if (found === null) return { kind: "replaced", detail: `${known.name} is gone` }
        if (found.dev !== known.dev || found.ino !== known.ino)
          return { kind: "replaced", detail: `${known.name} is another file now` }
        const least = isLog(known.name) ? Math.min(known.size, logLimitBytes) : known.size
        if (found.size < least)
          return { kind: "cut", detail: `${known.name} was cut from ${known.size} to ${found.size} bytes` }
        known.size = found.size
      }
      return null
    }
    return { lost, logBytes: () => watched.find(({ name }) => name.endsWith("-wal"))?.size ?? 0 }
  })
