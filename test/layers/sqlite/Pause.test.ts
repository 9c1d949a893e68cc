/** The emergency stop: what is told of it is what holds. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import * as SqlitePause from "../../../src/layers/sqlite/Pause.js"
import { Pause } from "../../../src/services/operation/Pause.js"
import { Database } from "../../../src/services/state/Database.js"
import { layerFile } from "./temporary.js"

const stored = Effect.flatMap(Database, (database) =>
  database.read("test", (sql) => sql.unsafe("SELECT 1 FROM meta WHERE key = 'gateway.paused' AND value <> 'null'"))
)

describe("a pause", () => {
  it.effect("that is asked for while another is being lifted holds, in memory and on the disk", () =>
    Effect.gen(function* () {
      const pause = yield* Pause
      const begin = (by: string) => pause.begin({ by, reason: null })
      yield* begin("Ann")
      const [lifted, second] = yield* Effect.all([pause.lift, begin("Bob")], { concurrency: "unbounded" })
      assert.deepStrictEqual([lifted, second.by], [true, "Bob"])
      assert.strictEqual((yield* pause.current)?.by, "Bob")
      assert.lengthOf(yield* stored, 1)

      const all = yield* Effect.all([pause.lift, pause.lift, begin("Cleo"), pause.lift], { concurrency: "unbounded" })
      assert.deepStrictEqual([all[0], all[1], all[2].by, all[3]], [true, false, "Cleo", true])
      assert.isNull(yield* pause.current)
      assert.lengthOf(yield* stored, 0)
    }).pipe(Effect.provide(Layer.provideMerge(SqlitePause.layer, layerFile)))
  )
})
