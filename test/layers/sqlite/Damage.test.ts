/** What happens to the files of a live database, and what becomes of those who use it. */
import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Exit, Layer, Logger, Random, Schema } from "effect"
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeSync } from "node:fs"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as Repair from "../../../src/layers/sqlite/repair/Repair.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { StateCorrupt, StateDiskFull, StateUnopened } from "../../../src/services/state/StateError.js"
import { scaled } from "../../scale.js"
import * as populated from "./populated.js"
import { start } from "./processes.js"
import { folder } from "./temporary.js"

const put = (key: string, value = "v") =>
  Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, ${value})`))

const write = (key: string, value = "v") => Effect.flatMap(Database, (db) => db.write("test", put(key, value)))

const keys = (file: string): ReadonlyArray<unknown> => {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db.prepare("SELECT key FROM meta ORDER BY key").pluck().all()
  } finally {
    db.close()
  }
}

/** Writes into a file as a broken disk would: no connection of this process hangs on the descriptor's locks. */
const overwrite = (file: string, at: number, bytes: Uint8Array): void => {
  const descriptor = openSync(file, "r+")
  writeSync(descriptor, bytes, 0, bytes.length, at)
  fsyncSync(descriptor)
  closeSync(descriptor)
}

const flipAt = (file: string, at: number): void =>
  overwrite(file, at, Uint8Array.of((readFileSync(file)[at] ?? 0) ^ 0x11))

const quiet = Logger.remove(Logger.defaultLogger)

describe("a live database", () => {
  it.scoped("whose file is cut says that it is damaged, and takes nothing more", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      yield* populated.make(file)
      yield* Effect.gen(function* () {
        const db = yield* Database
        yield* write("before")
        truncateSync(file, 8_192)
        const error = yield* Effect.flip(write("after"))
        assert.instanceOf(error, StateCorrupt)
        assert.include(error.message, "doctor")
        const read = yield* Effect.flip(db.read("test", (sql) => sql`SELECT sum(length(text)) FROM messages`))
        assert.instanceOf(read, StateCorrupt)
        assert.instanceOf(yield* db.wrong, StateCorrupt)
      }).pipe(Effect.provide(SqliteDatabase.layer({ file })), Effect.provide(quiet))
    })
  )

  it.scoped("whose log is cut takes nothing more: what it took, no restart would find", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      yield* Effect.gen(function* () {
        for (let i = 0; i < 20; i++) yield* write(`before-${i}`)
        truncateSync(`${file}-wal`, 0)
        assert.instanceOf(yield* Effect.flip(write("after")), StateCorrupt)
      }).pipe(Effect.provide(SqliteDatabase.layer({ file })), Effect.provide(quiet))
    })
  )

  for (const name of ["-wal", "-shm"])
    it.scoped(`whose ${name} is unlinked says that it was replaced`, () =>
      Effect.gen(function* () {
        const file = path.join(yield* folder, "home", "state.db")
        yield* Effect.gen(function* () {
          yield* write("before")
          rmSync(`${file}${name}`)
          assert.strictEqual((yield* Effect.flip(write("after")))._tag, "StateDbReplaced")
        }).pipe(Effect.provide(SqliteDatabase.layer({ file })), Effect.provide(quiet))
      })
    )

  /** The page of the newest frame, behind the header of 136 bytes: found there no more, an older one would be read. */
  it.scoped("whose log's index changes under it takes nothing more, and a restart has all that was acknowledged", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      const kept: Array<string> = []
      yield* Effect.gen(function* () {
        const refused = (yield* Database).write("test", Effect.zipRight(put("undone"), Effect.fail("refused")))
        for (let i = 0; i < 40; i++) {
          yield* write(`before-${i}`)
          kept.push(`before-${i}`)
        }
        const frames = readFileSync(`${file}-shm`).readUInt32LE(16)
        flipAt(`${file}-shm`, 136 + 4 * (frames - 1))
        // What is undone is read again, through the index.
        yield* Effect.all([Effect.exit(write("with")), Effect.exit(refused)], { concurrency: "unbounded" })
        const error = yield* Effect.flip(write("after"))
        assert.instanceOf(error, StateCorrupt)
        assert.include(error.message, "write-ahead log")
        assert.instanceOf(yield* (yield* Database).wrong, StateCorrupt)
      }).pipe(Effect.provide(SqliteDatabase.layer({ file })), Effect.provide(quiet))
      yield* Effect.scoped(Layer.build(SqliteDatabase.layer({ file })))
      assert.deepStrictEqual(keys(file), kept.toSorted())
    })
  )

  it.scoped("whose disk is full refuses what does not fit, loses nothing and goes on when there is room", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      yield* Effect.gen(function* () {
        const db = yield* Database
        const limit = (pages: number) =>
          db.write(
            "test",
            Effect.flatMap(Transaction, (sql) => sql.unsafe(`PRAGMA max_page_count = ${pages}`))
          )
        yield* limit(120)
        const exits = yield* Effect.forEach(
          Array.from({ length: 60 }, (_, index) => index),
          (index) =>
            Effect.exit(write(`big-${String(index).padStart(2, "0")}`, "x".repeat(index % 3 === 0 ? 20_000 : 10))),
          { concurrency: "unbounded" }
        )
        const failures = exits.flatMap((exit) =>
          Exit.isFailure(exit) && exit.cause._tag === "Fail" ? [exit.cause.error] : []
        )
        assert.isAbove(failures.length, 0)
        for (const error of failures) assert.instanceOf(error, StateDiskFull)
        // The small ones, which fit, were not taken along.
        assert.isAbove(exits.filter((exit, index) => index % 3 !== 0 && Exit.isSuccess(exit)).length, 30)
        yield* limit(100_000)
        yield* write("later")
        const acknowledged = exits.flatMap((exit, index) =>
          Exit.isSuccess(exit) ? [`big-${String(index).padStart(2, "0")}`] : []
        )
        const stored = yield* db.read("test", (sql) => sql<{ key: string }>`SELECT key FROM meta ORDER BY key`)
        assert.deepStrictEqual(
          stored.map(({ key }) => key),
          [...acknowledged, "later"]
        )
        assert.isNull(yield* db.wrong)
      }).pipe(Effect.provide(SqliteDatabase.layer({ file })))
    })
  )

  it.scoped("whose pages are damaged fails those who need them, and the others go on", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      yield* populated.make(file)
      const victim = yield* Effect.sync(() => {
        const db = new Sqlite(file, { readonly: true })
        // A leaf of the messages' table, from its middle.
        const pages = db
          .prepare("SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY pageno")
          .pluck()
          .all()
        db.close()
        return Number(pages[Math.floor(pages.length / 2)])
      })
      yield* Effect.gen(function* () {
        const db = yield* Database
        yield* write("before")
        overwrite(file, (victim - 1) * 4_096, new Uint8Array(4_096).fill(0xa5))
        const messages = (session: string) =>
          db.read("test", (sql) => sql`SELECT text FROM messages WHERE session_id = ${session}`)
        const reads = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => populated.sessionId(index)),
          (session) => Effect.exit(messages(session))
        )
        const failed = reads.filter(Exit.isFailure)
        assert.isAbove(failed.length, 0)
        assert.isBelow(failed.length, 20)
        for (const exit of failed) assert.isTrue(exit.cause._tag === "Fail" && exit.cause.error instanceof StateCorrupt)
        yield* write("after")
        assert.instanceOf(yield* db.wrong, StateCorrupt)
      }).pipe(Effect.provide(SqliteDatabase.layer({ file })), Effect.provide(quiet))
      // Nothing was moved over the evidence.
      assert.isAbove(statSync(`${file}-wal`).size, 32)
      const report = yield* Repair.repair(file, path.join(path.dirname(file), "kept"))
      assert.isAbove(report.unreadable, 0)
      assert.deepStrictEqual(keys(file), ["after", "before"])
    })
  )

  it.scopedLive("whose log is damaged keeps it: nothing of it goes into the file, and no commit is forgotten", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      const acknowledged: Array<string> = []
      const ack = (key: string, value = "") =>
        Effect.tap(write(key, value), () => Effect.sync(() => acknowledged.push(key)))
      yield* Effect.gen(function* () {
        const db = yield* Database
        for (let i = 0; i < 30; i++) yield* ack(`first-${i}`)
        flipAt(`${file}-wal`, 32 + 4_120 * 12 + 24 + 4_000)
        for (let i = 0; i < 400 && (yield* db.wrong) === null; i++) {
          yield* ack(`then-${i}`, "x".repeat(300_000))
          yield* Effect.sleep(5)
        }
        assert.include((yield* db.wrong)?.message ?? "", "write-ahead log")
        yield* ack("last")
      }).pipe(Effect.provide(SqliteDatabase.layer({ file })), Effect.provide(quiet))
      const refused = yield* Effect.flip(Effect.scoped(Layer.build(SqliteDatabase.layer({ file }))))
      assert.instanceOf(refused, StateUnopened)
      assert.strictEqual(refused.reason, "damaged")
      const report = yield* Repair.repair(file, path.join(path.dirname(file), "kept"))
      assert.strictEqual(report.log.corrected, 1)
      assert.deepStrictEqual(keys(file), acknowledged.toSorted())
      yield* Effect.scoped(Layer.build(SqliteDatabase.layer({ file })))
    })
  )
})

const Line = Schema.decodeUnknownSync(Schema.Struct({ key: Schema.String, ok: Schema.Boolean, told: Schema.Boolean }))

describe("bytes that flip under a process at work", () => {
  it.scopedLive(
    "in the file, the log and its index: typed errors, and after a repair every row that can still be read is there",
    () =>
      Effect.gen(function* () {
        for (let round = 0; round < scaled(60, 3); round++) {
          const target = (["", "-wal", "-shm"] as const)[round % 3] ?? ""
          const home = yield* folder
          const file = path.join(home, "home", "state.db")
          yield* populated.make(file, 10, 10)
          const child = yield* start(file, "write")
          yield* Effect.sleep(150)
          const flips = yield* Effect.replicateEffect(Random.nextIntBetween(0, 2 ** 30), 3)
          for (const at of flips) {
            const size = statSync(`${file}${target}`).size
            if (size > 0) flipAt(`${file}${target}`, at % size)
          }
          yield* Effect.sleep(150)
          yield* child.kill
          const said = child
            .lines()
            .slice(1)
            .map((line) => Line(line))
          const acknowledged = said.filter(({ ok }) => ok)
          const exit = yield* Effect.exit(Effect.scoped(Layer.build(SqliteDatabase.layer({ file }))))
          if (Exit.isFailure(exit))
            assert.isTrue(exit.cause._tag === "Fail" && exit.cause.error instanceof StateUnopened, String(exit.cause))
          const report = yield* Repair.repair(file, path.join(home, "kept"))
          const found = new Set(keys(file))
          const lost = acknowledged.filter(({ key }) => !found.has(`a-${key}`) || !found.has(`b-${key}`))
          if (lost.length > 0)
            assert.isAbove(
              report.unreadable + report.refused + report.log.doubtful + said.filter(({ told }) => told).length,
              0,
              `${target}: ${lost.length} of ${acknowledged.length} without a word`
            )
          yield* Effect.scoped(Layer.build(SqliteDatabase.layer({ file })))
        }
      }).pipe(Effect.provide(quiet)),
    600_000
  )
})
