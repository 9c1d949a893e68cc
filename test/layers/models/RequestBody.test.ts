import { expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as RequestBody from "../../../src/layers/models/RequestBody.js"

const text = fc.string({ unit: fc.constantFrom("a", "\\", "u", "d83d", '"', "😀", "\ud83d", "\ude00", "\n") })

const righted = (value: unknown): unknown =>
  typeof value === "string"
    ? value.toWellFormed()
    : Array.isArray(value)
      ? value.map(righted)
      : typeof value === "object" && value !== null
        ? Object.fromEntries(Object.entries(value).map(([name, own]) => [name, righted(own)]))
        : value

it.prop(
  "a request is what it was, with no half of a surrogate pair in it",
  [fc.object({ key: fc.constantFrom("a", "b", "c"), values: [text, fc.integer(), fc.constant(null)] })],
  ([payload]) => {
    const body = RequestBody.textOf(payload)
    expect(JSON.parse(body)).toEqual(righted(payload))
    expect(new TextDecoder("utf-8", { fatal: true }).decode(new TextEncoder().encode(body))).toBe(body)
  }
)
