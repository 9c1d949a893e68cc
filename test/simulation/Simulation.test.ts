/** A few worlds of the simulator at every run; `npm run simulate -- --seeds 2000` tells the rest. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { scaled } from "../scale.js"
import * as Shrinking from "./Shrinking.js"
import * as Story from "./Story.js"
import { tell } from "./Telling.js"

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
