/** A database with rows of many kinds, large and small, as months of use leave them. */
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"

export const sessionId = (number: number): string => `ses_${String(number).padStart(6, "0")}`

const rows = (sessions: number, messages: number) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    for (let s = 0; s < sessions; s++) {
      const id = sessionId(s)
      yield* sql`INSERT INTO sessions (id, key, title, source, platform, chat_id, started_at, last_activity_at, message_count)
        VALUES (${id}, ${`agent:main:telegram:dm:${s}`}, ${`Title ${s}`}, 'telegram', 'telegram', ${String(s)}, ${s}, ${s}, ${messages})`
      yield* sql`INSERT INTO routes (key, session_id, updated_at) VALUES (${`agent:main:telegram:dm:${s}`}, ${id}, ${s})`
      yield* sql`INSERT INTO usage (day, session_id, provider, model, calls) VALUES ('2026-11-29', ${id}, 'offline', 'm', 1), ('2026-11-29', ${id}, 'offline', 'n', 2)`
      for (let m = 0; m < messages; m++)
        yield* sql`INSERT INTO messages (session_id, turn_id, at, role, text) VALUES
          (${id}, ${`trn_${s}_${m}`}, ${m}, ${m % 2 === 0 ? "user" : "assistant"}, ${`${s}/${m} ${"word ".repeat((s * 31 + m * 17) % 60)}${m % 11 === 5 ? "long ".repeat(2_000) : ""}`})`
      yield* sql`INSERT INTO deliveries (id, cause_kind, cause_id, platform, chat_id, part, parts, text, via, state, reply_to_person, is_cron, created_at)
        VALUES (${`dlv_${String(s).padStart(6, "0")}`}, 'turn', ${`trn_${s}`}, 'telegram', ${String(s)}, 0, 1, 'hello', 'origin', 'sent', 1, 0, ${s})`
      yield* sql`INSERT INTO tool_calls (turn_id, position, call_id, tool, state) VALUES (${`trn_${s}`}, 0, 'a', 'terminal', 'settled')`
    }
  })

/** Makes it in `file` and closes it: everything is in the database file. */
export const make = (file: string, sessions = 40, messages = 12) =>
  Effect.scoped(
    Effect.flatMap(SqliteDatabase.open({ file }), (database) => database.write("test", rows(sessions, messages)))
  )

/** As a service, for a database that stays open. */
export const fill = (sessions: number, messages: number) =>
  Effect.flatMap(Database, (database) => database.write("test", rows(sessions, messages)))

export const keyed = {
  sessions: "id",
  messages: "id",
  routes: "key",
  deliveries: "id",
  tool_calls: "turn_id || '/' || call_id",
  usage: "session_id || '/' || model"
} as const

export type Rows = ReadonlyMap<string, string>

/** Every row of the tables above, by table and key, as text. */
export const everything = (file: string): Rows => {
  const db = new Sqlite(file, { readonly: true })
  try {
    return new Map(
      Object.entries(keyed).flatMap(([table, key]) =>
        db
          .prepare<[], Record<string, unknown>>(`SELECT *, ${key} AS "the key" FROM ${table}`)
          .all()
          .map((row): [string, string] => [`${table} ${String(row["the key"])}`, JSON.stringify(row)])
      )
    )
  } finally {
    db.close()
  }
}

const lookups = {
  sessions: "id = ?",
  messages: "id = ?",
  routes: "key = ?",
  deliveries: "id = ?",
  tool_calls: "turn_id = ? AND call_id = ?",
  usage: "day = '2026-11-29' AND session_id = ? AND provider = 'offline' AND model = ?"
} as const

/** Those of `rows` that a look-up by their key still finds unchanged, one statement a row. */
export const reachable = (file: string, rows: Rows): Rows => {
  const db = new Sqlite(file, { readonly: true })
  const found = new Map<string, string>()
  try {
    for (const [name, text] of rows) {
      const [table = "", key = ""] = name.split(" ")
      if (!isTable(table)) continue
      try {
        const row = db
          .prepare<Array<string>, Record<string, unknown>>(
            `SELECT *, ${keyed[table]} AS "the key" FROM ${table} NOT INDEXED WHERE ${lookups[table]}`
          )
          .get(...(table === "tool_calls" || table === "usage" ? key.split("/") : [key]))
        if (row !== undefined && JSON.stringify(row) === text) found.set(name, text)
      } catch {
        // Not reachable.
      }
    }
  } finally {
    db.close()
  }
  return found
}

const isTable = (name: string): name is keyof typeof keyed => Object.hasOwn(keyed, name)
