/** Several processes on one database, one of which stands still; files that may not be written any more; a full disk. */
import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { chmodSync, chownSync, mkdirSync } from "node:fs"
import path from "node:path"
import process from "node:process"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { StateLocked } from "../../../src/services/state/StateError.js"
import { scaled } from "../../scale.js"
import { type Child, start } from "./processes.js"
import { folder } from "./temporary.js"

const Line = Schema.decodeUnknownSync(
  Schema.Struct({ key: Schema.String, ok: Schema.Boolean, error: Schema.optional(Schema.NullOr(Schema.String)) })
)
const answers = (child: Child) =>
  child
    .lines()
    .slice(1)
    .map((line) => Line(line))

const look = <A>(file: string, use: (db: Sqlite.Database) => A): A => {
  const db = new Sqlite(file, { readonly: true })
  try {
    return use(db)
  } finally {
    db.close()
  }
}

const storedKeys = (file: string) => new Set(look(file, (db) => db.prepare("SELECT key FROM meta").pluck().all()))

const until = (done: () => boolean, millis = 20_000) =>
  Effect.gen(function* () {
    for (let waited = 0; waited < millis && !done(); waited += 20) yield* Effect.sleep(20)
    assert.isTrue(done())
  })

const put = (key: string) =>
  Effect.flatMap(Database, (db) =>
    db.write(
      "test",
      Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, '')`))
    )
  )

describe("two processes that write at once", () => {
  it.scopedLive(
    "one stopped in the middle takes nothing from the other, and goes on where it was",
    () =>
      Effect.gen(function* () {
        const file = path.join(yield* folder, "home", "state.db")
        const seconds = scaled(30, 3)
        yield* Effect.gen(function* () {
          const child = yield* start(file, "write")
          yield* until(() => answers(child).length > 50)
          child.process.kill("SIGSTOP")
          const before = answers(child).length
          let ours = 0
          let locked = 0
          const began = Date.now()
          for (; Date.now() - began < seconds * 1_000;) {
            const exit = yield* Effect.exit(put(`ours-${ours}`))
            if (exit._tag === "Success") ours += 1
            else {
              // Stopped inside of its commit it keeps the lock: whoever waits is told so, and nothing was written.
              assert.isTrue(exit.cause._tag === "Fail" && exit.cause.error instanceof StateLocked)
              locked += 1
            }
            yield* Effect.sleep(2)
          }
          child.process.kill("SIGCONT")
          yield* until(() => answers(child).length > before + 50)
          yield* put("after")
          yield* child.kill
          assert.isTrue(ours > 10 || locked > 0)
          const stored = storedKeys(file)
          for (let i = 0; i < ours; i++) assert.isTrue(stored.has(`ours-${i}`))
          for (const { key, ok } of answers(child)) assert.strictEqual(stored.has(`a-${key}`), ok, key)
          assert.strictEqual(
            look(file, (db) => db.pragma("integrity_check", { simple: true })),
            "ok"
          )
        }).pipe(Effect.provide(SqliteDatabase.layer({ file })))
      }),
    180_000
  )
})

const asRoot = process.getuid?.() === 0
/** Somebody who may not do what root may: nobody. */
const nobody = 65_534

describe.runIf(asRoot)("files that may not be written any more", () => {
  it.scopedLive("a running process keeps what it was told is stored, and says what is wrong", () =>
    Effect.gen(function* () {
      const made = yield* folder
      chmodSync(made, 0o755)
      const home = path.join(made, "home")
      mkdirSync(home)
      chownSync(home, nobody, nobody)
      const file = path.join(home, "state.db")
      const child = yield* start(file, "single", { uid: nobody })
      yield* until(() => answers(child).filter(({ ok }) => ok).length > 20)
      for (const name of ["", "-wal", "-shm"]) chmodSync(`${file}${name}`, 0o400)
      chmodSync(home, 0o500)
      yield* Effect.sleep(300)
      yield* child.kill
      for (const { error, ok } of answers(child)) if (!ok) assert.match(error ?? "", /StateReadOnly|StateUnknown/)
      const stored = storedKeys(file)
      for (const { key, ok } of answers(child)) if (ok) assert.isTrue(stored.has(key), key)
      // Who comes now is told at the first write.
      const second = yield* start(file, "single", { uid: nobody })
      yield* until(() => second.lines().length > 1)
      assert.match(JSON.stringify(second.lines()), /StateReadOnly|cannot be opened/)
    })
  )
})

/** A disk of its own that is small, where this machine lets us have one. */
const smallDisk = Effect.acquireRelease(
  Effect.gen(function* () {
    const at = yield* folder
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", at], { stdio: "ignore" })
      return at
    } catch {
      return null
    }
  }),
  (at) => Effect.sync(() => at !== null && execFileSync("umount", ["-l", at]))
)

describe("a disk that is full", () => {
  it.scopedLive("refuses what does not fit, keeps the rest, and takes more when there is room", (context) =>
    Effect.gen(function* () {
      const at = yield* smallDisk
      if (at === null) return context.skip("no small disk can be mounted here")
      const file = path.join(at, "home", "state.db")
      yield* Effect.gen(function* () {
        const db = yield* Database
        const big = (key: string) =>
          db.write(
            "test",
            Effect.flatMap(
              Transaction,
              (sql) => sql`INSERT INTO meta (key, value) VALUES (${key}, ${"x".repeat(60_000)})`
            )
          )
        const acknowledged: Array<string> = []
        let refused = 0
        for (let i = 0; i < 80 && refused < 3; i++) {
          const exit = yield* Effect.exit(big(`big-${i}`))
          if (exit._tag === "Success") acknowledged.push(`big-${i}`)
          else {
            assert.isTrue(exit.cause._tag === "Fail" && exit.cause.error._tag === "StateDiskFull", String(exit.cause))
            refused += 1
          }
        }
        assert.strictEqual(refused, 3)
        execFileSync("mount", ["-o", "remount,size=30m", at])
        yield* big("later")
        const rows = yield* db.read("test", (sql) => sql<{ key: string }>`SELECT key FROM meta`)
        assert.deepStrictEqual(rows.map(({ key }) => key).toSorted(), [...acknowledged, "later"].toSorted())
      }).pipe(Effect.provide(SqliteDatabase.layer({ file })))
      assert.strictEqual(
        look(file, (db) => db.pragma("integrity_check", { simple: true })),
        "ok"
      )
    })
  )
})
