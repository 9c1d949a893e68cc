/**
 * `npm run simulate -- --seeds 2000 --from 1`: tells the stories of many seeds; of one that fails, the shortest that still
 * does, which `--story FILE --from SEED` tells again. `--plants` tells them to programs with a bug in each, `--plant NAME`
 * to one of them.
 */
import { fork } from "node:child_process"
import { rmSync } from "node:fs"
import { availableParallelism } from "node:os"
import process from "node:process"
import { parseArgs } from "node:util"
import * as Bundle from "./Bundle.js"
import { Census } from "./Census.js"
import { options, type Told } from "./options.js"
import { type Plant, plants } from "./Plants.js"

const { values } = parseArgs({
  options: {
    ...options,
    plant: { type: "string", default: "" },
    plants: { type: "boolean", default: false },
    /** Processes that tell stories beside each other. */
    workers: { type: "string", default: String(Math.min(4, availableParallelism())) }
  }
})
const say = (text: string) => void process.stdout.write(`${text}\n`)
const workers = Math.max(1, Number(values.workers))
/** A plant that is not found in so many stories is not found. */
const most = "500"

type Words = { readonly [Name in keyof typeof options]?: string | boolean }

/** One process that tells stories; what it says goes through. */
const teller = (file: string, words: Words): Promise<Told> =>
  new Promise((resolve, reject) => {
    const spelled = Object.entries({ ...values, ...words }).flatMap(([name, value]) =>
      !(name in options) || value === false || value === "" ? [] : value === true ? [`--${name}`] : [`--${name}`, value]
    )
    let told: Told | null = null
    const child = fork(file, spelled, { execArgv: ["--max-semi-space-size=64", "--enable-source-maps"] })
    child.on("message", (message) => {
      // Of our own make: the child is this folder's `tales`.
      told = message as Told
    })
    child.on("error", reject)
    child.on("exit", (code) => (told === null ? reject(new Error(`a teller ended with ${code}`)) : resolve(told)))
  })

const built = async <A>(plant: Plant | null, use: (file: string) => Promise<A>): Promise<A> => {
  const { file, folder } = await Bundle.make(plant)
  try {
    return await use(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The seeds shared out among the workers. */
const simulate = async (): Promise<boolean> => {
  const began = performance.now()
  const shares = values.story === "" ? Math.min(workers, Number(values.seeds)) : 1
  const all = await built(null, (file) =>
    Promise.all(
      Array.from({ length: shares }, (_, index) =>
        teller(file, {
          from: String(Number(values.from) + index),
          seeds: String(Number(values.seeds) - index),
          every: String(shares)
        })
      )
    )
  )
  const told = all.reduce((sum, one) => sum + one.told, 0)
  const failed = all.reduce((sum, one) => sum + one.failed, 0)
  const seconds = (performance.now() - began) / 1_000
  if (values.census) {
    const census = new Census()
    for (const one of all) census.join(one.census)
    say(census.print())
  }
  say(`${told} seeds, ${failed} failed, ${seconds.toFixed(1)} s, ${(told / seconds).toFixed(1)} seeds/s`)
  return failed === 0
}

/** Found is a success. */
const planted = async (name: string): Promise<boolean> => {
  const plant = plants[name]
  if (plant === undefined) {
    say(`no plant "${name}"; there are: ${Object.keys(plants).join(", ")}`)
    return false
  }
  const { found } = await built(plant, (file) => teller(file, { until: plant.finds, seeds: most }))
  say(`| ${name} | ${plant.finds} | ${found === null ? `not in ${most}` : found} |`)
  return found !== null
}

/** All plants, as many at a time as there are workers. */
const allPlanted = async (): Promise<boolean> => {
  const names = Object.keys(plants)
  let all = true
  const next = async (): Promise<void> => {
    const name = names.shift()
    if (name === undefined) return
    all = (await planted(name)) && all
    return next()
  }
  await Promise.all(Array.from({ length: workers }, next))
  return all
}

const program = values.plants ? allPlanted : values.plant === "" ? simulate : () => planted(values.plant)
process.exitCode = (await program()) ? 0 : 1
