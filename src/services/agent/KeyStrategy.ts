/** Which of several credentials of one backend is asked with first (state-agent.md 3.9). Pure. */
import { Schema } from "effect"

/** The first that is not at a limit; each in turn; any; the one that was asked with least. */
export const KeyStrategy = Schema.Literal("fill_first", "round_robin", "random", "least_used")
export type KeyStrategy = typeof KeyStrategy.Type

/** One of `ready` (places in their order, at least one). `used`: how often each place was begun with; `last`: with which last; `chance` in [0, 1). */
export const choose = (
  strategy: KeyStrategy,
  ready: readonly [number, ...ReadonlyArray<number>],
  so: { readonly used: (place: number) => number; readonly last: number | null; readonly chance: number }
): number => {
  const [first] = ready
  switch (strategy) {
    case "fill_first":
      return first
    case "round_robin":
      return ready.find((place) => place > (so.last ?? -1)) ?? first
    case "random":
      return ready[Math.floor(so.chance * ready.length)] ?? first
    case "least_used":
      return ready.reduce((least, place) => (so.used(place) < so.used(least) ? place : least), first)
  }
}
