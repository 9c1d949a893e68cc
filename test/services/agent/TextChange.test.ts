import { describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"
import { expect } from "vitest"
import * as PatchText from "../../../src/services/agent/PatchText.js"
import * as TextChange from "../../../src/services/agent/TextChange.js"
import { scaled } from "../../scale.js"

const file = ["function one() {", "  return 1", "}", "", "function two() {", "  return 1", "}", ""].join("\n")

const replaced = (text: string, before: string, after: string, all = false) =>
  Either.match(TextChange.replace(text, before, after, all), {
    onLeft: (problem) => ({ problem }),
    onRight: ({ notes, text }) => ({ text, notes })
  })

const patched = (text: string, patch: string) => {
  const [change] = Either.getOrThrowWith(PatchText.parse(patch), (problem) => new Error(problem))
  if (change?._tag !== "Update") throw new Error(`no update: ${change?._tag}`)
  return Either.match(TextChange.apply(text, change.hunks), {
    onLeft: (problem) => problem,
    onRight: ({ text }) => text
  })
}

describe("one place", () => {
  it("is found exactly, within a line too, and only where it is the only one", () => {
    expect(replaced("a cat\n", "cat", "dog")).toEqual({ text: "a dog\n", notes: [] })
    expect(replaced(file, "return 1", "return 2")).toMatchObject({
      problem: expect.stringContaining("stands 2 times in the file (lines 2, 6)")
    })
    expect(replaced(file, "return 1", "return 2", true)).toMatchObject({
      text: file.replaceAll("return 1", "return 2")
    })
    expect(replaced("$& a", "a", "$& $1")).toMatchObject({ text: "$& $& $1" })
  })

  it("is forgiven ends of lines, spacing, typographic quotes and the indentation of the whole", () => {
    expect(replaced("a  \nb\n", "a\nb", "c")).toMatchObject({
      text: "c\n",
      notes: [expect.stringContaining("line ends")]
    })
    expect(replaced("x =   'y'\n", "x = \u2018y\u2019", "z")).toMatchObject({ text: "z\n" })
    expect(replaced("  if (a) {\n    b()\n  }\n", "if (a) {\n  b()\n}", "if (a) {\n  c()\n  d()\n}")).toMatchObject({
      text: "  if (a) {\n    c()\n    d()\n  }\n"
    })
    expect(replaced("a\r\nb\r\nc\r\n", "a\nb", "x\ny")).toEqual({ text: "x\r\ny\r\nc\r\n", notes: [] })
    expect(replaced("\uFEFFa\n", "a", "b")).toMatchObject({ text: "\uFEFFb\n" })
  })

  it("is never guessed: what is only alike is shown and not changed", () => {
    expect(replaced(file, "  return 7 + one", "  return 2")).toMatchObject({
      problem: expect.stringContaining("most like it is:\n2|  return 1")
    })
    expect(replaced(file, "entirely else", "x")).toMatchObject({ problem: expect.stringContaining("read it again") })
    expect(replaced("  a\n    a\n", "a\n", "b\n")).toMatchObject({ problem: expect.stringContaining("2 times") })
  })
})

describe("a patch", () => {
  const v4a = (body: string) => `*** Begin Patch\n*** Update File: f\n${body}\n*** End Patch`

  it("changes what stands behind its anchor, and says when the place is not clear", () => {
    expect(patched(file, v4a("@@ function two() {\n-  return 1\n+  return 2"))).toBe(
      file.replace(/return 1(?=\n}\n$)/, "return 2")
    )
    expect(patched(file, v4a("-  return 1\n+  return 2"))).toContain("stands 2 times")
    expect(patched(file, v4a("@@ function three() {\n-  return 1\n+  return 2"))).toContain("there is no line")
    expect(patched("a\nb", v4a("-b\n+c\n*** End of File"))).toBe("a\nc")
    expect(patched("a\n", v4a("+b"))).toBe("a\nb\n")
  })

  it("keeps what it only frames as the file has it", () => {
    expect(patched("  keep  \n  old\n  keep\u00A0too\n", v4a(" keep\n-old\n+new\n keep too"))).toBe(
      "  keep  \n  new\n  keep\u00A0too\n"
    )
  })

  it("as a diff stands where its numbers say, or nearest to it", () => {
    const diff = "--- a/f\n+++ b/f\n@@ -6,1 +6,1 @@\n-  return 1\n+  return 2\n"
    expect(patched(file, diff)).toBe(file.replace(/return 1(?=\n}\n$)/, "return 2"))
    expect(patched("-- a\n-- b\n", "--- f\n+++ f\n@@ -1,2 +1,1 @@\n--- a\n -- b\n")).toBe("-- b\n")
  })

  it("that touches a file twice, is empty or broken is refused", () => {
    const refused = (text: string) =>
      Either.match(PatchText.parse(text), { onLeft: (problem) => problem, onRight: () => "taken" })
    expect(refused("hello")).toContain("there is no change in it")
    expect(refused("*** Begin Patch\n*** Delete File: a\n*** Delete File: a\n*** End Patch")).toContain("stands twice")
    expect(refused(v4a("oops"))).toContain("begins with a blank, + or -")
    expect(refused("*** Begin Patch\n*** Add File: a\nno plus\n*** End Patch")).toContain("begins with +")
  })

  it("made of any two texts leads from the one to the other", () => {
    const line = FastCheck.constantFrom("a", "b", "  c", "", "-d", "+e", "@@ f", "*** g")
    const lines = FastCheck.array(line, { minLength: 1, maxLength: 8 })
    FastCheck.assert(
      FastCheck.property(lines, lines, (before, after) => {
        const diff = [
          "--- a/f",
          "+++ b/f",
          `@@ -1,${before.length} +1,${after.length} @@`,
          ...before.map((one) => `-${one}`),
          ...after.map((one) => `+${one}`)
        ].join("\n")
        expect(patched(`${before.join("\n")}\n`, diff)).toBe(`${after.join("\n")}\n`)
      }),
      { numRuns: scaled(2_000) }
    )
  })
})
