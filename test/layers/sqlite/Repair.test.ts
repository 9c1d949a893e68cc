import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Random } from "effect"
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as Repair from "../../../src/layers/sqlite/repair/Repair.js"
import { scaled } from "../../scale.js"
import * as populated from "./populated.js"
import { folder } from "./temporary.js"

const integrity = (file: string): unknown => {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db.pragma("integrity_check", { simple: true })
  } finally {
    db.close()
  }
}

const flip = (file: string, flips: ReadonlyArray<readonly [at: number, by: number]>): void => {
  const image = readFileSync(file)
  for (const [at, by] of flips) image[at % image.length] = (image[at % image.length] ?? 0) ^ by
  writeFileSync(file, image)
}

describe("a repair", () => {
  it.scoped("of a sound database changes no row, and keeps the old files", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const file = path.join(home, "state.db")
      yield* populated.make(file)
      const before = populated.everything(file)
      const report = yield* Repair.repair(file, path.join(home, "kept"))
      assert.deepInclude(report, { unreadable: 0, refused: 0, sessionsMade: 0, tables: [] })
      assert.deepStrictEqual(populated.everything(file), before)
      assert.include(readdirSync(path.join(home, "kept")), "state.db")
      yield* Effect.scoped(SqliteDatabase.open({ file }))
    })
  )

  it.scopedLive(
    "of a database with flipped bytes keeps every row that a key still leads to, and counts what is lost",
    () =>
      Effect.gen(function* () {
        const home = yield* folder
        const whole = path.join(home, "whole.db")
        yield* populated.make(whole)
        const before = populated.everything(whole)
        let lossy = 0
        const rounds = scaled(60, 4)
        for (let round = 0; round < rounds; round++) {
          // All of it holds the event loop: the runner wants to hear that it goes on.
          yield* Effect.sleep("1 millis")
          const file = path.join(home, `${round}`, "state.db")
          mkdirSync(path.dirname(file))
          copyFileSync(whole, file)
          const count = yield* Random.nextIntBetween(1, 30)
          const flips = yield* Effect.replicateEffect(
            Effect.all([Random.nextIntBetween(0, 2 ** 30), Random.nextIntBetween(1, 256)]),
            count
          )
          flip(file, flips)
          const copy = path.join(home, `${round}`, "looked-at.db")
          copyFileSync(file, copy)
          const reachable = openable(copy) ? populated.reachable(copy, before) : new Map<string, string>()
          const report = yield* Repair.repair(file, path.join(home, `${round}`, "kept"))
          assert.isTrue(existsSync(path.join(home, `${round}`, "kept", "state.db")))
          assert.strictEqual(integrity(file), "ok")
          const after = populated.everything(file)
          const gone = [...reachable.keys()].filter((key) => after.get(key) !== reachable.get(key))
          assert.deepStrictEqual(gone.filter(differs(reachable, after)), [], `flips ${JSON.stringify(flips)}`)
          const lost = [...before.keys()].filter((key) => !after.has(key))
          if (lost.length > 0 && after.size < before.size) {
            lossy += 1
            assert.isAbove(report.unreadable + report.refused, 0, `lost ${lost.slice(0, 5).join()} of ${flips.join()}`)
          }
          yield* Effect.scoped(SqliteDatabase.open({ file }))
        }
        // A few rounds may all be lucky ones.
        if (rounds >= 30) assert.isAbove(lossy, 0)
      }),
    600_000
  )
})

describe("rows without numbers", () => {
  it.scopedLive("whose keys begin alike are found between unreadable pages, at each of them", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const file = path.join(home, "whole.db")
      yield* populated.make(file, 300, 0)
      const before = populated.everything(file)
      const whole = readFileSync(file)
      const table = "usage"
      const leaves = leavesOf(file, table)
      assert.isAbove(leaves.length, 4)
      for (const step of [2, leaves.length - 1]) {
        const home2 = path.join(home, `${table}-${step}`)
        mkdirSync(home2)
        const damaged = path.join(home2, "state.db")
        writeFileSync(damaged, whole)
        // The first leaf and the last, or each second: what is between can be reached by key only.
        flip(
          damaged,
          leaves.filter((_, index) => index % step === 0).map((page) => [(page - 1) * 4_096, 0xff] as const)
        )
        const reachable = populated.reachable(damaged, before)
        const ofTable = [...reachable.keys()].filter((key) => key.startsWith(`${table} `)).length
        assert.isAbove(ofTable, 0)
        assert.isBelow(ofTable, [...before.keys()].filter((key) => key.startsWith(`${table} `)).length)
        yield* Repair.repair(damaged, path.join(home2, "kept"))
        const after = populated.everything(damaged)
        assert.deepStrictEqual([...reachable.keys()].filter(differs(reachable, after)), [], `${table}, ${step}`)
      }
    })
  )
})

describe("a row whose key is wrong", () => {
  it.scopedLive("hides none of those that stand behind it", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const file = path.join(home, "whole.db")
      yield* populated.make(file)
      const before = populated.everything(file)
      const whole = readFileSync(file)
      const at = whole.indexOf("trn_12aterminal")
      assert.isAbove(at, 0)
      // Each digit in turn becomes a letter that sorts behind all digits, and one before them.
      for (const [index, letter] of [0, 4, 5].flatMap((place) => [[place, "~"] as const, [place, "!"] as const])) {
        const damaged = path.join(home, `${index}${letter.charCodeAt(0)}`, "state.db")
        mkdirSync(path.dirname(damaged))
        const image = Buffer.from(whole)
        image.write(letter, at + index, "latin1")
        writeFileSync(damaged, image)
        yield* Repair.repair(damaged, path.join(path.dirname(damaged), "kept"))
        const after = populated.everything(damaged)
        const gone = [...before.keys()].filter((key) => !after.has(key))
        assert.deepStrictEqual(gone, ["tool_calls trn_12/a"], `${letter} at ${index}`)
      }
    })
  )
})

/** The pages of a table without row numbers that have nothing beneath them, in the order of its keys. */
const leavesOf = (file: string, table: string): ReadonlyArray<number> => {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db
      .prepare<[string], { pageno: number }>(
        "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
      )
      .all(table)
      .map(({ pageno }) => pageno)
  } finally {
    db.close()
  }
}

/** A reference to what was lost was taken away; the row is there. */
const differs =
  (reachable: populated.Rows, after: populated.Rows) =>
  (key: string): boolean =>
    !after.has(key) && reachable.has(key)

const openable = (file: string): boolean => {
  const db = new Sqlite(file, { readonly: true })
  try {
    db.prepare("SELECT count(*) FROM sqlite_schema").get()
    return true
  } catch {
    return false
  } finally {
    db.close()
  }
}
