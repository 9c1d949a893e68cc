import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, FastCheck } from "effect"
import * as fs from "node:fs"
import { copyFileSync, readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import * as WriteAheadLog from "../../../src/layers/sqlite/WriteAheadLog.js"
import { scaled } from "../../scale.js"
import { folder } from "./temporary.js"

/** A database and its log as a kill would leave them, and what was committed. */
const killed = (directory: string) => {
  const file = path.join(directory, "live.db")
  const db = new Sqlite(file)
  db.pragma("journal_mode = WAL")
  db.pragma("wal_autocheckpoint = 0")
  db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
  db.pragma("wal_checkpoint(TRUNCATE)")
  const insert = db.prepare("INSERT INTO t (text) VALUES (?)")
  for (let i = 0; i < 40; i++) insert.run(`row ${i} ${"x".repeat((i * 97) % 1_500)}`)
  const left = path.join(directory, "left.db")
  copyFileSync(file, left)
  copyFileSync(`${file}-wal`, `${left}-wal`)
  db.close()
  return { database: readFileSync(left), log: readFileSync(`${left}-wal`) }
}

/** What SQLite reads from a database with this log. */
const recovered = (directory: string, database: Uint8Array, log: Uint8Array): ReadonlyArray<unknown> => {
  const file = path.join(directory, `recovered-${recoveries++}.db`)
  writeFileSync(file, database)
  writeFileSync(`${file}-wal`, log)
  const db = new Sqlite(file)
  try {
    return db.prepare("SELECT text FROM t ORDER BY id").pluck().all()
  } finally {
    db.close()
  }
}
let recoveries = 0

const flipped = (log: Uint8Array, at: number, by: number): Uint8Array => {
  const copy = Uint8Array.from(log)
  copy[at] = (copy[at] ?? 0) ^ by
  return copy
}

describe("the write-ahead log", () => {
  it.scoped("a sound one has no damage, and mending changes nothing of it", () =>
    Effect.gen(function* () {
      const { log } = killed(yield* folder)
      const found = WriteAheadLog.scan(log)
      assert.deepInclude(found, { damaged: [], forgotten: 0, headerDamaged: false })
      assert.deepStrictEqual(Buffer.from(WriteAheadLog.mend(log).log), log)
    })
  )

  it.scoped("it is followed from where it was sound the last time, and never past what is damaged", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const { log } = killed(directory)
      const file = path.join(directory, "followed-wal")
      const followed = (bytes: Uint8Array, last: WriteAheadLog.Followed | null = null) => {
        writeFileSync(file, bytes)
        return WriteAheadLog.follow(fs, file, last)
      }
      const whole = followed(log)
      const frames = WriteAheadLog.scan(log)?.frames ?? 0
      assert.strictEqual(whole?.frames, frames)
      FastCheck.assert(
        FastCheck.property(FastCheck.nat(frames), FastCheck.nat(log.length - 1), (half, at) => {
          const first = followed(log.subarray(0, 32 + half * 4_120))
          assert.strictEqual(first?.frames, half)
          assert.deepStrictEqual(followed(log, first), whole)
          const reached = followed(flipped(log, at, 1))
          if (reached !== null) assert.isAtMost(32 + reached.frames * 4_120, at)
          // Nothing tells it apart but the sums: frames that were followed are not read again, the next are.
          const next = followed(flipped(log, at, 1), first)
          if (at >= 32 + half * 4_120 && next !== null) assert.isAtMost(32 + next.frames * 4_120, at)
        }),
        { numRuns: scaled(300) }
      )
    })
  )

  it.scoped("a frame that is met half written is followed once it is whole, and what stays damaged never", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const { log } = killed(directory)
      const file = path.join(directory, "followed-wal")
      const frames = WriteAheadLog.scan(log)?.frames ?? 0
      const end = 32 + frames * 4_120
      const followed = (now: Uint8Array, later: Uint8Array) => {
        let pauses = 0
        writeFileSync(file, now)
        const last = WriteAheadLog.follow(fs, file, null)
        const found = WriteAheadLog.followWhole(fs, file, last, WriteAheadLog.follow, () => {
          pauses += 1
          writeFileSync(file, later)
        })
        return { frames: found?.frames, pauses }
      }
      assert.deepStrictEqual(followed(log, log), { frames, pauses: 0 })
      // Cut within the last frame, and that frame with another's page in it.
      for (const half of [log.subarray(0, end - 1_000), flipped(log, end - 1_000, 1)]) {
        assert.deepStrictEqual(followed(half, log), { frames, pauses: 1 })
        assert.deepStrictEqual(followed(half, half), { frames: undefined, pauses: 2 })
      }
    })
  )

  it.scoped("a torn tail is none either: nobody was told of it", () =>
    Effect.gen(function* () {
      const { log } = killed(yield* folder)
      for (const cut of [1, 24, 4_000]) assert.strictEqual(WriteAheadLog.scan(log.subarray(0, -cut))?.forgotten, 0)
      const torn = Uint8Array.from(log)
      torn.fill(7, -2_000)
      assert.strictEqual(WriteAheadLog.scan(torn)?.forgotten, 0)
    })
  )

  it.scoped("nor are the frames of a process that died in its commit, written over by a shorter one", () =>
    Effect.gen(function* () {
      const { log } = killed(yield* folder)
      const frames = WriteAheadLog.scan(log)?.frames ?? 0
      // The last commit but one is written over the beginning of what a longer one left, whose end is still there.
      for (let last = frames - 2; last > frames - 8; last--) {
        const left = Uint8Array.from(log)
        const at = 32 + last * 4_120
        for (let byte = 0; byte < 4_120; byte += 40) left[at + byte] = (left[at + byte] ?? 0) ^ 0x3c
        left.copyWithin(at + 4_120, log.length - 4_120)
        const ended = left.subarray(0, at + 8_240)
        assert.strictEqual(WriteAheadLog.scan(ended)?.forgotten ?? 0, 0)
      }
    })
  )

  it.scoped("any byte that is flipped before the last commit is found, and mended to what was written", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const { database, log } = killed(directory)
      const whole = recovered(directory, database, log)
      assert.strictEqual(whole.length, 40)
      const frames = WriteAheadLog.scan(log)?.frames
      let [total, doubtful] = [0, 0]
      const lastFrame = log.length - 4_120
      FastCheck.assert(
        FastCheck.property(
          FastCheck.integer({ min: 0, max: lastFrame - 1 }),
          FastCheck.integer({ min: 1, max: 255 }),
          (at, by) => {
            const damaged = flipped(log, at, by)
            assert.isAbove(WriteAheadLog.scan(damaged)?.forgotten ?? 0, 0)
            // What SQLite alone makes of it: fewer rows, and no word about it.
            assert.isBelow(recovered(directory, database, damaged).length, 40)
            const mended = WriteAheadLog.mend(damaged, (page) => database.subarray((page - 1) * 4_096, page * 4_096))
            total += 1
            doubtful += mended.doubtful
            if (mended.doubtful === 0) assert.deepStrictEqual(recovered(directory, database, mended.log), whole)
            // Nobody can tell what the frame was; every commit is kept all the same.
            else assert.strictEqual(WriteAheadLog.scan(mended.log)?.frames, frames)
          }
        ),
        { numRuns: scaled(1_000, 30) }
      )
      assert.isBelow(doubtful / total, 0.3)
    })
  )

  it.scoped("of several damaged frames each is mended for itself; what cannot be is counted and kept", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const { database, log } = killed(directory)
      const frame = (number: number) => 32 + number * 4_120
      const twice = flipped(flipped(log, frame(3) + 900, 5), frame(11) + 28, 64)
      assert.deepStrictEqual(WriteAheadLog.scan(twice)?.damaged, [3, 11])
      const mended = WriteAheadLog.mend(twice)
      assert.deepStrictEqual([mended.corrected, mended.doubtful], [2, 0])
      assert.strictEqual(recovered(directory, database, mended.log).length, 40)
      const hopeless = flipped(flipped(log, frame(3) + 900, 5), frame(3) + 1_900, 5)
      assert.strictEqual(WriteAheadLog.mend(hopeless).doubtful, 1)
      assert.isAbove(recovered(directory, database, WriteAheadLog.mend(hopeless).log).length, 30)
    })
  )
})
