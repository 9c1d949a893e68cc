import { describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { expect } from "vitest"
import * as RequiredText from "../../../src/services/agent/RequiredText.js"
import { scaled } from "../../scale.js"

describe("RequiredText", () => {
  it("is the longest text that no match is without", () => {
    const texts: ReadonlyArray<readonly [string, string | null]> = [
      ["needle", "needle"],
      ["the needle of", "the needle of"],
      ["^import .* from", "import "],
      ["colou?r of things", "r of things"],
      ["abc+def", "abc"],
      ["abcx*def", "abc"],
      ["abcx{0,2}defg", "defg"],
      ["foo\\.bar\\(", "foo.bar("],
      ["(abc|def)ghi", "ghi"],
      ["(?<!a )needle", "needle"],
      ["[abc\\]def]ghi", "ghi"],
      ["\\bword\\b", "word"],
      ["abc|def", null],
      ["ab", null],
      ["\\u0041BCD", null],
      ["\\x41BCD", null],
      ["(a)\\1bcd", null],
      ["größe", null],
      ["x{,3}", null],
      ["(abc", null]
    ]
    for (const [source, text] of texts) expect([source, RequiredText.of(source)]).toEqual([source, text])
  })

  it("is in whatever matches", () => {
    const atom = fc.constantFrom("a", "b", "ab", "abc", ".", "[ab]", "[^c|]", "(ab|c)", "(?:abc)", "\\.", "[(]")
    const part = fc
      .tuple(atom, fc.constantFrom("", "", "", "*", "?", "+", "{0,1}", "{2}", "+?"))
      .map((both) => both.join(""))
    const source = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""))
    const text = fc
      .array(fc.constantFrom("abc", "ab", "aab", "bc", "a", "c", ".", "("), { maxLength: 12 })
      .map((parts) => parts.join(""))
    let certain = 0
    fc.assert(
      fc.property(source, text, (pattern, line) => {
        const required = RequiredText.of(pattern)
        const match = required === null ? null : new RegExp(pattern).exec(line)
        if (required === null || match === null) return
        certain += 1
        expect([pattern, match[0].includes(required)]).toEqual([pattern, true])
      }),
      { numRuns: scaled(200_000, 4_000) }
    )
    expect(certain).toBeGreaterThan(20)
  })
})
