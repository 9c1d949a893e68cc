import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Fiber, TestClock } from "effect"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as LogSync from "../../../src/layers/sqlite/LogSync.js"
import * as EventLoop from "../../../src/layers/node/EventLoop.js"
import { type Commit, Database, Transaction } from "../../../src/services/state/Database.js"
import { StateUnknown } from "../../../src/services/state/StateError.js"
import { folder } from "./temporary.js"

/** A disk that takes its time: what is on the way to it stays there until it is let through. */
class Disk {
  readonly underWay: Array<(error: Error | null) => void> = []
  /** Syncs that were asked for, beside everything else and in its place. */
  begun = 0
  atOnce = 0
  closed = 0
  trouble: Error | null = null

  readonly open = (): LogSync.LogSync => ({
    begin: (done) => {
      this.begun += 1
      this.underWay.push(done)
    },
    now: () => {
      this.atOnce += 1
      return this.trouble
    },
    close: () => {
      this.closed += 1
    }
  })

  /** The oldest that is under way arrives, or does not. */
  arrive(error: Error | null = null): void {
    this.underWay.shift()?.(error)
  }
}

const put = (key: string, commit?: Commit) =>
  Effect.flatMap(Database, (db) =>
    db.write(
      "test",
      Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, '')`)),
      "ordinary",
      commit
    )
  )

const ahead = (key: string) =>
  Effect.flatMap(Database, (db) =>
    db.writeAhead(
      "test",
      Effect.flatMap(Transaction, (sql) => Effect.as(sql`INSERT INTO meta (key, value) VALUES (${key}, '')`, key))
    )
  )

/** What another process sees in the file. */
const seen = (file: string): ReadonlyArray<unknown> => {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db.prepare("SELECT key FROM meta ORDER BY key").pluck().all()
  } finally {
    db.close()
  }
}

const turns = Effect.repeatN(EventLoop.turn, 20)

/** Whether it has been told by now, whatever. */
const isTold = (fiber: Fiber.RuntimeFiber<unknown, unknown>) =>
  Effect.map(Effect.zipRight(turns, Fiber.poll(fiber)), ({ _tag }) => _tag === "Some")

const onADisk = <A, E>(
  use: (disk: Disk, file: string) => Effect.Effect<A, E, Database>,
  options: { readonly journalMode?: "wal" | "delete"; readonly lingerMillis?: number } = {}
) =>
  Effect.flatMap(folder, (made) => {
    const file = path.join(made, "home", "state.db")
    const disk = new Disk()
    return Effect.zipRight(
      Effect.provide(use(disk, file), SqliteDatabase.layer({ ...options, file, openLogSync: disk.open })),
      Effect.succeed(disk)
    )
  })

describe("a commit and the disk", () => {
  it.scoped(
    "who writes is told when it is on the disk, and not before; what comes meanwhile shares the next sync",
    () =>
      onADisk((disk, file) =>
        Effect.gen(function* () {
          const first = yield* Effect.fork(put("1"))
          yield* turns
          assert.deepStrictEqual([seen(file), disk.begun], [["1"], 1])
          const [second, third] = [yield* Effect.fork(put("2")), yield* Effect.fork(put("3"))]
          assert.deepStrictEqual(
            [yield* isTold(first), yield* isTold(second), yield* isTold(third)],
            [false, false, false]
          )
          disk.arrive()
          assert.deepStrictEqual(
            [yield* isTold(first), yield* isTold(second), yield* isTold(third)],
            [true, false, false]
          )
          assert.deepStrictEqual([seen(file), disk.begun], [["1", "2", "3"], 2])
          disk.arrive()
          yield* Fiber.join(Fiber.zip(second, third))
          assert.strictEqual(disk.underWay.length, 0)
        })
      )
  )

  it.scoped("who writes ahead can go on when it is committed, and hears when it is on the disk", () =>
    onADisk((disk, file) =>
      Effect.gen(function* () {
        const { kept, value } = yield* ahead("1")
        assert.deepStrictEqual([seen(file), value, disk.begun], [["1"], "1", 1])
        const [first, second] = [yield* Effect.fork(kept), yield* Effect.fork(kept)]
        assert.deepStrictEqual([yield* isTold(first), yield* isTold(second)], [false, false])
        disk.arrive()
        yield* Fiber.join(Fiber.zip(first, second))
        yield* kept

        const lost = yield* ahead("2")
        disk.arrive(new Error("no disk"))
        assert.instanceOf(yield* Effect.flip(lost.kept), StateUnknown)
        assert.instanceOf(yield* Effect.flip(ahead("3")), StateUnknown)
        assert.deepStrictEqual(seen(file), ["1", "2"])
      })
    )
  )

  it.scoped("what is committed is not taken back by an interruption: who asked goes when it is known to last", () =>
    onADisk((disk, file) =>
      Effect.gen(function* () {
        const writing = yield* Effect.fork(put("1"))
        yield* turns
        assert.deepStrictEqual(seen(file), ["1"])
        const interrupted = yield* Effect.fork(Fiber.interrupt(writing))
        assert.isFalse(yield* isTold(interrupted))
        disk.arrive()
        assert.isTrue(yield* isTold(interrupted))
      })
    )
  )

  it.scoped("a soft one is told at once, but not where another of its commit is to be on the disk", () =>
    onADisk((disk) =>
      Effect.gen(function* () {
        yield* put("soft", "soft")
        assert.strictEqual(disk.begun, 0)
        const [soft, hard] = [yield* Effect.fork(put("with another", "soft")), yield* Effect.fork(put("the other"))]
        assert.deepStrictEqual([yield* isTold(soft), yield* isTold(hard)], [false, false])
        disk.arrive()
        yield* Fiber.join(Fiber.zip(soft, hard))
      })
    )
  )

  it.scoped("a crowd goes to the disk while everything else waits", () =>
    onADisk((disk) =>
      Effect.gen(function* () {
        const keys = (count: number) => Array.from({ length: count }, (_, index) => `${count}-${index}`)
        yield* Effect.forEach(keys(16), (key) => put(key), { concurrency: "unbounded", discard: true })
        assert.deepStrictEqual([disk.begun, disk.atOnce], [0, 1])
        disk.trouble = new Error("EIO")
        const errors = yield* Effect.forEach(keys(20), (key) => Effect.flip(put(key)), { concurrency: "unbounded" })
        assert.isTrue(errors.every((error) => error instanceof StateUnknown))
        assert.instanceOf(yield* Effect.flip(put("later")), StateUnknown)
        assert.deepStrictEqual([disk.begun, disk.atOnce], [0, 2])
      })
    )
  )

  it.scoped("without a log each commit is on the disk when it is made", () =>
    onADisk(
      (disk) =>
        Effect.gen(function* () {
          yield* put("1")
          yield* put("2", "soft")
          const level = yield* Effect.flatMap(Database, (db) =>
            db.write(
              "test",
              Effect.flatMap(Transaction, (sql) => sql.unsafe("PRAGMA synchronous").values)
            )
          )
          assert.deepStrictEqual([level, disk.begun], [[[2]], 0])
        }),
      { journalMode: "delete" }
    )
  )

  it.scoped("what the disk did not take is told so, and nothing is ever built upon it", () =>
    onADisk((disk, file) =>
      Effect.gen(function* () {
        const lost = yield* Effect.fork(put("lost"))
        yield* turns
        const waiting = yield* Effect.fork(put("waiting"))
        yield* turns
        disk.arrive(new Error("EIO: i/o error, fdatasync"))
        for (const fiber of [
          lost,
          waiting,
          yield* Effect.fork(put("later")),
          yield* Effect.fork(put("soft", "soft"))
        ]) {
          const error = yield* Effect.flip(Fiber.join(fiber))
          assert.instanceOf(error, StateUnknown)
          assert.include(
            error.message,
            "EIO: i/o error, fdatasync; nothing more is written until the gateway is started"
          )
        }
        // It may be there or not, which is what was said; of the others nothing is.
        assert.deepStrictEqual([seen(file), disk.begun], [["lost"], 1])
      })
    )
  )

  it.scoped("at the end what is under way is taken to the disk, and so is what still waits", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const telling = (key: string) =>
        Effect.forkDaemon(
          Effect.match(put(key), {
            onSuccess: () => told.push(key),
            onFailure: ({ message }) => told.push(message)
          })
        )
      let name = ""
      const disk = yield* onADisk((there, file) =>
        Effect.gen(function* () {
          name = file
          yield* telling("under way")
          yield* turns
          yield* telling("waiting")
          yield* turns
          assert.deepStrictEqual([there.begun, told], [1, []])
        })
      )
      yield* turns
      assert.deepStrictEqual([disk.begun, disk.atOnce, disk.closed], [1, 1, 1])
      assert.deepStrictEqual(told, ["under way", "waiting"])
      assert.deepStrictEqual(seen(name), ["under way", "waiting"])
      // A late word of the disk changes nothing.
      disk.arrive(new Error("late"))
    })
  )
})

describe("a write that may wait for company", () => {
  it.scoped("shares the next one's commit, or has its own when its time is over", () =>
    onADisk(
      (disk, file) =>
        Effect.gen(function* () {
          const soon = yield* Effect.fork(put("soon", "soon"))
          yield* turns
          assert.deepStrictEqual([seen(file), disk.begun], [[], 0])
          const now = yield* Effect.fork(put("now"))
          yield* turns
          assert.deepStrictEqual([seen(file), disk.begun], [["now", "soon"], 1])
          disk.arrive()
          yield* Fiber.join(Fiber.zip(soon, now))
          yield* TestClock.adjust(5)
          const alone = yield* Effect.fork(put("soon, alone", "soon"))
          yield* turns
          yield* TestClock.adjust(4)
          yield* turns
          assert.strictEqual(disk.begun, 1)
          yield* TestClock.adjust(1)
          yield* turns
          assert.strictEqual(disk.begun, 2)
          disk.arrive()
          yield* Fiber.join(alone)
        }),
      { lingerMillis: 5 }
    )
  )

  it.scoped("does not wait where nothing is said of how long", () =>
    onADisk((disk) =>
      Effect.gen(function* () {
        const soon = yield* Effect.fork(put("soon", "soon"))
        yield* turns
        assert.strictEqual(disk.begun, 1)
        disk.arrive()
        yield* Fiber.join(soon)
      })
    )
  )
})

describe("the system's own way to the disk", () => {
  it.scoped("says what went wrong", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const db = new Sqlite(path.join(made, "state.db"))
      db.pragma("journal_mode = WAL")
      db.exec("CREATE TABLE t (a)")
      const log = LogSync.open(path.join(made, "state.db"))
      const ask = Effect.async<Error | null>((resume) => log.begin((error) => resume(Effect.succeed(error))))
      assert.deepStrictEqual([yield* ask, log.now()], [null, null])
      log.close()
      assert.match(String(yield* ask), /EBADF/)
      assert.match(String(log.now()), /EBADF/)
      db.close()
    })
  )
})
