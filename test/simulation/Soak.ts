/** Hours of mixed load in a world, and what is left of it after each round: whatever stands, waits, listens or lies somewhere. */
import { Effect } from "effect"
import process from "node:process"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as DirectDesk from "../../src/layers/operation/DirectDesk.js"
import { Desk } from "../../src/services/operation/Desk.js"
import * as Populated from "./populated.js"
import type { World } from "./World.js"

/** What each round brings, beside a turn for every job. */
export interface Load {
  readonly rounds: number
  readonly turns: number
  readonly delegates: number
  readonly jobs: number
}

export interface Sample {
  readonly fibers: number
  readonly sleepers: number
  /** Timers, sockets, processes … of Node. */
  readonly handles: number
  readonly listeners: number
  readonly rows: number
  /** Bytes that something still holds. */
  readonly heap: number
  /** Turns and occurrences so far. */
  readonly work: number
}

const held = (): number => {
  setFlagsFromString("--expose-gc")
  const collect: () => void = runInNewContext("gc")
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

const listening = (): number => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)

interface Counted {
  readonly name: string
  readonly count: number
}

const tables = `SELECT name, 0 AS count FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`

const look = (world: World): Effect.Effect<Sample> =>
  Effect.gen(function* () {
    const { fibers, sleepers } = yield* world.standing
    const names = yield* world.rows<Counted>(tables)
    const counts = yield* world.rows<Counted>(
      names.map(({ name }) => `SELECT '${name}' AS name, count(*) AS count FROM ${name}`).join(" UNION ALL ")
    )
    const of = (name: string): number => counts.find((counted) => counted.name === name)?.count ?? 0
    return {
      fibers,
      sleepers,
      handles: process.getActiveResourcesInfo().length,
      listeners: listening(),
      rows: counts.reduce((sum, { count }) => sum + count, 0),
      heap: held(),
      work: of("turns") + of("occurrences")
    }
  })

/** The order that somebody gives; every conversation begins anew from time to time, as people do. */
const order = (number: number): string =>
  number % 40 < 6 ? "/new" : `#${number} ${["plain", "todo", "send"][number % 3]} ${number % 6}`

/** Jobs of the owner's, due each minute for as long as the world stands. */
export const begin = (world: World, { jobs }: Load): Effect.Effect<void> =>
  world
    .within(
      Effect.flatMap(Desk, (desk) =>
        Effect.forEach(
          Array.from({ length: jobs }, (_, index) => index),
          (index) =>
            desk.jobs.create({
              name: `job ${index}`,
              schedule: "every 1m",
              prompt: "say something",
              deliver: index % 2 === 0 ? "local" : "telegram:1"
            }),
          { discard: true }
        )
      ).pipe(Effect.provide(DirectDesk.layer))
    )
    .pipe(Effect.orDie)

/** One round after the other, a minute each; `plant` is done in each of them, as a fault of the program would be. */
export const run = (
  world: World,
  load: Load,
  plant: Effect.Effect<void> = Effect.void
): Effect.Effect<ReadonlyArray<Sample>> =>
  Effect.gen(function* () {
    const samples: Array<Sample> = []
    let number = 0
    for (let round = 0; round < load.rounds; round++) {
      for (let turn = 0; turn < load.turns; turn++) {
        number += 1
        yield* Populated.say(world, number % 6, order(number), number + samples.length * 1_000_000)
      }
      for (let helper = 0; helper < load.delegates; helper++) {
        number += 1
        const verb = helper % 2 === 0 ? "delegate" : "behind"
        yield* Populated.say(world, number % 6, `#${number} ${verb} 0`, number + samples.length * 1_000_000)
      }
      yield* plant
      yield* world.pass(60_000)
      for (const { sent } of Object.values(world.adapters)) yield* sent.clear
      samples.push(yield* look(world))
    }
    return samples
  })

const third = (samples: ReadonlyArray<Sample>, which: 0 | 1 | 2): ReadonlyArray<Sample> => {
  const size = Math.floor(samples.length / 3)
  return samples.slice(which * size, (which + 1) * size)
}

/** What comes and goes by a few, whatever is done. */
const some = 3
/** Code that is made fast, and what caches hold. Bytes. */
const heapOnce = 6 * 2 ** 20
/** What is kept of a piece of work in memory: in no case its texts. Bytes. */
const heapEach = 512

/** What has grown from the second third of the time to the last; nothing when all is flat. The first is for warming up. */
export const grown = (samples: ReadonlyArray<Sample>): ReadonlyArray<keyof Sample> => {
  const [early, middle, late] = [third(samples, 0), third(samples, 1), third(samples, 2)]
  const most = (part: ReadonlyArray<Sample>, what: keyof Sample): number => Math.max(...part.map((one) => one[what]))
  const least = (part: ReadonlyArray<Sample>, what: keyof Sample): number => Math.min(...part.map((one) => one[what]))
  const work = most(late, "work") - most(middle, "work")
  const perWork = (from: ReadonlyArray<Sample>, to: ReadonlyArray<Sample>): number =>
    (most(to, "rows") - most(from, "rows")) / Math.max(1, most(to, "work") - most(from, "work"))
  return [
    ...(["fibers", "sleepers", "handles", "listeners"] as const).filter(
      (what) => least(late, what) > most(middle, what) + some
    ),
    ...(perWork(middle, late) > perWork(early, middle) * 1.25 + 0.1 ? (["rows"] as const) : []),
    ...(least(late, "heap") > least(middle, "heap") + heapOnce + heapEach * work ? (["heap"] as const) : [])
  ]
}
