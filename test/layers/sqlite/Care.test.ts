import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Layer, Schema } from "effect"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import path from "node:path"
import * as Copies from "../../../src/layers/sqlite/care/Copies.js"
import * as Examination from "../../../src/layers/sqlite/care/Examination.js"
import * as Mending from "../../../src/layers/sqlite/care/Mending.js"
import * as Placing from "../../../src/layers/sqlite/care/Placing.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as SearchIndex from "../../../src/layers/sqlite/SearchIndex.js"
import * as Repair from "../../../src/layers/sqlite/repair/Repair.js"
import { JobDefinition } from "../../../src/services/schedule/Job.js"
import { Database } from "../../../src/services/state/Database.js"
import * as populated from "./populated.js"
import { start } from "./processes.js"
import { folder } from "./temporary.js"

const home = Effect.map(folder, (made) => ({ home: made, file: path.join(made, "state.db") }))

const indexOf = (file: string) => path.join(path.dirname(file), "search.db")
const examine = (file: string) => Examination.examine(file, indexOf(file))
const mend = (file: string) => Mending.mend(file, indexOf(file))

const sqlite = <A>(file: string, use: (db: Sqlite.Database) => A): A => {
  const db = new Sqlite(file)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

const defined: JobDefinition = {
  name: "spoilt",
  prompt: "x",
  skills: [],
  model: null,
  provider: null,
  baseUrl: null,
  modelSnapshot: null,
  reasoningEffort: null,
  script: null,
  noAgent: false,
  monitor: null,
  contextFrom: [],
  schedule: "every 1h",
  timezone: null,
  times: null,
  deliver: "local",
  failureDeliver: null,
  origin: null,
  createdBy: null,
  attachToSession: null,
  enabledToolsets: null,
  workdir: null
}

describe("an examination", () => {
  it.scoped("of a whole database finds nothing and says its size; beside a gateway too", () =>
    Effect.gen(function* () {
      const { file } = yield* home
      yield* populated.make(file, 5, 5)
      yield* Effect.gen(function* () {
        yield* Database
        const found = yield* examine(file)
        assert.deepStrictEqual(found.faults, [])
        assert.deepInclude(found, { sessions: 5, messages: 25, newer: false })
        assert.isAbove(found.bytes, 50_000)
      }).pipe(Effect.provide(SqliteDatabase.layer({ file })))
    })
  )

  it.scoped("names what is missing of the schema and what refers to nothing, and mending puts it right", () =>
    Effect.gen(function* () {
      const { file } = yield* home
      yield* populated.make(file, 5, 5)
      const before = populated.everything(file)
      sqlite(file, (db) => {
        db.pragma("foreign_keys = OFF")
        db.exec(`DROP INDEX sessions_parent; DROP INDEX deliveries_waiting; DROP TRIGGER turns_never_replaced; DROP TABLE home_channels;
          ALTER TABLE deliveries DROP COLUMN not_before; DELETE FROM sessions WHERE id = '${populated.sessionId(2)}'`)
      })
      const parts = (yield* examine(file)).faults.map(({ detail, part }) => `${part}: ${detail}`)
      for (const expected of [
        "sessions_parent",
        "deliveries_waiting",
        "turns_never_replaced",
        "home_channels",
        "deliveries.not_before",
        "messages refer",
        "routes belong"
      ])
        assert.isTrue(
          parts.some((line) => line.includes(expected)),
          `${expected} in ${parts.join("; ")}`
        )
      const done = yield* mend(file)
      assert.isAtLeast(done.length, 5)
      assert.deepStrictEqual((yield* examine(file)).faults, [])
      assert.deepStrictEqual(yield* mend(file), [])
      const after = populated.everything(file)
      // No message was given up: its conversation is there again.
      for (const key of before.keys()) if (key.startsWith("messages ")) assert.isTrue(after.has(key), key)
      assert.include(after.get(`sessions ${populated.sessionId(2)}`) ?? "", "recovered")
    })
  )

  it.scoped(
    "names the rows that hold no time or number and the jobs that cannot be read, and mending puts it right",
    () =>
      Effect.gen(function* () {
        const { file } = yield* home
        yield* populated.make(file, 2, 2)
        const definition = JSON.stringify(yield* Schema.encode(JobDefinition)(defined))
        sqlite(file, (db) => {
          const insert = db.prepare(
            "INSERT INTO jobs (id, name, definition, state, created_at, updated_at) VALUES (?, ?, ?, 'scheduled', 1, 1)"
          )
          const number = insert.run("aaaaaaaaaaaa", "spoilt", definition).lastInsertRowid
          db.prepare("INSERT INTO due (next_at, settled, job) VALUES (1, 0, ?)").run(number)
          db.prepare(
            "INSERT INTO occurrences (job, at, count, kind, state, attempts, finished_at) VALUES (?, 1, 1, 'on_time', 'ok', 1, 1)"
          ).run(number)
        })
        const whole = (yield* examine(file)).faults
        assert.deepStrictEqual(whole, [])
        const spoilt = {
          jobs: ["last_run_at", "created_at", "updated_at", "paused_at", "completed", "failure_streak"],
          occurrences: ["last_at", "claimed_at", "started_at", "finished_at", "attempts"],
          sessions: ["started_at", "last_activity_at", "ended_at", "message_count"],
          due: ["next_at", "settled"]
        }
        // The place a job has lost is made at a start.
        const again = "INSERT OR IGNORE INTO due SELECT 1, 0, number FROM jobs"
        for (const value of ["9.1e15", "-9223372036854775807", "'soon'"]) {
          sqlite(file, (db) => {
            db.exec(again)
            for (const [table, columns] of Object.entries(spoilt))
              db.exec(`UPDATE OR REPLACE ${table} SET ${columns.map((column) => `${column} = ${value}`).join()}`)
          })
          const { faults, jobs } = yield* examine(file)
          assert.lengthOf(jobs, 1)
          assert.isTrue(faults.every(({ part }) => part === "rows"))
          const said = faults.map(({ detail }) => detail)
          assert.include(said[0], "job aaaaaaaaaaaa cannot be read")
          assert.include(said[1], "job aaaaaaaaaaaa is due")
          for (const table of ["occurrences", "sessions"] as const)
            for (const column of spoilt[table])
              assert.isTrue(
                said.some((line) => line.startsWith(`${column} is no `) && line.includes(` in ${table} `)),
                `${table}.${column} = ${value}`
              )
          assert.include((yield* mend(file)).join(), "no time or number")
          assert.deepStrictEqual((yield* examine(file)).faults, [], value)
        }
        sqlite(file, (db) => db.exec("UPDATE jobs SET definition = '{'"))
        assert.include((yield* examine(file)).faults[0]?.detail ?? "", "job aaaaaaaaaaaa cannot be read: definition")
      })
  )

  it.scoped("finds a damaged search index, which mending takes away", () =>
    Effect.gen(function* () {
      const { file } = yield* home
      yield* populated.make(file, 2, 2)
      yield* Effect.flatMap(SearchIndex.SearchIndex, (index) => index.watermark).pipe(
        Effect.provide(SearchIndex.layer({ file: indexOf(file) }))
      )
      assert.deepStrictEqual((yield* examine(file)).faults, [])
      const half = Math.floor(statSync(indexOf(file)).size / 8_192) * 4_096
      const image = readFileSync(indexOf(file))
      writeFileSync(indexOf(file), image.fill(0x5a, half, half + 4_096))
      assert.deepStrictEqual(
        (yield* examine(file)).faults.map(({ part }) => part),
        ["index"]
      )
      assert.include((yield* mend(file)).join(), "search index")
      assert.isFalse(existsSync(indexOf(file)))
      assert.deepStrictEqual((yield* examine(file)).faults, [])
    })
  )

  it.scoped("of what is no database, or of a newer program's, says so", () =>
    Effect.gen(function* () {
      const { file } = yield* home
      writeFileSync(file, "no database at all".repeat(500))
      assert.isAbove((yield* examine(file)).faults.length, 0)
      const newer = `${file}.newer`
      yield* populated.make(newer, 1, 1)
      sqlite(newer, (db) => db.exec("INSERT INTO migrations (migration_id, name) VALUES (9999, 'later')"))
      assert.isTrue((yield* examine(newer)).newer)
    })
  )
})

describe("a backup", () => {
  it.scopedLive("is one moment of a database that is written meanwhile, and is verified", () =>
    Effect.gen(function* () {
      const { file, home: folder } = yield* home
      yield* populated.make(file, 10, 10)
      const child = yield* start(file, "write")
      yield* Effect.sleep(100)
      const to = path.join(folder, "backups", "one.db")
      const copied = yield* Copies.backup(file, to)
      yield* child.kill
      assert.deepInclude(copied, { file: to, sessions: 10, messages: 100 })
      assert.strictEqual(statSync(to).mode & 0o777, 0o600)
      // Each step of the writer is two rows or none: half a step would be no moment.
      const keys = new Set(sqlite(to, (db) => db.prepare("SELECT key FROM meta").pluck().all()).map(String))
      for (const key of keys) assert.isTrue(keys.has(`${key.startsWith("a-") ? "b" : "a"}-${key.slice(2)}`), key)
      assert.deepStrictEqual(readdirSync(path.dirname(to)), ["one.db"])
      assert.include((yield* Effect.flip(Copies.backup(file, to))).message, "there already")
    })
  )

  it.scoped("of a damaged database fails and leaves nothing", () =>
    Effect.gen(function* () {
      const { file, home: folder } = yield* home
      yield* populated.make(file, 10, 10)
      truncateSync(file, 40_960)
      const to = path.join(folder, "backups", "one.db")
      yield* Effect.flip(Copies.backup(file, to))
      assert.deepStrictEqual(readdirSync(path.dirname(to)), [])
    })
  )

  it.scoped("comes back with every row, and what was there is kept", () =>
    Effect.gen(function* () {
      const { file, home: folder } = yield* home
      yield* populated.make(file, 10, 10)
      const before = populated.everything(file)
      const to = path.join(folder, "one.db")
      yield* Copies.backup(file, to)
      sqlite(file, (db) => db.exec("DELETE FROM messages"))
      const kept = path.join(folder, "kept")
      yield* Copies.restore(file, to, kept)
      assert.deepStrictEqual(populated.everything(file), before)
      assert.strictEqual(
        sqlite(path.join(kept, "state.db"), (db) => db.prepare("SELECT count(*) FROM messages").pluck().get()),
        0
      )
      assert.isTrue(existsSync(to))
      yield* Effect.scoped(Layer.build(SqliteDatabase.layer({ file })))
    })
  )

  it.scoped("is not put back over a database that somebody has open, nor is anything else", () =>
    Effect.gen(function* () {
      const { file, home: folder } = yield* home
      yield* populated.make(file, 2, 2)
      const to = path.join(folder, "one.db")
      yield* Copies.backup(file, to)
      const restore = (from: string) => Copies.restore(file, from, path.join(folder, "kept"))
      const refused = yield* Effect.provide(Effect.flip(restore(to)), SqliteDatabase.layer({ file }))
      assert.include(refused.message, "another process")
      const before = populated.everything(file)
      const foreign = path.join(folder, "foreign.db")
      sqlite(foreign, (db) => db.exec("CREATE TABLE t (a)"))
      const cut = path.join(folder, "cut.db")
      copyFileSync(to, cut)
      truncateSync(cut, 20_480)
      const newer = path.join(folder, "newer.db")
      copyFileSync(to, newer)
      sqlite(newer, (db) => db.exec("INSERT INTO migrations (migration_id, name) VALUES (9999, 'later')"))
      for (const from of [foreign, cut, newer, path.join(folder, "missing.db")]) yield* Effect.flip(restore(from))
      assert.deepStrictEqual(populated.everything(file), before)
      assert.isFalse(existsSync(path.join(folder, "kept")))
    })
  )
})

describe("putting a file in another's place", () => {
  it.scoped("that was cut off keeps everybody out, and the next repair begins from what was there", () =>
    Effect.gen(function* () {
      const { file, home: folder } = yield* home
      yield* populated.make(file, 5, 5)
      const before = populated.everything(file)
      // As a kill between the two moves leaves it.
      const kept = path.join(folder, "kept-first")
      mkdirSync(kept)
      writeFileSync(`${file}.replacing`, kept)
      renameSync(file, path.join(kept, "state.db"))
      const refused = yield* Effect.flip(Effect.scoped(Layer.build(SqliteDatabase.layer({ file }))))
      assert.strictEqual(refused.reason, "damaged")
      assert.isFalse(existsSync(file))
      assert.isAbove((yield* examine(file)).faults.length, 0)
      yield* Repair.repair(file, path.join(folder, "kept-second"))
      assert.deepStrictEqual(populated.everything(file), before)
      assert.isFalse(Placing.cutOff(file))
    })
  )
})

describe("vacuum", () => {
  it.scoped("gives room back when nobody else has the file, and does nothing when somebody has", () =>
    Effect.gen(function* () {
      const { file } = yield* home
      yield* populated.make(file, 20, 20)
      sqlite(file, (db) => db.exec("DELETE FROM messages"))
      const size = statSync(file).size
      const held = yield* Effect.provide(Effect.zipRight(Database, Copies.vacuum(file)), SqliteDatabase.layer({ file }))
      assert.isNull(held)
      assert.strictEqual(statSync(file).size, size)
      const freed = yield* Copies.vacuum(file)
      assert.isAbove(freed ?? 0, size / 2)
      assert.deepStrictEqual((yield* examine(file)).faults, [])
    })
  )
})
