/** The gateway stays as small as it was, however long it lives. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import process from "node:process"
import { Database, Transaction } from "../../src/services/state/Database.js"
import { scaled } from "../scale.js"
import * as Soak from "./Soak.js"
import { World } from "./World.js"

/** 20,100 turns, 50,100 occurrences and 2,100 helpers in all. */
const rounds = scaled(300, 6)
const load: Soak.Load = {
  rounds: rounds - (rounds % 3),
  turns: scaled(67, 3),
  delegates: scaled(7),
  jobs: scaled(167, 2)
}

/** So few that what is planted is seen beside it. */
const few: Soak.Load = { rounds: 6, turns: 1, delegates: 0, jobs: 0 }

const inWorld = <A>(load: Soak.Load, use: (world: World) => Effect.Effect<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const world = new World(3)
    return Effect.gen(function* () {
      yield* world.begin(false)
      yield* Soak.begin(world, load)
      const used = yield* use(world)
      yield* world.end
      return used
    }).pipe(Effect.ensuring(Effect.sync(() => world.remove())))
  })

it.live("nothing grows with the turns, the jobs and the helpers that have been", () =>
  Effect.map(
    inWorld(load, (world) => Soak.run(world, load)),
    (samples) => {
      const [first, last] = [samples[0], samples.at(-1)]
      assert.isAbove((last?.work ?? 0) - (first?.work ?? 0), load.rounds * load.jobs)
      assert.deepStrictEqual(Soak.grown(samples), [], JSON.stringify(samples, null, 1))
    }
  )
)

/** What each minute leaves behind: six of everything that can be counted, memory, and rows that become more each time. */
const leaks = (world: World) => {
  const fibers: Array<Fiber.RuntimeFiber<unknown>> = []
  const timers: Array<NodeJS.Timeout> = []
  const names: Array<string> = []
  const kept: Array<ReadonlyArray<object>> = []
  const plant = Effect.gen(function* () {
    for (let each = 0; each < 6; each++) {
      fibers.push(yield* world.within(Effect.forkDaemon(Effect.never)))
      fibers.push(yield* world.within(Effect.forkDaemon(Effect.sleep("3650 days"))))
      timers.push(setInterval(() => undefined, 1_000_000))
      const name = `soak-${names.length}`
      names.push(name)
      process.on(name, () => undefined)
    }
    kept.push(Array.from({ length: 300_000 }, (_, index) => ({ index })))
    yield* world.within(
      Effect.flatMap(Database, (database) =>
        database.write(
          "soak.leak",
          Effect.flatMap(Transaction, (sql) =>
            Effect.forEach(
              Array.from({ length: kept.length ** 2 }, (_, index) => `leak-${kept.length}-${index}`),
              (key) => sql`INSERT INTO meta (key, value) VALUES (${key}, 'null')`,
              { discard: true }
            )
          )
        )
      )
    )
  }).pipe(Effect.orDie)
  const ended = Effect.suspend(() => {
    for (const timer of timers) clearInterval(timer)
    for (const name of names) process.removeAllListeners(name)
    return Fiber.interruptAll(fibers)
  })
  return { plant, ended }
}

it.live("would be seen: a fiber, a sleeper, a timer, a listener, rows and memory that each minute leaves behind", () =>
  inWorld(few, (world) => {
    const { ended, plant } = leaks(world)
    return Effect.ensuring(Soak.run(world, few, plant), ended)
  }).pipe(
    Effect.map((samples) =>
      assert.sameMembers(
        [...Soak.grown(samples)],
        ["fibers", "sleepers", "handles", "listeners", "rows", "heap"],
        JSON.stringify(samples, null, 1)
      )
    )
  )
)
