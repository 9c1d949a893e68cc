/** Backups: one moment of a database as a file of its own, and such a file in the place of the database. */
import { Effect } from "effect"
import * as fs from "node:fs"
import path from "node:path"
import type { CareFailed, Copied } from "../../../services/state/Care.js"
import * as Migrations from "../Migrations.js"
import { alone, doing, using } from "./Connection.js"
import * as Placing from "./Placing.js"
import * as Directories from "../../node/Directories.js"

/** Reads a copy through; throws what is wrong with it. */
const verified = (file: string): Copied =>
  using(file, { readonly: true }, (db) => {
    const faults = db
      .prepare<[], { integrity_check: string }>("PRAGMA integrity_check(3)")
      .all()
      .map((row) => row.integrity_check)
      .filter((line) => line !== "ok")
    if (faults.length > 0) throw new Error(`${file} is damaged: ${faults.join("; ")}`)
    const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get()
    if (table === undefined) throw new Error(`${file} is no database of hermes-effect`)
    const version = Number(db.prepare("SELECT max(migration_id) FROM migrations").pluck().get())
    if (version > Migrations.newest)
      throw new Error(`${file} was written by a newer program (${version}; this one knows ${Migrations.newest})`)
    const count = (rows: string): number => Number(db.prepare(`SELECT count(*) FROM ${rows}`).pluck().get())
    return { file, bytes: fs.statSync(file).size, sessions: count("sessions"), messages: count("messages") }
  })

/** An empty file that only its owner reads, where there is none. */
const reserve = (file: string): void => {
  Directories.make(path.dirname(file), 0o700)
  fs.closeSync(fs.openSync(file, fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_RDWR, 0o600))
}

/**
 * Copies the database as it is at one moment, whoever writes meanwhile; what is free in it is left out. The name `to`
 * must be free: it appears when the copy has been read through and is on the disk.
 */
export const backup = (file: string, to: string): Effect.Effect<Copied, CareFailed> =>
  doing("the backup", () => {
    if (fs.existsSync(to)) throw new Error(`${to} is there already`)
    const part = `${to}.part`
    fs.rmSync(part, { force: true })
    reserve(part)
    try {
      using(file, { readonly: true }, (db) => db.prepare("VACUUM INTO ?").run(part))
      const copied = verified(part)
      Placing.sync(part)
      // Linking fails where the name was taken meanwhile; renaming would take it over.
      fs.linkSync(part, to)
      Placing.sync(path.dirname(to))
      return { ...copied, file: to }
    } finally {
      fs.rmSync(part, { force: true })
    }
  })

/** Is there a database that nobody else has open? A damaged one cannot say; the home's lock has to do then. */
const nobodyElse = (file: string): void => {
  if (!fs.existsSync(file)) return
  let found: ReturnType<typeof alone>
  try {
    found = alone(file)
  } catch {
    return
  }
  if (found === null) throw new Error("another process has the database open")
  found.close()
}

/** Puts a copy of `from` in the place of `file`. Its own files go into `kept`. */
export const restore = (file: string, from: string, kept: string): Effect.Effect<Copied, CareFailed> =>
  doing("the restore", () => {
    if (!fs.existsSync(from)) throw new Error(`there is no ${from}`)
    Placing.undo(file)
    nobodyElse(file)
    const made = `${file}.restored`
    fs.rmSync(made, { force: true })
    reserve(made)
    try {
      // Through SQLite: a backup that was opened once has a log of its own.
      using(from, { readonly: true }, (db) => db.prepare("VACUUM INTO ?").run(made))
      const copied = verified(made)
      Placing.place(made, file, kept)
      return { ...copied, file }
    } finally {
      fs.rmSync(made, { force: true })
    }
  })

/** Gives free pages back; null when somebody else has the file open. */
export const vacuum = (file: string): Effect.Effect<number | null, CareFailed> =>
  doing("vacuum", () => {
    const db = alone(file)
    if (db === null) return null
    try {
      const before = fs.statSync(file).size
      db.exec("VACUUM")
      db.pragma("wal_checkpoint(TRUNCATE)")
      return before - fs.statSync(file).size
    } finally {
      db.close()
    }
  })
