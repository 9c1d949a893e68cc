/**
 * A sound database out of a damaged one (state-agent.md 1.9). The damaged files are only ever copied and moved, never
 * written; what is made of them takes their place when it is whole.
 *
 * Runs in a process of its own that nobody else's connection lives in: reading the file by ordinary calls would drop
 * the locks of one (state-agent.md 1.1).
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import Sqlite from "better-sqlite3"
import { Effect, Schema } from "effect"
import * as fs from "node:fs"
import path from "node:path"
import * as DatabaseFile from "../DatabaseFile.js"
import * as Migrations from "../Migrations.js"
import { detailOf } from "../SqliteFailure.js"
import * as SteadyConnection from "../SteadyConnection.js"
import * as WriteAheadLog from "../WriteAheadLog.js"
import * as Derived from "./Derived.js"
import { salvage } from "./Salvage.js"

/** The repair could not be made. The damaged files are where they were. */
export class RepairFailed extends Schema.TaggedError<RepairFailed>()("RepairFailed", { detail: Schema.String }) {
  override get message(): string {
    return `the database could not be repaired: ${this.detail}; nothing was changed, \`hermes restore\` brings back a backup`
  }
}

export const TableReport = Schema.Struct({
  table: Schema.String,
  rows: Schema.Int,
  unreadable: Schema.Int,
  refused: Schema.Int
})

/** What a repair found and did. */
export const RepairReport = Schema.Struct({
  /** Where the damaged files are kept. */
  kept: Schema.String,
  rows: Schema.Int,
  /** Stretches of rows of which nothing could be read. */
  unreadable: Schema.Int,
  /** Rows that were read and make no sense. */
  refused: Schema.Int,
  /** Sessions made anew for messages whose session row was lost. */
  sessionsMade: Schema.Int,
  /** Frames of the write-ahead log that are as they were written again, and those nobody can tell of. */
  log: Schema.Struct({ corrected: Schema.Int, doubtful: Schema.Int }),
  /** Tables of which something was lost. */
  tables: Schema.Array(TableReport)
})
export type RepairReport = typeof RepairReport.Type

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
  const copy = path.join(scratch, "damaged.db")
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

/** An empty database of a version. */
const empty = (file: string, version: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* DatabaseFile.prepare(file)
      const { connection } = yield* SteadyConnection.open({ filename: file, disableWAL: true })
      yield* Migrations.run(connection, file, version)
    })
  ).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))

/** Its version as far as that can be read; the newest where it cannot, whose tables have all that older ones had. */
const versionOf = (db: Sqlite.Database): number => {
  try {
    const found = db.prepare("SELECT max(migration_id) FROM migrations").pluck().get()
    return typeof found === "number" && found >= 1 && found <= Migrations.newest ? found : Migrations.newest
  } catch {
    return Migrations.newest
  }
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

const tablesOf = (db: Sqlite.Database): ReadonlyArray<string> =>
  db
    .prepare<[], { name: string }>(
      `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`
    )
    .all()
    .map(({ name }) => name)

/** A message whose session is lost gets one; any other reference to what is lost is taken away. */
const mendReferences = (db: Sqlite.Database): number => {
  const made = db
    .prepare(
      `INSERT INTO sessions (id, source, started_at, last_activity_at, message_count)
       SELECT session_id, 'recovered', min(at), max(at), count(*) FROM messages
       WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = session_id) GROUP BY session_id`
    )
    .run().changes
  for (const table of tablesOf(db)) {
    const keys = db
      .prepare<[string], { table: string; from: string; to: string; notnull: number }>(
        `SELECT k."table", k."from", k."to", c."notnull" FROM pragma_foreign_key_list(?) AS k
         JOIN pragma_table_info('${table}') AS c ON c.name = k."from"`
      )
      .all(table)
    for (const { from, notnull, table: parent, to } of keys) {
      const lost = `"${from}" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "${parent}" WHERE "${parent}"."${to}" = "${table}"."${from}")`
      if (notnull === 1) db.prepare(`DELETE FROM "${table}" WHERE ${lost}`).run()
      else db.prepare(`UPDATE "${table}" SET "${from}" = NULL WHERE ${lost}`).run()
    }
  }
  return made
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
  const tables = tablesOf(sound)
    .filter((table) => table !== "migrations" && !derived.has(table))
    .map((table) => salvage(damaged, sound, table))
  keepSequences(damaged, sound)
  const sessionsMade = mendReferences(sound)
  Derived.forget(sound)
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

const syncFile = (file: string): void => {
  const descriptor = fs.openSync(file, "r")
  try {
    fs.fsyncSync(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}

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
export const repair = (file: string, kept: string): Effect.Effect<RepairReport, RepairFailed> => {
  const failing = (error: unknown) =>
    error instanceof RepairFailed ? error : new RepairFailed({ detail: detailOf(error) })
  const attempt = <A>(act: () => A) => Effect.try({ try: act, catch: failing })
  const scratch = path.join(kept, "scratch")
  const made = path.join(scratch, "state.db")

  return Effect.gen(function* () {
    const { copy, log } = yield* attempt(() => {
      needsRoom(file)
      fs.mkdirSync(scratch, { recursive: true, mode: 0o700 })
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
    yield* Effect.mapError(empty(made, version), failing)
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
      syncFile(made)
      for (const name of ["", "-wal", "-shm", "-journal"])
        if (fs.existsSync(`${file}${name}`))
          fs.renameSync(`${file}${name}`, path.join(kept, `${path.basename(file)}${name}`))
      fs.renameSync(made, file)
      fs.rmSync(scratch, { recursive: true, force: true })
      syncFile(path.dirname(file))
    })
    return report
  }).pipe(
    Effect.tapError(() => Effect.sync(() => fs.rmSync(scratch, { recursive: true, force: true }))),
    Effect.catchAllDefect((defect) => Effect.fail(failing(defect)))
  )
}
