/** The thread of a database file: what it is given up for, and that nobody waits for one that hangs. */
import { assert, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Fiber, TestClock, TestServices } from "effect"
import path from "node:path"
import { describe } from "vitest"
import * as ConnectionThread from "../../../src/layers/sqlite/ConnectionThread.js"
import { folder } from "./temporary.js"

/** A second and more of work that no message can end: a thread in it is as one that hangs. */
const endless = `INSERT INTO counted SELECT max(x) FROM
  (WITH RECURSIVE numbers (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM numbers LIMIT 5000000) SELECT x FROM numbers)`
const short = "INSERT INTO counted VALUES (1)"

const isHeld = (database: Sqlite.Database): boolean => {
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK")
    return false
  } catch {
    return true
  }
}

describe("the database's thread", () => {
  it.scoped("is given up when it hangs, without a wait for its end, and the next request has another", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "state.db")
      const other = yield* Effect.acquireRelease(
        Effect.sync(() => new Sqlite(file, { timeout: 0 })),
        (database) => Effect.sync(() => database.close())
      )
      other.exec("PRAGMA journal_mode = WAL; CREATE TABLE counted (x)")
      const thread = yield* ConnectionThread.make(file, "NORMAL")
      assert.strictEqual(yield* thread.transaction([[short]]), 1)

      const hanging = yield* Effect.fork(Effect.flip(thread.transaction([[endless]])))
      yield* Effect.repeat(TestServices.provideLive(Effect.sleep("5 millis")), { until: () => isHeld(other) })
      yield* TestClock.adjust("31 seconds")
      const error = yield* Fiber.join(hanging)
      assert.deepStrictEqual([error.code, error.detail], [null, "no end after 30 seconds"])
      assert.isTrue(isHeld(other), "the thread had ended before its request was given up")

      const changed = yield* Effect.retry(thread.transaction([[short]]), {
        while: (failed) => failed.code === "SQLITE_BUSY",
        times: 60
      })
      assert.strictEqual(changed, 1)
      assert.deepStrictEqual(other.prepare("SELECT x FROM counted").pluck().all(), [1, 1])
    })
  )
})
