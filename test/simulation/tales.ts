/** Tells the stories of many seeds; of one that fails, the shortest that still does. `run.ts` puts it together and starts it. */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import process from "node:process"
import { parseArgs } from "node:util"
import { Census } from "./Census.js"
import { options, type Told } from "./options.js"
import * as Shrinking from "./Shrinking.js"
import * as Story from "./Story.js"
import { tell } from "./Telling.js"

const { values } = parseArgs({ options })
const from = Number(values.from)
const end = values.story === "" ? from + Number(values.seeds) : from + 1
const say = (text: string) => void process.stdout.write(`${text}\n`)
const storyOf = (seed: number) =>
  values.story === "" ? Story.of(seed, Number(values.steps)) : Story.parse(readFileSync(values.story, "utf8"))

const program = Effect.gen(function* () {
  const census = new Census()
  let told = 0
  let failed = 0
  for (let seed = from; seed < end; seed += Number(values.every)) {
    const story = storyOf(seed)
    const at = performance.now()
    const cpu = process.cpuUsage()
    const wrong = yield* tell(seed, story, census)
    told += 1
    const { system, user } = process.cpuUsage(cpu)
    if (values.verbose)
      say(
        `seed ${seed}: ${(performance.now() - at).toFixed(0)} ms, ${((user + system) / 1_000).toFixed(0)} ms of the processor`
      )
    if (wrong.length === 0) continue
    failed += 1
    if (values.until !== "") {
      const found = wrong.find((each) => Shrinking.kindOf(each) === values.until)
      if (found === undefined) continue
      say(`seed ${seed}: ${found}`)
      return { told, failed, found: seed - from + 1, census: census.all }
    }
    say(`seed ${seed}: ${wrong.slice(0, 5).join("\n  ")}`)
    const shortest = values.story === "" ? yield* Shrinking.shrink(seed, story, wrong) : story
    say(`the shortest story that fails so, for --story FILE --from ${seed}:\n${Story.print(shortest)}`)
    if (!values.keep) break
  }
  return { told, failed, found: null, census: census.all }
})

// Whoever ends it, or the one that shares the seeds out, ends its world too.
for (const end of ["SIGTERM", "SIGINT", "disconnect"]) process.once(end, () => process.exit(1))

const told: Told = await Effect.runPromise(program)
if (process.send === undefined) say(JSON.stringify(told))
// A world that hung has threads which would keep the process.
else process.send(told, () => process.exit(0))
