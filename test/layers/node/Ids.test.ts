import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Random, TestClock } from "effect"
import * as IdsLayer from "../../../src/layers/node/Ids.js"
import { type IdKind, Ids } from "../../../src/services/operation/Ids.js"

const kinds: ReadonlyArray<IdKind> = ["session", "turn", "event", "delivery", "approval", "delegation", "lease", "call"]

const take = (count: number, kind: IdKind = "turn") =>
  Effect.flatMap(Ids, (ids) => Effect.replicateEffect(ids.next(kind), count))

const fresh = Layer.fresh(IdsLayer.layer)

describe("Ids", () => {
  it.effect("each kind has its own prefix", () =>
    Effect.gen(function* () {
      const ids = yield* Effect.flatMap(Ids, (made) => Effect.forEach(kinds, made.next))
      assert.strictEqual(new Set(ids.map((id) => id.split("_")[0])).size, kinds.length)
      for (const id of ids) assert.match(id, /^[a-z]{3,4}_[0-9a-hjkmnp-tv-z]{21}$/)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("ids sort in the order of making: within a millisecond, beyond it, and over a clock set back", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_800_000_000_000)
      const first = yield* take(3_000)
      yield* TestClock.setTime(1_800_000_000_700)
      const later = yield* take(10)
      yield* TestClock.setTime(1_700_000_000_000)
      const back = yield* take(10)
      const ids = [...first, ...later, ...back]
      assert.deepStrictEqual(ids, ids.toSorted())
      assert.strictEqual(new Set(ids).size, ids.length)
    }).pipe(Effect.provide(fresh))
  )

  it.effect("the same seed and the same clock make the same ids, another seed others", () =>
    Effect.gen(function* () {
      const run = (seed: string) =>
        take(20).pipe(Effect.provide(Layer.fresh(IdsLayer.layer)), Effect.withRandom(Random.make(seed)))
      const [a, again, other] = yield* Effect.all([run("a"), run("a"), run("b")])
      assert.deepStrictEqual(a, again)
      assert.strictEqual(a.filter((id) => other.includes(id)).length, 0)
    })
  )
})
