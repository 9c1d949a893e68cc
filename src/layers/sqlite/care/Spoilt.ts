/** Rows of which this program can make nothing: somebody wrote them by hand. They are left out wherever they are listed. */
import type Sqlite from "better-sqlite3"
import { farthest } from "../../../services/operation/Instant.js"
import * as Due from "../Due.js"
import * as JobRows from "../JobRows.js"

interface Columns {
  readonly table: string
  /** A row's name is in this column. */
  readonly name: string
  readonly times: ReadonlyArray<string>
  readonly counts: ReadonlyArray<string>
}

/** What is shown to people and cannot be worked with unless it is a time or a number. */
const tables: ReadonlyArray<Columns> = [
  {
    table: "jobs",
    name: "id",
    times: ["last_run_at", "created_at", "updated_at", "paused_at"],
    counts: ["completed", "failure_streak"]
  },
  {
    table: "occurrences",
    name: "id",
    times: ["last_at", "claimed_at", "started_at", "finished_at"],
    counts: ["attempts"]
  },
  { table: "sessions", name: "id", times: ["started_at", "last_activity_at", "ended_at"], counts: ["message_count"] },
  { table: "deliveries", name: "id", times: ["created_at", "settled_at", "not_before"], counts: ["attempts"] }
]

const noTime = (column: string): string =>
  `(${column} IS NOT NULL AND (typeof(${column}) NOT IN ('integer', 'real') OR abs(${column} * 1.0) > ${farthest}))`
const noCount = (column: string): string =>
  `(${column} IS NOT NULL AND (typeof(${column}) <> 'integer' OR abs(${column} * 1.0) > ${Number.MAX_SAFE_INTEGER}))`

/** Rows of one column that are named at most. */
const named = 5

const spoiltOf = (db: Sqlite.Database): ReadonlyArray<string> =>
  // Of jobs their own Schema says more.
  tables.slice(1).flatMap(({ counts, name, table, times }) =>
    [
      ...times.map((column) => ({ column, wrong: noTime(column), what: "no time" })),
      ...counts.map((column) => ({ column, wrong: noCount(column), what: "no number" }))
    ].flatMap(({ column, what, wrong }) => {
      const ids = db
        .prepare(`SELECT ${name} FROM ${table} WHERE ${wrong} LIMIT ${named + 1}`)
        .pluck()
        .all()
        .map(String)
      const rows = [...ids.slice(0, named), ...(ids.length > named ? ["…"] : [])]
      return rows.length === 0 ? [] : [`${column} is ${what} in ${table} ${rows.join(", ")}`]
    })
  )

const misplacedOf = (db: Sqlite.Database): ReadonlyArray<string> =>
  db
    .prepare(
      `SELECT DISTINCT coalesce(jobs.id, due.job) FROM due LEFT JOIN jobs ON jobs.number = due.job
        WHERE NOT (${Due.isPlace("due")}) LIMIT ${named}`
    )
    .pluck()
    .all()
    .map((id) => `it is not known when job ${String(id)} is due: what stands there is no time`)

const unreadableOf = (db: Sqlite.Database): ReadonlyArray<string> =>
  db
    .prepare<[], { readonly id: unknown }>(JobRows.selectAll)
    .all()
    .flatMap((row) => {
      const problem = JobRows.problemOf(row)
      return problem === null ? [] : [`job ${String(row.id)} cannot be read: ${problem}`]
    })

/** A line for each kind, with the names of the rows; of a database of this program's own version. */
export const faults = (db: Sqlite.Database): ReadonlyArray<string> => [
  ...unreadableOf(db),
  ...misplacedOf(db),
  ...spoiltOf(db)
]

/**
 * Takes away what is no time and no number, and answers how many values that were. A time that has to be there is `now`;
 * who has no place among what is due gets one at the next start.
 */
export const mend = (db: Sqlite.Database, now: number): number => {
  let mended = db.prepare(`DELETE FROM due WHERE NOT (${Due.isPlace("due")})`).run().changes
  for (const { counts, table, times } of tables) {
    const isNeeded = new Set(
      db.prepare<[string], string>(`SELECT name FROM pragma_table_info(?) WHERE "notnull"`).pluck().all(table)
    )
    for (const column of times)
      mended += db
        .prepare(`UPDATE ${table} SET ${column} = ? WHERE ${noTime(column)}`)
        .run(isNeeded.has(column) ? now : null).changes
    for (const column of counts)
      mended += db.prepare(`UPDATE ${table} SET ${column} = 0 WHERE ${noCount(column)}`).run().changes
  }
  return mended
}
