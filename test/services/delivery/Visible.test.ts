import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { isBlank, withoutInvisible } from "../../../src/services/delivery/Visible.js"

/** Spaces, joiners, marks of direction, fillers, variation selectors, tags, a braille cell without dots. */
const unseen = [
  ..." \t\n\r\u00a0\u3000\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u00ad\u034f\u061c\ufeff\u3164\uffa0\u115f\u17b4\u180e",
  ..."\u2066\u2069\u202a\u202e\ufe0e\ufe0f\u2800\u0000\u0007\ufff9\u{e0001}\u{e0041}\u{e007f}"
]

describe("a text", () => {
  it("of nothing but what shows nothing is blank, however it is put together", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...unseen), { maxLength: 40 }), (parts) => isBlank(parts.join(""))),
      { numRuns: 200 }
    )
  })

  it("with anything to see in it is not, and loses nothing of that", () => {
    const shown = fc.constantFrom("a", ".", "0", "中", "ا", "👍", "👨‍👩‍👧", "-", "́x", "\u0600", "​o")
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...unseen), { maxLength: 9 }), shown, (parts, sign) => {
        const text = `${parts.join("")}${sign}${parts.toReversed().join("")}`
        return !isBlank(text) && !isBlank(withoutInvisible(text))
      }),
      { numRuns: 200 }
    )
    assert.strictEqual(withoutInvisible("\ufeffa\u200bb c\n"), "ab c\n")
  })
})
