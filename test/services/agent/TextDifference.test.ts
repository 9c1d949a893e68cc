import { describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { expect } from "vitest"
import * as TextDifference from "../../../src/services/agent/TextDifference.js"
import { scaled } from "../../scale.js"

describe("the difference of two texts", () => {
  it("shows what went and what came, and three lines around", () => {
    const before = "1 2 3 4 5 6 7 8 9".split(" ").join("\n")
    expect(TextDifference.between(before, before.replace("5", "five"), 4_000)).toBe(" 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8")
    expect(TextDifference.between("a\nb", "a\nb\nc", 4_000)).toBe(" a\n b\n+c")
    expect(TextDifference.between("", "x", 4_000)).toBe("-\n+x")
  })

  it("is bounded, however long they are", () => {
    const many = (word: string) => Array.from({ length: 5_000 }, (_, at) => `${word} ${at}`).join("\n")
    const text = TextDifference.between(many("old"), many("new"), 4_000)
    expect(text.length).toBeLessThan(4_100)
    expect(text).toContain("[… more]")
  })

  it("tells every changed line", () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 })
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const shown = TextDifference.between(before.join("\n"), after.join("\n"), 100_000).split("\n")
        const count = (sign: string) => shown.filter((line) => line.startsWith(sign)).length
        // an empty text has one empty line
        expect(count("+") - count("-")).toBe(Math.max(1, after.length) - Math.max(1, before.length))
      }),
      { numRuns: scaled(2_000, 200) }
    )
  })
})
