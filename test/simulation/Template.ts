/** An empty database with its schema, made once: each world begins with a copy of it. */
import { Effect, Layer } from "effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as BashTree from "../../src/layers/judge/BashTree.js"
import * as SqliteDatabase from "../../src/layers/sqlite/Database.js"

let made: Uint8Array | null = null

/** Lays it where a world's first life looks for its database. */
export const copyTo = (file: string, ground: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (made === null) {
      const folder = mkdtempSync(join(ground, "hermes-template-"))
      const template = join(folder, "state.db")
      yield* Effect.scoped(Layer.build(SqliteDatabase.layer({ file: template }))).pipe(Effect.orDie)
      made = readFileSync(template)
      rmSync(folder, { recursive: true })
      // Loaded when it is first needed, by ways that no world can see the end of.
      yield* Effect.orDie(BashTree.parser)
    }
    writeFileSync(file, made)
  })
