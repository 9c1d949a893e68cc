/** What the build does to object literals that begin with a spread. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import vm from "node:vm"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck as fc } from "effect"
import { steady } from "../../build/shapes.mjs"

const run = promisify(execFile)

const name = fc.constantFrom("a", "b", "c", "__proto__x", "toString")
const property = fc.oneof(
  name.map((key) => `...${key}`),
  fc.tuple(name, fc.integer()).map(([key, value]) => `${key}: ${value}`),
  name.map((key) => `get ${key}() { return "got" }`),
  name.map((key) => `[Symbol.for("${key}")]: "symbol"`),
  name.map((key) => `${key}() { return "called" }`),
  fc.constant("...(() => ({ nested: { ...a, x: { ...b, y: 1 } } }))()")
)
const literal = fc.array(property, { maxLength: 6 }).map((properties) => `({ ${properties.join(", ")} })`)

/** Keys in their order, with what is behind them and how. */
const told = (code: string): unknown =>
  vm.runInNewContext(`
    const a = { b: 1, a: 2, z: [3] }
    const b = Object.assign(JSON.parse('{ "__proto__": { "own": 1 }, "c": 4 }'), { [Symbol.for("s")]: 5 })
    const c = null
    const toString = "text"
    const __proto__x = { get a() { return 6 } }
    const seen = (value) =>
      typeof value === "function" ? String(value()) : typeof value === "object" && value !== null ? told(value) : value
    const told = (object) => [
      Object.getPrototypeOf(object) === Object.prototype || Array.isArray(object),
      Reflect.ownKeys(object).map((key) => {
        const { value, get, enumerable } = Object.getOwnPropertyDescriptor(object, key)
        return [String(key), get === undefined ? seen(value) : "getter", enumerable]
      })
    ]
    JSON.stringify(told(${code}))
  `)

describe("literals that begin with a spread", () => {
  it.effect.prop("are the same objects afterwards", [literal], ([code]) =>
    Effect.sync(() => {
      expect(told(steady(code))).toBe(told(code))
    })
  )

  it("are changed where more follows, and nothing else is", () => {
    expect(steady("f({ ...a, b: 1 })")).toBe("f({ ...null,...a, b: 1 })")
    expect(steady("({ ...{ ...a, b }, c })")).toBe("({ ...null,...{ ...null,...a, b }, c })")
    for (const code of [
      "({ ...a })",
      "({ b: 1, ...a })",
      "f(...a, b)",
      "[...a, b]",
      "const { ...a } = b",
      "({})",
      "({ ...a, get b() {} })",
      "({ ...a, b: 1, c: 2, b: 3 })",
      "({ ...a, b() {}, ...c, 'b': 3 })"
    ])
      expect(steady(code)).toBe(code)
    expect(() => steady("const {")).toThrow(/cannot parse/)
  })

  it("share a hidden class", async () => {
    const shared = async (code: string) => {
      const program = `const a = { b: 1, c: 2 }; const make = () => (${code}); for (let i = 0; i < 9; i++) make()
        console.log(%HaveSameMap(make(), make()))`
      const { stdout } = await run(process.execPath, ["--allow-natives-syntax", "-e", program])
      return stdout.trim() === "true"
    }
    expect(await shared(steady("({ ...a, x: 1, y: 2 })"))).toBe(true)
  })
})
