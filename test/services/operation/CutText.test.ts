import { expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as CutText from "../../../src/services/operation/CutText.js"

const text = fc.string({ unit: fc.constantFrom("a", "é", "😀", "👩‍👩‍👧"), maxLength: 20 })
const most = fc.integer({ min: 0, max: 30 })

it.prop(
  "a cut text is the beginning or the end, as long as it may be, of whole characters",
  [text, most],
  ([text, most]) => {
    for (const [cut, isPart] of [
      [CutText.beginning(text, most), text.startsWith(CutText.beginning(text, most))],
      [CutText.end(text, most), text.endsWith(CutText.end(text, most))]
    ] as const) {
      expect(cut.isWellFormed()).toBe(true)
      expect(isPart).toBe(true)
      expect(cut.length).toBeLessThanOrEqual(most)
      expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, most) - 1)
    }
  }
)
