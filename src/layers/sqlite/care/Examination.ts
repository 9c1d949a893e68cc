/** Reads a database from end to end and says what is wrong with it. */
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import * as fs from "node:fs"
import type { CareFailed, Examination, Fault } from "../../../services/state/Care.js"
import { farthest } from "../../../services/operation/Instant.js"
import * as Migrations from "../Migrations.js"
import { codeOf, detailOf } from "../SqliteFailure.js"
import * as WriteAheadLog from "../WriteAheadLog.js"
import * as Blank from "./Blank.js"
import { doing, using } from "./Connection.js"
import * as Placing from "./Placing.js"
import * as SchemaParts from "./Schema.js"
import * as SearchIndex from "./SearchIndex.js"
import * as Spoilt from "./Spoilt.js"

/** Lines of one kind at most: whoever has more needs a repair, not a list. */
const most = 20

/** The file cannot be opened or written: nothing about it is known, and no repair helps. */
const isShut = (error: unknown): boolean => /^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/.test(codeOf(error) ?? "")

/** A fault instead of a failure: what cannot be read is just what is looked for. */
const finding = (part: Fault["part"], look: () => ReadonlyArray<string>): ReadonlyArray<Fault> => {
  try {
    return look().map((detail) => ({ part, detail }))
  } catch (error) {
    if (part !== "index" && isShut(error)) throw error
    return [{ part, detail: detailOf(error) }]
  }
}

/** The rows that belong to a session without the schema saying so. */
export const belongings = ["routes"] as const

const logFaults = (file: string) => (): ReadonlyArray<string> => {
  const damage = WriteAheadLog.damage(file)
  return damage === null
    ? []
    : [`the write-ahead log is damaged in frame ${damage.frames.join(", ") || "0"}, before ${damage.forgotten} commits`]
}

const pageFaults = (db: Sqlite.Database) => (): ReadonlyArray<string> =>
  db
    .prepare<[], { integrity_check: string }>(`PRAGMA integrity_check(${most})`)
    .all()
    .map((row) => row.integrity_check)
    .filter((line) => line !== "ok")

const referenceFaults = (db: Sqlite.Database) => (): ReadonlyArray<string> => {
  const foreign = db
    .prepare<[], { table: string; parent: string; count: number }>(
      `SELECT "table", parent, count(*) AS count FROM pragma_foreign_key_check GROUP BY "table", parent`
    )
    .all()
    .map(({ count, parent, table }) => `${count} rows of ${table} refer to what is not in ${parent}`)
  const orphans = belongings.flatMap((table) => {
    const count = number(db, `SELECT count(*) FROM ${table} WHERE session_id NOT IN (SELECT id FROM sessions)`)
    return count === 0 ? [] : [`${count} rows of ${table} belong to no session`]
  })
  return [...foreign, ...orphans]
}

const number = (db: Sqlite.Database, sql: string): number => {
  try {
    return Number(db.prepare(sql).pluck().get() ?? 0)
  } catch {
    return 0
  }
}

/** What was written by hand may be anything, and a fault of the rows says so. */
const isWhole = (column: string): string => `typeof(${column}) = 'integer' AND abs(${column} * 1.0) <= ${farthest}`

/** None where the table cannot be read: that is a fault of its own. */
const jobsOf = (db: Sqlite.Database): Examination["jobs"] => {
  try {
    // Up to version 110 a job's time stood in its own row.
    const apart = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'due'").get() !== undefined
    return db
      .prepare<[], Examination["jobs"][number]>(
        `SELECT name, state, last_status AS lastStatus, coalesce(last_error, state_reason) AS reason,
          CASE WHEN ${isWhole("failure_streak")} THEN failure_streak ELSE 0 END AS streak,
          CASE WHEN ${isWhole("next_at")} THEN next_at END AS nextAt,
          CASE WHEN ${isWhole("last_run_at")} THEN last_run_at END AS lastAt
          FROM jobs LEFT JOIN ${apart ? "due" : "schedule"} AS due ON due.job = jobs.number
          WHERE removed_at IS NULL AND state NOT IN ('completed', 'missed', 'paused') ORDER BY number`
      )
      .all()
  } catch {
    return []
  }
}

const nothing = { version: 0, newer: false, bytes: 0, logBytes: 0, freeBytes: 0, sessions: 0, messages: 0, jobs: [] }
const interrupted: Fault = { part: "pages", detail: "putting another database into its place was cut off" }

/** Sizes in bytes. Nothing is changed, and others may go on. */
export const examine = (file: string, index: string): Effect.Effect<Examination, CareFailed> =>
  Effect.gen(function* () {
    if (Placing.cutOff(file)) return { ...nothing, faults: [interrupted] }
    const version = yield* doing("the examination", () => using(file, { readonly: true }, Blank.versionOf))
    const blank = Blank.isKnown(version) ? new Sqlite(yield* Blank.image(version)) : null
    return yield* doing("the examination", () =>
      using(file, { readonly: true }, (db) => ({
        faults: [
          ...finding("log", logFaults(file)),
          ...finding("pages", pageFaults(db)),
          ...(blank === null
            ? []
            : finding("schema", () => SchemaParts.missing(db, blank).map(({ detail }) => detail))),
          ...finding("references", referenceFaults(db)),
          ...(version === Migrations.newest ? finding("rows", () => Spoilt.faults(db).slice(0, most)) : []),
          ...finding("index", () => SearchIndex.faults(index))
        ],
        version,
        newer: version > Migrations.newest,
        bytes: fs.statSync(file).size,
        logBytes: fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
        freeBytes: number(db, "PRAGMA freelist_count") * number(db, "PRAGMA page_size"),
        sessions: number(db, "SELECT count(*) FROM sessions"),
        messages: number(db, "SELECT count(*) FROM messages"),
        jobs: jobsOf(db)
      }))
    )
  })
