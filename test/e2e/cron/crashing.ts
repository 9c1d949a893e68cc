/**
 * The program that ends itself (crashing.mjs) as one bundle of the built library: each start of the many takes a quarter
 * of what loading its modules one by one does, and a bundle is how the program is shipped.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import { afterAll, beforeAll } from "vitest"
import { external } from "../../../build/external.mjs"
import { fresh } from "../../../build/fresh.mjs"

const at = (place: string): string => fileURLToPath(new URL(place, import.meta.url))
const folder = at(`../../../node_modules/.cache/hermes-effect/crashing-${process.pid}`)

/** Built before the file's tests and gone after them; where it is. */
export const crashing = (): string => {
  beforeAll(async () => {
    await fresh("page", "library")
    mkdirSync(folder, { recursive: true })
    writeFileSync(path.join(folder, "package.json"), `{ "type": "module" }\n`)
    const program = await rolldown({
      // The care for the database runs what is called worker.js beside it.
      input: { crashing: at("crashing.mjs"), worker: at("../../../dist/programs/worker.js") },
      platform: "node",
      external,
      logLevel: "silent"
    })
    await program.write({ dir: folder, format: "esm" })
    await program.close()
  }, 180_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return path.join(folder, "crashing.js")
}

/** Where the page lies that it shows. */
export const page = at("../../../dist/page")
