/** An empty database with its schema, made once: each world begins with a copy of it. */
import { Effect, Layer } from "effect"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import * as BashTree from "../../src/layers/judge/BashTree.js"
import * as SqliteDatabase from "../../src/layers/sqlite/Database.js"

let made: string | null = null

/** Lays it where a world's first life looks for its database. */
export const copyTo = (file: string, ground: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (made === null) {
      const folder = mkdtempSync(join(ground, "hermes-template-"))
      process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
      made = join(folder, "state.db")
      yield* Effect.scoped(Layer.build(SqliteDatabase.layer({ file: made }))).pipe(Effect.orDie)
      // Loaded when it is first needed, by ways that no world can see the end of.
      yield* Effect.orDie(Effect.flatten(BashTree.make))
    }
    copyFileSync(made, file)
  })
