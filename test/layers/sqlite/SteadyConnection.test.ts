import * as Reactivity from "@effect/experimental/Reactivity"
import { SqliteClient } from "@effect/sql-sqlite-node"
import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Exit } from "effect"
import path from "node:path"
import { isBusy } from "../../../src/layers/sqlite/SqliteFailure.js"
import * as SteadyConnection from "../../../src/layers/sqlite/SteadyConnection.js"
import { folder } from "./temporary.js"

/** A file in rollback mode, held exclusively by another connection: there a statement cannot even be prepared. */
const heldFile = Effect.gen(function* () {
  const filename = path.join(yield* folder, "held.db")
  const holder = yield* Effect.acquireRelease(
    Effect.sync(() => new Sqlite(filename)),
    (db) => Effect.sync(() => db.close())
  )
  holder.exec("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'); BEGIN EXCLUSIVE")
  return { config: { filename, disableWAL: true }, release: Effect.sync(() => holder.exec("COMMIT")) }
})

const sql = "SELECT a FROM t"

describe("SteadyConnection", () => {
  it.scoped("a statement that could not be prepared while the file was locked works afterwards", () =>
    Effect.gen(function* () {
      const held = yield* heldFile
      const { connection } = yield* SteadyConnection.open(held.config)
      yield* connection.executeUnprepared("PRAGMA busy_timeout = 0", [], undefined)
      const all = Effect.all({
        execute: Effect.exit(connection.execute(sql, [], undefined)),
        values: Effect.exit(connection.executeValues(sql, [])),
        raw: Effect.exit(connection.executeRaw(sql, [])),
        unprepared: Effect.exit(connection.executeUnprepared(sql, [], undefined))
      })
      for (const exit of Object.values(yield* all))
        assert.isTrue(Exit.isFailure(exit) && exit.cause._tag === "Fail" && isBusy(exit.cause.error))
      yield* held.release
      assert.deepStrictEqual(yield* all, {
        execute: Exit.succeed([{ a: "x" }]),
        values: Exit.succeed([["x"]]),
        raw: Exit.succeed([{ a: "x" }]),
        unprepared: Exit.succeed([{ a: "x" }])
      })
    }).pipe(Effect.provide(Reactivity.layer))
  )

  it.scoped("the driver's own would still fail: this is what it is for", () =>
    Effect.gen(function* () {
      const held = yield* heldFile
      const connection = yield* (yield* SqliteClient.make(held.config)).reserve
      yield* connection.executeUnprepared("PRAGMA busy_timeout = 0", [], undefined)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(connection.execute(sql, [], undefined))))
      yield* held.release
      assert.isTrue(Exit.isFailure(yield* Effect.exit(connection.execute(sql, [], undefined))))
    }).pipe(Effect.provide(Reactivity.layer))
  )
})
