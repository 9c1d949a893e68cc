/**
 * Puts a new database file into the place of another, whose files are kept. A file and its log belong together, and no
 * call of the system exchanges both at once: so a note lies beside them meanwhile, and while it lies there nobody opens
 * the database.
 */
import * as fs from "node:fs"
import path from "node:path"
import * as Directories from "../../node/Directories.js"

/** The files that a database may consist of. */
const parts = ["", "-wal", "-shm", "-journal"]

const noteOf = (file: string): string => `${file}.replacing`

/** Is `file` between two databases, because what put a new one into its place was cut off? */
export const cutOff = (file: string): boolean => fs.existsSync(noteOf(file))

/** What is written is on the disk when this returns; for a folder, its names are. */
export const sync = (name: string): void => {
  const descriptor = fs.openSync(name, "r")
  try {
    fs.fsyncSync(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}

const move = (from: string, to: string): void => {
  for (const part of parts) if (fs.existsSync(`${from}${part}`)) fs.renameSync(`${from}${part}`, `${to}${part}`)
}

/** `made`, on the same disk, becomes `file`; what `file` was goes into the folder `kept` under its own name. */
export const place = (made: string, file: string, kept: string): void => {
  const folder = path.dirname(file)
  Directories.make(kept, 0o700)
  sync(made)
  fs.writeFileSync(noteOf(file), kept, { mode: 0o600 })
  sync(noteOf(file))
  sync(folder)
  move(file, path.join(kept, path.basename(file)))
  fs.renameSync(made, file)
  sync(kept)
  sync(folder)
  fs.rmSync(noteOf(file))
  sync(folder)
}

/** Puts back what was there before a placing that was cut off; false when there was none. */
export const undo = (file: string): boolean => {
  if (!cutOff(file)) return false
  const kept = path.join(fs.readFileSync(noteOf(file), "utf8"), path.basename(file))
  // The new file may have arrived already: the old one takes its place again only while it is not there.
  if (!fs.existsSync(file)) move(kept, file)
  fs.rmSync(noteOf(file))
  sync(path.dirname(file))
  return true
}
