/** Makes a story that fails short: what it can do without is left out, as long as the rest still fails in the same way. */
import { Effect } from "effect"
import type { Step } from "./Story.js"
import { tell } from "./Telling.js"

/** What kind of a failure it is: the word before the first colon, without where it was found. */
export const kindOf = (wrong: string): string => wrong.replace(/^after step \d+: /, "").replace(/:.*$/s, "")

/** Stories told at most while shrinking. */
const most = 120

export const shrink = (
  seed: number,
  story: ReadonlyArray<Step>,
  wrong: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Step>> =>
  Effect.gen(function* () {
    const kinds = new Set(wrong.map(kindOf))
    let shortest = story
    let told = 0
    for (
      let size = Math.ceil(story.length / 2);
      size >= 1 && told < most;
      size = size === 1 ? 0 : Math.ceil(size / 2)
    ) {
      for (let at = 0; at < shortest.length && told < most;) {
        const without = [...shortest.slice(0, at), ...shortest.slice(at + size)]
        told += 1
        const still = yield* tell(seed, without)
        if (still.some((each) => kinds.has(kindOf(each)))) shortest = without
        else at += size
      }
    }
    return shortest
  })
