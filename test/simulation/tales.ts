/** Tells the stories of many seeds; of one that fails, the shortest that still does. `run.ts` puts it together and starts it. */
import { Effect } from "effect"
import process from "node:process"
import { parseArgs } from "node:util"
import { options } from "./options.js"
import * as Shrinking from "./Shrinking.js"
import * as Story from "./Story.js"
import { tell } from "./Telling.js"

const { values } = parseArgs({ options })
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

// A world that hung has threads which would keep the process.
process.exit((await Effect.runPromise(program)) === 0 ? 0 : 1)
