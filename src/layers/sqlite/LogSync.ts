/**
 * The way of a write-ahead log onto the disk. SQLite's own would hold the event loop for as long as the disk takes, at each
 * commit, which is most of what a commit takes; this one is walked by a thread of Node's, and one walk does for all commits
 * that wait for it.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs"

export interface LogSync {
  /** Calls back when all that is in the log by now is on the disk, or with what the system said in its place. */
  readonly begin: (done: (error: Error | null) => void) => void
  /** The same, and everything else waits for it. */
  readonly now: () => Error | null
  readonly close: () => void
}

/** Where only reading is allowed there is nothing to take to the disk, and who tries to write is told by SQLite. */
const openLog = (name: string): number => {
  try {
    return openSync(name, "r+")
  } catch {
    return openSync(name, "r")
  }
}

/** Of the log that lies beside a database file. It is SQLite's own file, so it is there for as long as the database is open. */
export const open = (file: string): LogSync => {
  const log = openLog(`${file}-wal`)
  return {
    begin: (done) => fdatasync(log, done),
    now: () => {
      try {
        fdatasyncSync(log)
        return null
      } catch (error) {
        return error instanceof Error ? error : new Error(String(error))
      }
    },
    close: () => closeSync(log)
  }
}
