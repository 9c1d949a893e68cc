/** The simulator as one file, which starts at once where some thousand modules take seconds; with a plant in it or without. */
import { mkdirSync, mkdtempSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build, type Plugin } from "rolldown"
import { external } from "../../build/external.mjs"
import type { Plant } from "./Plants.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

const planting = (plant: Plant): Plugin => ({
  name: "plant",
  transform: (text, id) => {
    if (id !== join(root, plant.file)) return null
    const found = text.split(plant.takes).length - 1
    if (found !== 1) throw new Error(`${plant.file} has the place ${found} times, not once: the plant is out of date`)
    return text.replace(plant.takes, () => plant.puts)
  }
})

/** Puts it together; answers the file to run and the folder to remove afterwards. What is native is found from there. */
export const make = async (plant: Plant | null): Promise<{ readonly file: string; readonly folder: string }> => {
  const caches = join(root, "node_modules/.cache")
  mkdirSync(caches, { recursive: true })
  const folder = mkdtempSync(join(caches, "simulation-"))
  await build({
    input: { tales: join(root, "test/simulation/tales.ts") },
    platform: "node",
    external,
    plugins: plant === null ? [] : [planting(plant)],
    // A plant moves no line that a trace would name.
    checks: { sourcemapBroken: false },
    logLevel: "warn",
    output: { dir: folder, format: "esm", entryFileNames: "[name].mjs", sourcemap: true }
  })
  return { file: join(folder, "tales.mjs"), folder }
}
