import { Effect, Layer, type Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import type { Database } from "../../../src/services/state/Database.js"

/** A folder that goes with the scope. */
export const folder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-state-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

/** A database in a file of its own, in a home that does not exist before. */
export const layerFile: Layer.Layer<Database> = Layer.unwrapScoped(
  Effect.map(folder, (made) => SqliteDatabase.layer({ file: path.join(made, "home", "state.db") }))
).pipe(Layer.orDie)

export const layerMemory: Layer.Layer<Database> = Layer.orDie(SqliteDatabase.layerMemory)
