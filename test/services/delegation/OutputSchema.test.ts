import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import * as OutputSchema from "../../../src/services/delegation/OutputSchema.js"

const schema = (input: unknown): OutputSchema.OutputSchema => Either.getOrThrow(OutputSchema.of(input))

describe("the shape of a report", () => {
  it("is checked in all its parts, and says where it is not met", () => {
    const shape = schema({
      type: "object",
      required: ["name", "sizes"],
      additionalProperties: false,
      properties: {
        name: { type: "string", minLength: 2 },
        sizes: { type: "array", minItems: 1, items: { type: "integer", maximum: 9 } },
        kind: { enum: ["a", "b"] },
        other: { anyOf: [{ type: "null" }, { const: 1 }] }
      }
    })
    assert.deepStrictEqual(OutputSchema.check('{"name":"ok","sizes":[1],"kind":"a","other":null}', shape), [])
    assert.deepStrictEqual(OutputSchema.check('Here:\n```json\n{"name":"ok","sizes":[1]}\n```', shape), [])
    assert.deepStrictEqual(OutputSchema.check("sure!", shape), ["the report is no JSON"])
    assert.deepStrictEqual(OutputSchema.check('{"name":"x","sizes":[1,10,"c"],"kind":"z","other":2,"more":1}', shape), [
      "name: at least 2 long",
      "sizes[1]: at most 9",
      "sizes[2]: expected integer, not string",
      'kind: expected one of ["a","b"]',
      "other: fits none of the allowed shapes",
      "the whole: more is not part of it"
    ])
    assert.deepStrictEqual(OutputSchema.check("[]", shape), ["the whole: expected object, not array"])
  })

  it("is refused when a part of it is not understood, or it is endlessly deep", () => {
    for (const bad of [{ pattern: "(a+)+$" }, { properties: { a: { format: "date" } } }, { type: "text" }, [], 3])
      assert.isTrue(Either.isLeft(OutputSchema.of(bad)), JSON.stringify(bad))
    let deep: object = { type: "string" }
    for (let level = 0; level < 5_000; level++) deep = { items: deep }
    assert.isTrue(Either.isLeft(OutputSchema.of(deep)))
  })

  it("never throws, whatever is reported", () => {
    const shape = schema({ type: "object", properties: { __proto__: { type: "string" }, a: { items: {} } } })
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => Array.isArray(OutputSchema.check(text, shape))))
  })
})
