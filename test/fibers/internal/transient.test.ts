import { expect, it } from "@effect/vitest"
import { Effect, FastCheck as fc } from "effect"
import * as Transient from "../../../src/fibers/internal/transient.js"

const step = fc.record({ add: fc.boolean(), member: fc.integer({ min: 0, max: 40 }) })

it.effect.prop(
  "it has the members that a Set would have, in its order",
  [fc.array(step, { maxLength: 400 })],
  ([steps]) =>
    Effect.sync(() => {
      const set = new Set<number>()
      const transient = Transient.make<number>()
      for (const { add, member } of steps) {
        if (add) {
          set.add(member)
          transient.add(member)
        } else {
          set.delete(member)
          transient.delete(member)
        }
      }
      expect([...transient]).toEqual([...set])
    })
)

it.each([
  ["goes through it", 0],
  ["adds so many that it begins anew", 100]
])("what ends is not met any more by whoever %s", (_what, more) => {
  const transient = Transient.make<number>()
  for (let member = 0; member < 20; member++) transient.add(member)
  const met: Array<number> = []
  for (const member of transient) {
    met.push(member)
    for (let later = 0; later < more; later++) transient.add(1_000 * (member + 1) + later)
    transient.delete(member + 1)
  }
  expect(met).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
})
