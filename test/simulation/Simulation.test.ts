/** A few worlds of the simulator at every run; `npm run simulate -- --seeds 2000` tells the rest. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { scaled } from "../scale.js"
import * as Shrinking from "./Shrinking.js"
import * as Story from "./Story.js"
import { tell, Telling } from "./Telling.js"
import { World } from "./World.js"

const seeds = Array.from({ length: scaled(130, 4) }, (_, index) => index + 1)

it.live("the gateway keeps its promises in every world", () =>
  Effect.forEach(
    seeds,
    (seed) =>
      Effect.gen(function* () {
        const story = Story.of(seed)
        const wrong = yield* tell(seed, story)
        if (wrong.length === 0) return
        const shortest = yield* Shrinking.shrink(seed, story, wrong)
        expect.fail(`seed ${seed}: ${wrong.join("\n")}\nits shortest story:\n${Story.print(shortest)}`)
      }),
    { discard: true }
  )
)

/** Commands are parsed by a module that Vitest fetches over a pipe in each life, and how long that takes no world can see. */
const isParsed = (step: Story.Step): boolean =>
  (step._tag === "Say" && ["gate", "script"].includes(step.verb)) || step._tag === "Burst"

/** All that the platforms were asked for. */
const told = (seed: number) =>
  Effect.gen(function* () {
    const world = new World(seed)
    yield* Effect.ensuring(
      new Telling(world).tell(Story.of(seed).filter((step) => !isParsed(step))),
      Effect.sync(() => world.remove())
    )
    return (yield* world.acts).map(({ address, at, error, life, platform, text }) =>
      [life, at, platform, address.chatId, error, text].join(" ")
    )
  })

it.live("a story goes the same way each time, and another goes another way", () =>
  Effect.gen(function* () {
    const first = yield* told(7)
    expect(first.length).toBeGreaterThan(10)
    expect(yield* told(7)).toEqual(first)
    expect(yield* told(8)).not.toEqual(first)
  })
)
