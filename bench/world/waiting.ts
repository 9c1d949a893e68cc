/**
 * A process that waits: `waiting.ts SECONDS [FILE]` prints the milliseconds of CPU that it takes a second. With a file it
 * has a scheduler over that database, nothing of which is due; without one it has nothing at all. What a start does to so
 * many jobs is over when it begins to measure.
 */
import { Effect } from "effect"
import { Scheduler } from "../../src/services/schedule/Scheduler.js"
import { scheduler } from "./ourScheduler.js"

const [seconds = "60", file] = process.argv.slice(2)

const waits = Effect.gen(function* () {
  yield* Effect.sleep("45 seconds")
  const before = process.cpuUsage()
  yield* Effect.sleep(`${Number(seconds)} seconds`)
  const { system, user } = process.cpuUsage(before)
  process.stdout.write(`${(system + user) / 1_000 / Number(seconds)}\n`)
})

await Effect.runPromise(
  file === undefined
    ? waits
    : (Effect.zipRight(
        Effect.flatMap(Scheduler, (one) => one.recover),
        waits
      ).pipe(Effect.provide(scheduler(file, 4, { at: [], recorded: 0, done: 0 }))) as Effect.Effect<void>)
)
