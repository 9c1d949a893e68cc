import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Exit, Fiber, Layer, Logger, Schema, type Scope, TestClock } from "effect"
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { StateLocked, StateUnopened } from "../../../src/services/state/StateError.js"
import { scaled } from "../../scale.js"
import { start } from "./processes.js"
import { folder } from "./temporary.js"

const open = (file: string) => Layer.build(SqliteDatabase.layer({ file }))

const put = (key: string, value = "v") =>
  Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, ${value})`))

const withDatabase = <A, E, R>(use: (file: string, home: string) => Effect.Effect<A, E, R | Database>) =>
  Effect.flatMap(folder, (made) => {
    const file = path.join(made, "home", "state.db")
    return Effect.provide(use(file, path.join(made, "home")), SqliteDatabase.layer({ file }))
  })

const mode = (file: string) => (statSync(file).mode & 0o777).toString(8)

/** Another connection of this process, as another process would have it: it takes no part in our queue. */
const outsider = (file: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new Sqlite(file, { timeout: 0 })),
    (db) => Effect.sync(() => db.close())
  )

describe("the file", () => {
  it.scoped("home 0700, database and sidecars 0600", () =>
    withDatabase((file, home) =>
      Effect.gen(function* () {
        yield* Effect.flatMap(Database, (db) => db.write("test", put("mode")))
        assert.deepStrictEqual([home, file, `${file}-wal`, `${file}-shm`].map(mode), ["700", "600", "600", "600"])
      })
    )
  )

  it.scoped("what was open to others is closed to them, a symbolic link is left alone", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const file = path.join(made, "home", "state.db")
      yield* Effect.scoped(open(file))
      chmodSync(path.dirname(file), 0o755)
      chmodSync(file, 0o644)
      const other = path.join(made, "other")
      writeFileSync(other, "", { mode: 0o644 })
      symlinkSync(other, `${file}-journal`)
      yield* Effect.scoped(open(file))
      assert.deepStrictEqual([path.dirname(file), file, other].map(mode), ["700", "600", "644"])
      assert.isTrue(lstatSync(`${file}-journal`).isSymbolicLink())
    })
  )

  it.scoped("a folder that is shared on purpose keeps its mode", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const shared = path.join(made, "shared")
      mkdirSync(shared)
      chmodSync(shared, 0o1777)
      yield* Effect.scoped(open(path.join(shared, "state.db")))
      assert.strictEqual((statSync(shared).mode & 0o7777).toString(8), "1777")
    })
  )

  it.scoped("a log with syncs of our own, foreign keys, a SQLite without the WAL-reset bug", () =>
    withDatabase(() =>
      Effect.gen(function* () {
        const db = yield* Database
        const pragma = (name: string) =>
          db.write(
            "test",
            Effect.flatMap(Transaction, (sql) =>
              Effect.map(sql.unsafe(`PRAGMA ${name}`).values, (rows) => rows[0]?.[0])
            )
          )
        assert.deepStrictEqual(
          yield* Effect.all({
            journal: pragma("journal_mode"),
            synchronous: pragma("synchronous"),
            keys: pragma("foreign_keys"),
            auto: pragma("wal_autocheckpoint"),
            busy: pragma("busy_timeout")
          }),
          { journal: "wal", synchronous: 1, keys: 1, auto: 0, busy: 0 }
        )
        const Version = Schema.decodeUnknownSync(Schema.Struct({ v: Schema.String }))
        const [row] = yield* db.read("test", (sql) => sql`SELECT sqlite_version() AS v`)
        const [major = 0, minor = 0, patch = 0] = Version(row).v.split(".").map(Number)
        assert.isAtLeast(major * 1e6 + minor * 1e3 + patch, 3_051_003)
      })
    )
  )

  it.scoped("the reader cannot write", () =>
    withDatabase(() =>
      Effect.gen(function* () {
        const db = yield* Database
        const error = yield* Effect.flip(db.read("test", (sql) => sql`INSERT INTO meta (key, value) VALUES ('a', 'b')`))
        assert.strictEqual(error._tag, "StateReadOnly")
      })
    )
  )
})

const reasonOf = (exit: Exit.Exit<unknown, StateUnopened>) =>
  Exit.isFailure(exit) && exit.cause._tag === "Fail" ? exit.cause.error.reason : String(exit)

describe("opening", () => {
  it.scoped("a database of a newer program is refused and not touched", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      yield* Effect.scoped(open(file))
      const db = yield* outsider(file)
      db.prepare("INSERT INTO migrations (migration_id, name) VALUES (9999, 'from_the_future')").run()
      const exit = yield* Effect.exit(Effect.scoped(open(file)))
      assert.strictEqual(reasonOf(exit), "newer")
      assert.include(String(exit), "9999")
      const looking = yield* Effect.exit(Effect.scoped(Layer.build(SqliteDatabase.layerReadOnly({ file }))))
      assert.strictEqual(reasonOf(looking), "newer")
    })
  )

  it.scoped("what is no database, or cannot be read, is a typed error that says so", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const garbage = path.join(made, "garbage.db")
      writeFileSync(garbage, "x".repeat(8_192))
      assert.strictEqual(reasonOf(yield* Effect.exit(Effect.scoped(open(garbage)))), "damaged")
      assert.strictEqual(statSync(garbage).size, 8_192)

      const directory = path.join(made, "directory.db")
      mkdirSync(directory)
      assert.strictEqual(reasonOf(yield* Effect.exit(Effect.scoped(open(directory)))), "unreadable")

      writeFileSync(path.join(made, "file"), "")
      const below = yield* Effect.exit(Effect.scoped(open(path.join(made, "file", "state.db"))))
      assert.strictEqual(reasonOf(below), "unreadable")
    })
  )

  it.scopedLive("two that open a new file at once make one schema", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      const [one, other] = yield* Effect.all([start(file, "open"), start(file, "open")], { concurrency: 2 })
      assert.deepStrictEqual([one.lines(), other.lines()], [["ready"], ["ready"]])
      yield* Effect.scoped(open(file))
    })
  )
})

/** Until `done`, one after the other: the test clock, and the event loop, on which the writer waits. */
const passTime = (step: number, done: () => boolean) =>
  Effect.gen(function* () {
    for (let i = 0; i < 2_000 && !done(); i++) {
      yield* TestClock.adjust(step)
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    }
  })

describe("another process holds the file", () => {
  const held = <A, E>(use: (release: Effect.Effect<void>) => Effect.Effect<A, E, Database | Scope.Scope>) =>
    withDatabase((file) =>
      Effect.gen(function* () {
        yield* Effect.flatMap(Database, (db) => db.write("test", put("before")))
        const other = yield* outsider(file)
        other.exec("BEGIN IMMEDIATE")
        return yield* use(Effect.sync(() => other.exec("ROLLBACK")))
      })
    )

  for (const [patience, millis] of [
    ["stamp", 500],
    ["ordinary", 20_000],
    ["transcript", 60_000]
  ] as const)
    it.scoped(`a ${patience} write waits ${millis} ms, then says that nothing was written`, () =>
      held(() =>
        Effect.gen(function* () {
          const db = yield* Database
          let exit: Exit.Exit<void, unknown> | null = null
          const fiber = yield* Effect.fork(
            Effect.onExit(db.write("test", put("held"), patience), (found) => Effect.sync(() => (exit = found)))
          )
          yield* passTime(millis / 4 - 1, () => exit !== null)
          const error = yield* Effect.flip(Fiber.join(fiber))
          assert.instanceOf(error, StateLocked)
          assert.isAtLeast(error.waitedMillis, millis)
          assert.isAtMost(error.waitedMillis, millis + 250)
          assert.deepStrictEqual(yield* db.read("test", (sql) => sql`SELECT key FROM meta`), [{ key: "before" }])
        })
      )
    )

  it.scoped("a short wait loses only the impatient, and what was withdrawn is never written", () =>
    held((release) =>
      Effect.gen(function* () {
        const db = yield* Database
        let left = 3
        const settled = (key: string, patience: "ordinary" | "stamp") =>
          Effect.fork(
            Effect.ensuring(
              db.write("test", put(key), patience),
              Effect.sync(() => (left -= 1))
            )
          )
        const patient = yield* settled("patient", "ordinary")
        const impatient = yield* settled("impatient", "stamp")
        const withdrawn = yield* settled("withdrawn", "ordinary")
        yield* passTime(100, () => left < 3)
        assert.instanceOf(yield* Effect.flip(Fiber.join(impatient)), StateLocked)
        yield* Fiber.interrupt(withdrawn)
        yield* release
        yield* passTime(100, () => left === 0)
        yield* Fiber.join(patient)
        assert.deepStrictEqual(yield* db.read("test", (sql) => sql`SELECT key FROM meta ORDER BY key`), [
          { key: "before" },
          { key: "patient" }
        ])
      })
    )
  )

  it.scoped("reads go on beside it", () =>
    held(() =>
      Effect.gen(function* () {
        const db = yield* Database
        assert.strictEqual((yield* db.read("test", (sql) => sql`SELECT key FROM meta`)).length, 1)
      })
    )
  )

  it.scopedLive("a process that writes at the same time shares the file, and nobody's row is lost", () =>
    withDatabase((file) =>
      Effect.gen(function* () {
        const db = yield* Database
        const child = yield* start(file, "write")
        let wanted = 0
        // Both come to write: a process that never pauses would be fair to nobody.
        for (; wanted < 1_000 && (wanted < 50 || child.lines().length < 2); wanted++)
          yield* Effect.zipRight(db.write("test", put(`ours-${wanted}`)), Effect.sleep(5))
        yield* child.kill
        const acknowledged = child.lines().length - 1
        const rows = yield* db.read("test", (sql) => sql`SELECT count(*) AS n FROM meta WHERE key LIKE 'ours-%'`)
        assert.deepStrictEqual(rows, [{ n: wanted }])
        assert.isAbove(acknowledged, 0)
      })
    )
  )
})

describe("the file is replaced under the open database", () => {
  for (const [what, replace] of [
    [
      "by a copy",
      (file: string) => {
        copyFileSync(file, `${file}.copy`)
        renameSync(`${file}.copy`, file)
      }
    ],
    ["by nothing", (file: string) => renameSync(file, `${file}.away`)],
    ["in its log", (file: string) => renameSync(`${file}-wal`, `${file}-wal.away`)]
  ] as const)
    it.scoped(`${what}: it is never written again, and says so`, () =>
      withDatabase((file) =>
        Effect.gen(function* () {
          const db = yield* Database
          yield* db.write("test", put("before"))
          replace(file)
          const error = yield* Effect.flip(db.write("test", put("after")))
          assert.strictEqual(error._tag, "StateDbReplaced")
          assert.include(error.message, "restart")
          if (what === "by nothing") renameSync(`${file}.away`, file)
          assert.strictEqual((yield* Effect.flip(db.write("test", put("later"))))._tag, "StateDbReplaced")
        })
      )
    )
})

describe("kill -9", () => {
  const Line = Schema.decodeUnknownSync(Schema.Struct({ key: Schema.String, ok: Schema.Boolean }))
  // Each round starts a process: a share of the full count would take longer than all other tests of the state.
  const rounds = scaled(300) === 300 ? 300 : 6

  it.scopedLive(
    "every acknowledged row is there, whole; what was refused is not; the next start takes less than a second",
    () =>
      Effect.gen(function* () {
        const made = yield* folder
        let acknowledged = 0
        const starts: Array<number> = []
        for (let round = 0; round < rounds; round++) {
          // Some kills on one file, whose log goes on from what each of them left; not all, or reading it takes longest.
          const file = path.join(made, `home-${Math.floor(round / 10)}`, "state.db")
          const child = yield* start(file, "write")
          yield* Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 20 + ((round * 137) % 400))))
          yield* child.kill
          const answers = child
            .lines()
            .slice(1)
            .map((line) => Line(line))
          const began = performance.now()
          yield* Effect.gen(function* () {
            const database = yield* Database
            const rows = yield* database.read("test", (sql) => sql<{ key: string }>`SELECT key FROM meta`)
            starts.push(performance.now() - began)
            const keys = new Set(rows.map(({ key }) => key))
            for (const { key, ok } of answers) {
              assert.strictEqual(keys.has(`a-${key}`), ok, key)
              assert.strictEqual(keys.has(`b-${key}`), ok, key)
            }
            for (const key of keys)
              if (key.startsWith("a-")) assert.isTrue(keys.has(`b-${key.slice(2)}`), `${key} is half a step`)
          }).pipe(Effect.provide(SqliteDatabase.layer({ file })))
          const db = yield* outsider(file)
          assert.strictEqual(db.pragma("integrity_check", { simple: true }), "ok")
          acknowledged += answers.length
        }
        assert.isAbove(acknowledged, 0)
        // The least: what else the machine does is no part of a start.
        assert.isBelow(Math.min(...starts), 1_000)
      }),
    2_400_000
  )
})

describe("checkpoints", () => {
  const body = "x".repeat(400_000)
  const fill = (count: number) =>
    Effect.flatMap(Database, (db) =>
      Effect.forEach(
        Array.from({ length: count }, (_, index) => index),
        (index) => db.write("test", put(`big-${index}`, body)),
        { discard: true, concurrency: 2 }
      )
    )

  it.scopedLive(
    "the log stays within its bound and ends up in the database",
    () =>
      withDatabase((file) =>
        Effect.gen(function* () {
          yield* fill(240)
          assert.isBelow(statSync(`${file}-wal`).size / 2 ** 20, 75)
          assert.isAbove(statSync(file).size / 2 ** 20, 40)
        })
      ),
    120_000
  )

  it.scopedLive(
    "a reader that stays in the past stops no writer",
    () =>
      withDatabase((file) =>
        Effect.gen(function* () {
          const db = yield* Database
          yield* db.write("test", put("first"))
          const reader = yield* outsider(file)
          reader.exec("BEGIN")
          reader.prepare("SELECT count(*) FROM meta").get()
          yield* fill(140)
          reader.exec("COMMIT")
          assert.deepStrictEqual(yield* db.read("test", (sql) => sql`SELECT count(*) AS n FROM meta`), [{ n: 141 }])
        })
      ).pipe(Effect.provide(Logger.remove(Logger.defaultLogger))),
    120_000
  )
})
