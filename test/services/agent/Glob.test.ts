import { describe, it } from "@effect/vitest"
import { expect } from "vitest"
import * as Glob from "../../../src/services/agent/Glob.js"

describe("a glob", () => {
  it.each([
    ["*.ts", "a.ts", true],
    ["*.ts", "deep/down/a.ts", true],
    ["*.ts", "a.tsx", false],
    ["*", "a/b", true],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["[^a-c]x", "dx", true],
    ["[x", "[x", true],
    ["*.{ts,tsx}", "a.tsx", true],
    ["*.{ts,tsx}", "a.js", false],
    ["{a,b}{1,2}.*", "b2.c", true],
    ["src/*.ts", "src/a.ts", true],
    ["src/*.ts", "src/b/a.ts", false],
    ["src/*.ts", "x/src/a.ts", false],
    ["./src/*.ts", "src/a.ts", true],
    ["src/**/*.ts", "src/a.ts", true],
    ["src/**/*.ts", "src/b/c/a.ts", true],
    ["**/test/**", "a/test/b/c", true],
    ["**", "a/b", true],
    ["a*b*c", "axxbyyc", true],
    ["a*b*c", "axxcyyb", false],
    ["ü*", "üb", true],
    ["a.ts", "axts", false],
    ["(a+)+", "(a+)+", true]
  ] as const)("%s takes %s: %s", (pattern, file, expected) => {
    expect(Glob.make(pattern)(file)).toBe(expected)
  })

  it("takes no longer for a pattern that backtracks", () => {
    const started = performance.now()
    expect(Glob.make(`${"*a".repeat(100)}b`)("a".repeat(2_000))).toBe(false)
    expect(Glob.make(`${"**/a/".repeat(50)}b`)("a/".repeat(500))).toBe(false)
    expect(Glob.make("{a,b}".repeat(30))("ab".repeat(15))).toBe(false)
    expect(performance.now() - started).toBeLessThan(2_000)
  })
})
