/**
 * `npm run simulate -- --seeds 2000 --from 1`: tells the stories of many seeds; of one that fails, the shortest that still
 * does. `--plant NAME` tells them to a program with that bug in it, `--plant all` to one after the other.
 */
import { spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import process from "node:process"
import { parseArgs } from "node:util"
import * as Bundle from "./Bundle.js"
import { type Plant, plants } from "./Plants.js"
import { options } from "./options.js"

const { values } = parseArgs({ options: { ...options, plant: { type: "string" } } })
const say = (text: string) => void process.stdout.write(`${text}\n`)

const told = async (plant: Plant | null) => {
  const { file, folder } = await Bundle.make(plant)
  const { plant: _, ...passed } = values
  const words = Object.entries({ ...passed, ...(plant === null ? {} : { first: true }) }).flatMap(([name, value]) =>
    value === false ? [] : value === true ? [`--${name}`] : [`--${name}`, value]
  )
  const ended = spawnSync(process.execPath, ["--max-semi-space-size=64", "--enable-source-maps", file, ...words], {
    encoding: "utf8",
    stdio: plant === null ? "inherit" : "pipe"
  })
  rmSync(folder, { recursive: true, force: true })
  return ended
}

/** Found is a success. */
const planted = async (name: string): Promise<boolean> => {
  const plant = plants[name]
  if (plant === undefined) {
    say(`no plant "${name}"; there are: ${Object.keys(plants).join(", ")}`)
    return false
  }
  const { stderr, stdout } = await told(plant)
  const found = stdout.includes(`${plant.finds}:`)
  say(`${name} (${plant.finds}): ${found ? "found" : "NOT FOUND"}\n${stdout}${stderr}`)
  return found
}

const program = async (): Promise<boolean> => {
  if (values.plant === undefined) return (await told(null)).status === 0
  let all = true
  for (const name of values.plant === "all" ? Object.keys(plants) : [values.plant]) all = (await planted(name)) && all
  return all
}

process.exitCode = (await program()) ? 0 : 1
