import { Effect } from "effect"
import { chmodSync, closeSync, constants, lstatSync, openSync, type Stats } from "node:fs"
import path from "node:path"
import * as Directories from "../node/Directories.js"

const missing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"
const exists = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EEXIST"

const look = (file: string): Stats | null => {
  try {
    return lstatSync(file)
  } catch (error) {
    if (missing(error)) return null
    throw error
  }
}

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

/**
 * Notes which files an open database consists of, and tells later whether they still are the ones at their paths: null,
 * or what happened. Only names are looked at, nothing is opened.
 */
export const watch = (file: string): Effect.Effect<() => string | null> =>
  Effect.sync(() => {
    const identityOf = (name: string): string | null => {
      const found = look(name)
      return found === null ? null : `${found.dev}:${found.ino}`
    }
    const watched = [file, `${file}-wal`].flatMap((name) => {
      const identity = identityOf(name)
      return identity === null ? [] : [{ name, identity }]
    })
    return () => {
      const changed = watched.find(({ identity, name }) => identityOf(name) !== identity)
      return changed === undefined
        ? null
        : `${changed.name} ${identityOf(changed.name) === null ? "is gone" : "is another file now"}`
    }
  })
