import { Clock, Effect, Layer, Schema } from "effect"
import { Millis } from "../../services/operation/Instant.js"
import { Notepad, NotepadFull } from "../../services/schedule/Notepad.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const longestKey = 128
const mostValueBytes = 16 * 1024
const mostJobBytes = 64 * 1024

const many = Rows.all(Schema.Struct({ key: Schema.String, value: Schema.String, updatedAt: Millis }), "notepad")

const make = Effect.gen(function* () {
  const database = yield* Database
  return Notepad.of({
    list: Effect.fn("Notepad.list")((job) =>
      database.read("notepad.list", (sql) =>
        many(sql`SELECT key, value, updated_at AS updatedAt FROM notepad WHERE job = ${job} ORDER BY key`)
      )
    ),
    set: Effect.fn("Notepad.set")((job, key, value) =>
      Effect.gen(function* () {
        if (key.trim() === "" || key.length > longestKey)
          return yield* new NotepadFull({ key, detail: `a key has 1 to ${longestKey} characters` })
        if (Buffer.byteLength(value) > mostValueBytes)
          return yield* new NotepadFull({ key, detail: "a note holds at most 16 KiB" })
        yield* database.write(
          "notepad.set",
          Effect.gen(function* () {
            const sql = yield* Transaction
            const others =
              yield* Rows.count(sql`SELECT coalesce(sum(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))), 0) AS count
              FROM notepad WHERE job = ${job} AND key <> ${key}`)
            if (others + Buffer.byteLength(key) + Buffer.byteLength(value) > mostJobBytes)
              return yield* new NotepadFull({ key, detail: "the notes of a job hold at most 64 KiB together" })
            yield* sql`INSERT INTO notepad ${sql.insert({ job, key, value, updated_at: yield* Clock.currentTimeMillis })}
              ON CONFLICT (job, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`
          })
        )
      })
    ),
    remove: Effect.fn("Notepad.remove")((job, key) =>
      database.write(
        "notepad.remove",
        Effect.flatMap(Transaction, (sql) =>
          Effect.map(
            sql`DELETE FROM notepad WHERE job = ${job} AND key = ${key} RETURNING key`,
            (rows) => rows.length > 0
          )
        )
      )
    )
  })
})

/** Notes of jobs in SQLite. */
export const layer = Layer.effect(Notepad, make)
