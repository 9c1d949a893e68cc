/**
 * A sound database out of a damaged one (state-agent.md 1.9). The damaged files are only ever copied and moved, never
 * written; what is made of them takes their place when it is whole.
 *
 * Runs in a process of its own that nobody else's connection lives in: reading the file by ordinary calls would drop
 * the locks of one (state-agent.md 1.1).
 */
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import * as fs from "node:fs"
import path from "node:path"
import { CareFailed, type RepairReport } from "../../../services/state/Care.js"
import * as Blank from "../care/Blank.js"
import * as Placing from "../care/Placing.js"
import * as Migrations from "../Migrations.js"
import { detailOf } from "../SqliteFailure.js"
import * as WriteAheadLog from "../WriteAheadLog.js"
import * as Derived from "./Derived.js"
import * as References from "./References.js"
import { salvage } from "./Salvage.js"
import * as Directories from "../../node/Directories.js"

const pageBytes = 4_096

/** The first bytes of every database that this program makes, but for what counts its changes (fileformat2 §1.3). */
const mendHeader = (file: string, journal: boolean): void => {
  const descriptor = fs.openSync(file, "r+")
  try {
    const header = Buffer.alloc(100)
    fs.readSync(descriptor, header, 0, 100, 0)
    header.write("SQLite format 3\0", 0, "latin1")
    header.writeUInt16BE(pageBytes, 16)
    header.set([journal ? 1 : 2, journal ? 1 : 2, 0, 64, 32, 32], 18)
    header.writeUInt32BE(Math.ceil(fs.fstatSync(descriptor).size / pageBytes), 28)
    // No free pages: what is only read needs none, and a damaged list of them would be followed.
    header.fill(0, 32, 40)
    header.writeUInt32BE(4, 44)
    header.fill(0, 52, 56)
    header.writeUInt32BE(1, 56)
    header.fill(0, 64, 92)
    header.copy(header, 92, 24, 28)
    fs.writeSync(descriptor, header, 0, 100, 0)
  } finally {
    fs.closeSync(descriptor)
  }
}

const pageOf = (file: string) => {
  const image = fs.openSync(file, "r")
  return {
    read: (page: number): Uint8Array | null => {
      const bytes = new Uint8Array(pageBytes)
      return fs.readSync(image, bytes, 0, pageBytes, (page - 1) * pageBytes) === pageBytes ? bytes : null
    },
    close: () => fs.closeSync(image)
  }
}

/** A copy of the damaged database in which the log and the header are mended, to read from. */
const workingCopy = (file: string, scratch: string) => {
  const copy = path.join(scratch, "state.db.damaged")
  fs.copyFileSync(file, copy)
  const size = fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const log = size > 32 ? fs.readFileSync(`${file}-wal`) : null
  const pages = pageOf(file)
  const mended = log === null ? { log, corrected: 0, doubtful: 0 } : WriteAheadLog.mend(log, pages.read)
  pages.close()
  if (mended.log !== null) fs.writeFileSync(`${copy}-wal`, mended.log)
  const journal = fs.existsSync(`${file}-journal`)
  // A commit that was cut off without a log is undone by SQLite when it opens the copy.
  if (journal) fs.copyFileSync(`${file}-journal`, `${copy}-journal`)
  mendHeader(copy, journal)
  return { copy, log: { corrected: mended.corrected, doubtful: mended.doubtful } }
}

/** The newest where its own cannot be read: its tables have all that older ones had. */
const versionOf = (db: Sqlite.Database): number => {
  const found = Blank.versionOf(db)
  return Blank.isKnown(found) ? found : Migrations.newest
}

/** Opens the copy although its schema may not parse; what is damaged of the schema is put in from a sound one. */
const openDamaged = (copy: string): Sqlite.Database => {
  const db = new Sqlite(copy)
  db.unsafeMode(true)
  for (const pragma of ["writable_schema = ON", "foreign_keys = OFF", "synchronous = OFF", "cell_size_check = ON"])
    db.pragma(pragma)
  return db
}

const mendSchema = (damaged: Sqlite.Database, sound: Sqlite.Database): void => {
  const wanted = sound
    .prepare<[], { type: string; name: string; sql: string }>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN ('table', 'index')"
    )
    .all()
  try {
    const update = damaged.prepare("UPDATE sqlite_schema SET sql = ? WHERE type = ? AND name = ? AND sql <> ?")
    for (const { name, sql, type } of wanted) update.run(sql, type, name, sql)
  } catch {
    // A schema page that cannot be written is read as far as it goes.
  }
}

/** Numbers that were given out once are not given out again, whatever became of their rows. */
const keepSequences = (damaged: Sqlite.Database, sound: Sqlite.Database): void => {
  try {
    for (const row of damaged.prepare<[], { name: string; seq: number }>("SELECT name, seq FROM sqlite_sequence").all())
      if (Number.isSafeInteger(row.seq))
        sound.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?").run(row.seq, row.name)
  } catch {
    // Then they go on behind the last row that was found.
  }
}

const copyRows = (damaged: Sqlite.Database, sound: Sqlite.Database) => {
  sound.pragma("foreign_keys = OFF")
  const triggers = sound
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all()
  const derived = Derived.tables(sound)
  sound.exec("BEGIN")
  for (const { name } of triggers) sound.exec(`DROP TRIGGER "${name}"`)
  const tables = References.tables(sound)
    .filter((table) => table !== "migrations" && !derived.has(table))
    .map((table) => salvage(damaged, sound, table))
  keepSequences(damaged, sound)
  const sessionsMade = References.mend(sound)
  for (const { sql } of triggers) sound.exec(sql)
  sound.exec("COMMIT")
  return { tables, sessionsMade }
}

const faultsOf = (db: Sqlite.Database): ReadonlyArray<string> => [
  ...db
    .prepare<[], { integrity_check: string }>("PRAGMA integrity_check(5)")
    .all()
    .map((row) => row.integrity_check)
    .filter((line) => line !== "ok"),
  ...db
    .prepare<[], { table: string; parent: string }>("PRAGMA foreign_key_check")
    .all()
    .map((row) => `${row.table} refers to what is not in ${row.parent}`)
]

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, number) => total + number, 0)

/** Room for the copy, for the new database and for what else goes on: three times the files and 64 MiB. */
const needsRoom = (file: string): void => {
  const size = sum([file, `${file}-wal`].map((name) => fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0))
  const { bavail, bsize } = fs.statfsSync(path.dirname(file))
  const [needed, free] = [size * 3 + 2 ** 26, bavail * bsize]
  if (free < needed)
    throw new Error(`it needs ${Math.ceil(needed / 2 ** 20)} MiB of disk and ${Math.floor(free / 2 ** 20)} are free`)
}

/**
 * Makes a sound database of what can be read and puts it in the place of `file`, whose damaged files go into `kept`, a
 * folder that is not there yet. Whoever calls it holds the home: nobody else may have the database open.
 */
export const repair = (file: string, kept: string): Effect.Effect<RepairReport, CareFailed> => {
  const failing = (error: unknown) =>
    new CareFailed({
      work: "the repair",
      detail: `${detailOf(error)}; nothing was changed, \`hermes restore\` brings back a backup`
    })
  const attempt = <A>(act: () => A) => Effect.try({ try: act, catch: failing })
  const scratch = path.join(kept, "scratch")
  const made = path.join(scratch, "state.db")

  return Effect.gen(function* () {
    const { copy, log } = yield* attempt(() => {
      Placing.undo(file)
      needsRoom(file)
      Directories.make(scratch, 0o700)
      return workingCopy(file, scratch)
    })
    const version = yield* attempt(() => {
      const db = openDamaged(copy)
      try {
        return versionOf(db)
      } finally {
        db.close()
      }
    })
    const blank = yield* Blank.image(version)
    yield* attempt(() => fs.writeFileSync(made, blank, { mode: 0o600 }))
    const report = yield* attempt(() => {
      const sound = new Sqlite(made)
      let damaged = openDamaged(copy)
      try {
        sound.pragma("synchronous = OFF")
        mendSchema(damaged, sound)
        // Only a new connection reads the schema again.
        damaged.close()
        damaged = openDamaged(copy)
        const { sessionsMade, tables } = copyRows(damaged, sound)
        const faults = faultsOf(sound)
        if (faults.length > 0) throw new Error(faults.join("; "))
        return {
          kept,
          rows: sum(tables.map((table) => table.rows)),
          unreadable: sum(tables.map((table) => table.unreadable)),
          refused: sum(tables.map((table) => table.refused)),
          sessionsMade,
          log,
          tables: tables.filter((table) => table.unreadable + table.refused > 0)
        }
      } finally {
        damaged.close()
        sound.close()
      }
    })
    yield* attempt(() => {
      Placing.place(made, file, kept)
      fs.rmSync(scratch, { recursive: true, force: true })
    })
    return report
  }).pipe(
    Effect.tapError(() => Effect.sync(() => fs.rmSync(scratch, { recursive: true, force: true }))),
    Effect.catchAllDefect((defect) => Effect.fail(failing(defect)))
  )
}
