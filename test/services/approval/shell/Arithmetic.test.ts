import { describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { spawnSync } from "node:child_process"
import { expect } from "vitest"
import * as Arithmetic from "../../../../src/services/approval/shell/Arithmetic.js"

const expression: fc.Arbitrary<string> = fc.letrec<{ readonly sum: string }>((tie) => ({
  sum: fc.oneof(
    { maxDepth: 3 },
    fc.integer({ min: 1, max: 9_999 }).map(String),
    fc.integer({ min: 1, max: 9_999 }).map((n) => `0x${n.toString(16)}`),
    fc.integer({ min: 1, max: 511 }).map((n) => `0${n.toString(8)}`),
    fc
      .tuple(tie("sum"), fc.constantFrom("+", "-", " * ", "%", "/"), fc.integer({ min: 1, max: 99 }))
      .map(([left, operator, right]) => `(${left})${operator}${right}`),
    fc.tuple(tie("sum"), fc.constantFrom(" + ", "- ", "*"), tie("sum")).map((parts) => parts.join("")),
    tie("sum").map((inner) => `-(${inner})`)
  )
})).sum

describe("arithmetic of numbers alone", () => {
  it("is what bash makes of it", () => {
    const texts = fc.sample(expression, { numRuns: 200, seed: 7 }).map((text) => `$((${text}))`)
    const { stdout } = spawnSync("bash", ["-c", texts.map((text) => `echo ${text}`).join("\n")], { encoding: "utf8" })
    const given = stdout.trim().split("\n").map(Number)
    const wrong = texts.flatMap((text, at) => {
      const value = Arithmetic.constant(text)
      return value === given[at] || (value === null && !Number.isSafeInteger(given[at]))
        ? []
        : [{ text, value, bash: given[at] }]
    })
    expect(given).toHaveLength(200)
    expect(wrong).toEqual([])
  })

  it("and nothing where there is more to it", () => {
    for (const text of [
      "$((x+1))",
      "$((1 << 2))",
      "$((2**3))",
      "$((1/0))",
      "$(())",
      "$((1 2))",
      "$((08))",
      "$(echo 1)"
    ])
      expect(Arithmetic.constant(text), text).toBeNull()
  })
})
