import { describe, it } from "@effect/vitest"
import { expect } from "vitest"
import type { Parallelism } from "../../../src/services/agent/Tool.js"
import * as ToolPlan from "../../../src/services/agent/ToolPlan.js"

const reads = (path: string): Parallelism => ({ _tag: "Reads", path })
const writes = (path: string): Parallelism => ({ _tag: "Writes", path })
const never: Parallelism = { _tag: "Never" }
const safe: Parallelism = { _tag: "Safe" }

describe("paths that overlap", () => {
  it.each([
    ["a", "a", true],
    ["a", "a/b", true],
    ["a/", "a/b", true],
    [".", "b", true],
    ["/", "/x", true],
    ["./a", "a", true],
    ["a", "ab", false],
    ["a", "b", false],
    ["/x/a", "/x/b", false],
    ["a", "/x/a", true],
    ["../a", "b", true],
    ["~/a", "b", true]
  ] as const)("%s and %s: %s", (a, b, expected) => {
    expect(ToolPlan.overlaps(a, b)).toBe(expected)
    expect(ToolPlan.overlaps(b, a)).toBe(expected)
  })
})

describe("segments", () => {
  const cut = (...modes: ReadonlyArray<Parallelism>) =>
    ToolPlan.segments(
      modes.map((_, index) => index),
      (index) => modes[index] ?? never
    )

  it("keep the order and put together what may overlap", () => {
    expect(cut(reads("a"), reads("a"), safe)).toEqual([[0, 1, 2]])
    expect(cut(reads("a"), never, reads("b"))).toEqual([[0], [1], [2]])
    expect(cut(reads("a"), writes("a"), reads("b"))).toEqual([[0], [1, 2]])
    expect(cut(writes("a"), writes("b"), writes("a"))).toEqual([[0, 1], [2]])
    expect(cut(writes("dir/x"), reads("dir"))).toEqual([[0], [1]])
    expect(cut()).toEqual([])
  })
})

describe("identical calls", () => {
  const call = (name: string, args: string, id = "x") => ({ id, name, arguments: args })

  it("are the same whatever the order of their keys, and an empty text is an empty object", () => {
    expect(
      ToolPlan.merged([call("t", '{"a":1,"b":{"c":2,"d":3}}'), call("t", '{ "b":{"d":3,"c":2}, "a":1 }')])
    ).toEqual([[0, 1]])
    expect(ToolPlan.merged([call("t", ""), call("u", "{}"), call("t", " {} ")])).toEqual([[0, 2], [1]])
    expect(
      ToolPlan.merged([call("t", "[1,2]"), call("t", "[2,1]"), call("t", "no json"), call("t", "no json")])
    ).toEqual([[0], [1], [2, 3]])
  })
})

describe("names", () => {
  const tools = [{ name: "read_file" }, { name: "a_b" }, { name: "ab" }]

  it.each([
    ["read_file", "read_file"],
    ["ReadFile", "read_file"],
    ["read-file", "read_file"],
    ["READ FILE", "read_file"],
    ["ab", "ab"],
    ["AB", undefined],
    ["write_file", undefined],
    ["", undefined]
  ])("%s means %s", (name, expected) => {
    expect(ToolPlan.named(name, tools)?.name).toBe(expected)
  })
})
