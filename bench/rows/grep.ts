/** Finding a line in a tree of 50,000 files: `search_files` through the tool's whole way beside ripgrep, where that is installed. */
import { NodeContext } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import path from "node:path"
import * as Turn from "../../src/fibers/Turn.js"
import { Toolbox } from "../../src/services/agent/Toolbox.js"
import * as Testing from "../../src/testing/index.js"
import { turn } from "../../test/layers/support/hands.js"
import { type Family, median, type Row } from "../harness.js"

const inDirectory = 100
const needle = "the needle of this tree"

/** One file of a thousand has the line. */
const plant = (root: string, files: number): number => {
  const text = Array.from({ length: 40 }, (_, line) => `line ${line} says something of no account`).join("\n")
  for (let n = 0; n < files; n++) {
    const directory = path.join(root, `part-${Math.floor(n / inDirectory)}`)
    if (n % inDirectory === 0) mkdirSync(directory, { recursive: true })
    writeFileSync(path.join(directory, `file-${n}.txt`), n % 1_000 === 7 ? `${text}\n${needle}\n` : text)
  }
  return Math.ceil((files - 7) / 1_000)
}

const arguments_ = ["--no-config", "--no-ignore", "--hidden", "--line-number", "--sort", "path", needle]

/** Milliseconds of ripgrep itself; null where it is not installed. */
const ripgrep = (root: string): number | null => {
  const began = performance.now()
  const { error } = spawnSync("rg", [...arguments_, root], { stdio: ["ignore", "pipe", "pipe"] })
  return error === undefined ? performance.now() - began : null
}

const search = (round: number, root: string) =>
  Effect.gen(function* () {
    const toolbox = yield* Toolbox
    const began = performance.now()
    const [result] = yield* Turn.enter(turn("bench"))(
      toolbox.run(
        [
          {
            id: `call-${round}`,
            name: "search_files",
            arguments: JSON.stringify({ pattern: needle, path: root, limit: 500 })
          }
        ],
        { advance: () => Effect.void, store: () => Effect.void }
      )
    )
    const took = performance.now() - began
    const found = JSON.stringify(result).split(needle).length - 1
    return { took, found }
  })

const family: Family = {
  title: "search_files in a large tree",
  run: ({ folder, quick }) => {
    const files = quick ? 2_000 : 50_000
    const home = path.join(folder, "home")
    const root = path.join(folder, "tree")
    mkdirSync(home)
    const hits = plant(root, files)
    const gateway = (searchPath: string) =>
      Layer.provideMerge(
        Testing.gateway({
          model: () => "not asked",
          settings: { home, terminal: { timeoutSeconds: 20, envPassthrough: [], workingDirectory: folder } },
          environment: { PATH: searchPath }
        }),
        NodeContext.layer
      )
    /** One gateway after the other searches, and what is beside each search runs just before it. */
    const measured = (searchPath: string, beside: () => number | null) =>
      Effect.gen(function* () {
        const times = { ours: [] as Array<number>, rg: [] as Array<number> }
        let fewest = hits
        for (let round = 0; round < 4; round++) {
          const rg = beside()
          if (rg !== null) times.rg.push(rg)
          const { found, took } = yield* search(round, root)
          fewest = Math.min(fewest, found)
          times.ours.push(took)
        }
        return { ours: median(times.ours), rg: times.rg.length === 0 ? null : median(times.rg), fewest }
      }).pipe(Effect.provide(gateway(searchPath)), Effect.scoped)
    return Effect.runPromise(
      Effect.gen(function* () {
        const helped = yield* measured(process.env["PATH"] ?? "", () => ripgrep(root))
        const alone = yield* measured(home, () => ripgrep(root))
        const row = (name: string, { fewest, ours, rg }: typeof helped, target: string | null): Row => ({
          what: `search_files, ${name}: a line in ${files.toLocaleString("en")} files`,
          unit: "ms",
          ours,
          beside: rg === null ? [] : [{ name: "ripgrep", value: rg }],
          memory: null,
          target: {
            words: target ?? "shown",
            met: target === null || rg === null ? null : fewest === hits && ours < 1.5 * rg
          },
          note: `${fewest} of ${hits} lines found within its 20 s, with the rules of protected files for each`
        })
        return [
          row("helped by ripgrep", helped, "< 1.5 × ripgrep"),
          row("without ripgrep, its own walk alone", alone, null)
        ]
      })
    )
  }
}

export default family
