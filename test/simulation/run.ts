/** `npm run simulate -- --seeds 2000 --from 1`: tells the stories of many seeds; of one that fails, the shortest that still does. */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { copyWith, plants } from "./Plants.js"
import * as Shrinking from "./Shrinking.js"
import * as Story from "./Story.js"
import { tell } from "./Telling.js"

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    steps: { type: "string", default: "24" },
    plant: { type: "string" },
    verbose: { type: "boolean", default: false },
    first: { type: "boolean", default: false },
    keep: { type: "boolean", default: false }
  }
})
const from = Number(values.from)
const count = Number(values.seeds)
const say = (text: string) => void process.stdout.write(`${text}\n`)

const program = Effect.gen(function* () {
  const began = performance.now()
  let failed = 0
  for (let seed = from; seed < from + count; seed++) {
    const story = Story.of(seed, Number(values.steps))
    const at = performance.now()
    const cpu = process.cpuUsage()
    const wrong = yield* tell(seed, story)
    if (values.verbose)
      say(
        `seed ${seed}: ${(performance.now() - at).toFixed(0)} ms, ${(process.cpuUsage(cpu).user / 1_000).toFixed(0)} ms of the processor`
      )
    if (wrong.length === 0) continue
    failed += 1
    say(`seed ${seed} (the ${seed - from + 1}th): ${wrong.slice(0, 5).join("\n  ")}`)
    if (values.keep) continue
    if (values.first) break
    const shortest = yield* Shrinking.shrink(seed, story, wrong)
    say(`the shortest story that fails so, for --seeds 1 --from ${seed}:\n${Story.print(shortest)}`)
    break
  }
  const seconds = (performance.now() - began) / 1_000
  say(`${count} seeds, ${failed} failed, ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(1)} seeds/s`)
  return failed
})

/** Tells the same stories to a copy of the program with a bug in it, which is found or not: found is a success. */
const tellPlanted = (name: string): number => {
  const plant = plants[name]
  if (plant === undefined) {
    say(`no plant "${name}"; there are: ${Object.keys(plants).join(", ")}`)
    return 1
  }
  const root = fileURLToPath(new URL("../..", import.meta.url))
  const copy = copyWith(plant, root)
  const args = [
    "--import",
    "tsx",
    join(copy, "test/simulation/run.ts"),
    "--seeds",
    String(count),
    "--from",
    String(from)
  ]
  const told = spawnSync(process.execPath, [...args, "--first"], { cwd: copy, encoding: "utf8" })
  rmSync(copy, { recursive: true, force: true })
  const found = told.stdout.includes(`${plant.finds}:`)
  say(`${name} (${plant.finds}): ${found ? "found" : "NOT FOUND"}\n${told.stdout}${told.stderr}`)
  return found ? 0 : 1
}

process.exitCode =
  values.plant === undefined ? ((await Effect.runPromise(program)) === 0 ? 0 : 1) : tellPlanted(values.plant)
