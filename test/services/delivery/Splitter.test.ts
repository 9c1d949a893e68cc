import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as Markup from "../../../src/services/delivery/Markup.js"
import { measure, pieces, split, type Limit, type Piece } from "../../../src/services/delivery/Splitter.js"
import { scaled } from "../../scale.js"

const telegram: Limit = { maxMessageLength: 4096, lengthUnit: "utf16" }
const discord: Limit = { maxMessageLength: 2000, lengthUnit: "chars" }
const small: Limit = { maxMessageLength: 128, lengthUnit: "utf16" }

const joined = (all: ReadonlyArray<Piece>): string => all.map((piece) => piece.body + piece.separator).join("")

/** Counts fence lines the simple way: an opening one, then its closing one. */
const isBalanced = (text: string): boolean => Markup.parse(text).fences.every((fence) => fence.closed)

const words = fc.constantFrom(
  "word ",
  "a",
  " ",
  "\n",
  "\n\n",
  "`code span`",
  "`` a ` b ``",
  "`",
  "\n```js\n",
  "\n```\n",
  "\n~~~~python title\n",
  "\n~~~~\n",
  "```",
  "x".repeat(90),
  "😀",
  "👨‍👩‍👧‍👦",
  "é̂",
  "const answer = 42\n",
  "| a | b |\n"
)
const texts = fc.array(words, { maxLength: 400 }).map((parts) => parts.join(""))
const limits = fc.record({
  maxMessageLength: fc.integer({ min: 128, max: 700 }),
  lengthUnit: fc.constantFrom<Limit["lengthUnit"]>("utf16", "chars")
})

describe("Splitter", () => {
  it("leaves a text that fits as it is", () => {
    expect(split("hello", telegram)).toEqual(["hello"])
    expect(split("```js\nunclosed", telegram)).toEqual(["```js\nunclosed"])
    expect(split("", telegram)).toEqual([""])
    expect(split("x".repeat(4096), telegram)).toHaveLength(1)
  })

  it("counts UTF-16 units for Telegram and characters for Discord", () => {
    expect(measure("😀", "utf16")).toBe(2)
    expect(measure("😀", "chars")).toBe(1)
    expect(split("😀".repeat(2048), telegram)).toHaveLength(1)
    expect(split("😀".repeat(2049), telegram)).toHaveLength(2)
    expect(split("😀".repeat(2000), discord)).toHaveLength(1)
  })

  it("numbers the pieces and cuts at the newline beyond the half, else at a space", () => {
    const line = `${"y".repeat(80)}\n`
    expect(split(line + "z".repeat(100), small)[0]).toBe(`${"y".repeat(80)} (1/2)`)
    expect(split(`short\n${"some words ".repeat(20)}`, small)[0]).toMatch(/^short\n.*words \(1\/\d\)$/)
    expect(split(`${"w".repeat(100)} ${"v".repeat(100)}`, small)).toEqual([
      `${"w".repeat(100)} (1/2)`,
      `${"v".repeat(100)} (2/2)`
    ])
  })

  it("closes a fence and opens it again with its language, its counter below", () => {
    const code = Array.from({ length: 40 }, (_, n) => `const value${n} = ${n}`).join("\n")
    const parts = split(`Look:\n\`\`\`ts\n${code}\n\`\`\`\nDone.`, { ...small, maxMessageLength: 200 })
    expect(parts.length).toBeGreaterThan(3)
    for (const part of parts.slice(1, -1)) expect(part).toMatch(/^```ts\nconst [^]*\n```\n\(\d+\/\d+\)$/)
    expect(parts.at(-1)).toMatch(/\n```\nDone\. \(\d+\/\d+\)$/)
  })

  it("never cuts inside inline code", () => {
    const parts = split(
      `${"a ".repeat(50)}\`rm -rf / some/long/path with spaces\` and more words to come after it`,
      small
    )
    expect(parts.some((part) => part.includes("`rm -rf / some/long/path with spaces`"))).toBe(true)
  })

  it("never cuts a surrogate pair or a family of emoji", () => {
    for (let shift = 0; shift < 12; shift += 1) {
      for (const part of split("x".repeat(shift) + "👨‍👩‍👧‍👦".repeat(200), small)) {
        expect(
          part
            .replace(/^x*/, "")
            .replace(/ \(\d+\/\d+\)$/, "")
            .replaceAll("👨‍👩‍👧‍👦", "")
        ).toBe("")
      }
    }
  })

  it("takes ten megabytes, with four digits in the counter", () => {
    const text = "lorem ipsum dolor sit amet ".repeat(400_000)
    const parts = pieces(text, telegram)
    expect(joined(parts)).toBe(text)
    expect(parts.every((part) => part.text.length <= 4096)).toBe(true)
    expect(parts.at(-1)?.text).toMatch(/\((\d{4})\/\1\)$/)
    expect(split("`".repeat(3_000_000), telegram).length).toBeGreaterThan(700)
  })

  it("still cuts where a limit leaves no room for fences", () => {
    expect(split("abcdef", { maxMessageLength: 4, lengthUnit: "chars" })).toEqual(["abcd", "ef"])
    expect(split("😀😀", { maxMessageLength: 1, lengthUnit: "utf16" })).toEqual(["😀", "😀"])
  })

  it.prop(
    "keeps the limit, the content and the fences",
    [texts, limits],
    ([text, limit]) => {
      const parts = pieces(text, limit)
      expect(joined(parts)).toBe(text)
      if (parts.length === 1) return
      for (const [index, part] of parts.entries()) {
        expect(measure(part.text, limit.lengthUnit)).toBeLessThanOrEqual(limit.maxMessageLength)
        expect(isBalanced(part.text)).toBe(true)
        expect(part.text.endsWith(`(${index + 1}/${parts.length})`)).toBe(true)
        expect(part.body.length + part.separator.length).toBeGreaterThan(0)
        expect(/[\uD800-\uDFFF]/u.test(part.text)).toBe(false)
      }
    },
    { fastCheck: { numRuns: scaled(5_000) } }
  )
})
