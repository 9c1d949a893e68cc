import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Layer, Logger } from "effect"
import { existsSync, statSync } from "node:fs"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as JournalMode from "../../../src/layers/sqlite/JournalMode.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { start } from "./processes.js"
import { folder } from "./temporary.js"

const put = (key: string) =>
  Effect.flatMap(Database, (db) =>
    db.write(
      "test",
      Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, '')`))
    )
  )

const keys = Effect.flatMap(Database, (db) =>
  Effect.map(
    db.read("test", (sql) => sql<{ key: string }>`SELECT key FROM meta ORDER BY key`),
    (rows) => rows.map(({ key }) => key)
  )
)

const modeOf = (file: string): unknown => {
  const db = new Sqlite(file)
  try {
    return db.pragma("journal_mode", { simple: true })
  } finally {
    db.close()
  }
}

const messages: Array<string> = []
const heard = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ message }) => messages.push(String(message)))
)

describe("where a write-ahead log is safe", () => {
  it("not with a SQLite that may lose one (3.7.0 to 3.51.2, but for the mended lines)", () => {
    const unsafe = ["3.7.0", "3.44.5", "3.46.1", "3.50.6", "3.51.0", "3.51.2"]
    const safe = ["3.6.23", "3.44.6", "3.44.9", "3.50.7", "3.51.3", "3.53.2", "4.0.0"]
    assert.deepStrictEqual(
      unsafe.filter((version) => !JournalMode.hasWalResetBug(version)),
      []
    )
    assert.deepStrictEqual(safe.filter(JournalMode.hasWalResetBug), [])
  })

  it("not on a file system that other machines may share, nor where a person wants none", () => {
    const facts = { wanted: "wal", sqlite: "3.53.2", fileSystem: null } as const
    assert.isNull(JournalMode.objection(facts))
    for (const type of [0x6969, 0x01021997, 0x65735546, 0xff534d42])
      assert.include(
        JournalMode.objection({ ...facts, fileSystem: JournalMode.sharedFileSystem(type) }) ?? "",
        "other machines"
      )
    // ext4, xfs, btrfs, tmpfs, overlay
    for (const type of [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630])
      assert.isNull(JournalMode.sharedFileSystem(type))
    assert.include(JournalMode.objection({ ...facts, wanted: "delete" }) ?? "", "journal_mode")
  })
})

describe("without a write-ahead log", () => {
  const open = (file: string, journalMode: JournalMode.JournalMode = "delete") =>
    SqliteDatabase.layer({ file, journalMode })

  it.scoped("everything is stored all the same, and read back", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      yield* Effect.gen(function* () {
        yield* Effect.forEach(["a", "b", "c"], put, { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* keys, ["a", "b", "c"])
        assert.isFalse(existsSync(`${file}-wal`))
      }).pipe(Effect.provide(open(file)))
      assert.strictEqual(modeOf(file), "delete")
    })
  )

  it.scoped("one that had a log gives it up, and gets it back, with every row", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      yield* Effect.provide(put("with"), open(file, "wal"))
      yield* Effect.provide(put("without"), open(file))
      assert.strictEqual(modeOf(file), "delete")
      yield* Effect.provide(put("with again"), open(file, "wal"))
      assert.strictEqual(modeOf(file), "wal")
      assert.deepStrictEqual(yield* Effect.provide(keys, open(file)), ["with", "with again", "without"])
    })
  )

  it.scoped("a log that somebody uses is not taken away: it stays, with a warning", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      messages.length = 0
      yield* Effect.gen(function* () {
        yield* put("first")
        yield* Effect.provide(put("second"), open(file))
        assert.deepStrictEqual(yield* keys, ["first", "second"])
      }).pipe(Effect.provide(open(file, "wal")), Effect.provide(heard))
      assert.isTrue(messages.some((message) => message.includes("keeps its write-ahead log")))
      assert.strictEqual(modeOf(file), "wal")
    })
  )

  it.scopedLive("kill -9 loses no acknowledged row either", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      yield* Effect.scoped(Layer.build(open(file)))
      const child = yield* start(file, "single-delete")
      yield* Effect.sleep(300)
      yield* child.kill
      const stored = new Set(yield* Effect.provide(keys, open(file)))
      const told = child.lines().slice(1) as ReadonlyArray<{ readonly key: string; readonly ok: boolean }>
      assert.isAbove(told.length, 0)
      for (const { key, ok } of told) assert.strictEqual(stored.has(key), ok)
      assert.isAbove(statSync(file).size, 0)
    })
  )
})
