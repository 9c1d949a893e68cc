import { Schema } from "effect"

/** As many milliseconds before or after 1970 a Date can be; beyond there is no instant. */
export const farthest = 8.64e15

export const isMillis = (value: unknown): value is number => typeof value === "number" && Math.abs(value) <= farthest

/** Epoch milliseconds of an instant that is there. What a row holds may be any number, and would have no text. */
export const Millis = Schema.Number.pipe(
  Schema.filter((millis) => isMillis(millis) || "an instant, in milliseconds since 1970")
)

/** An instant: epoch milliseconds inside, an ISO 8601 UTC string on the wire (contract §2). */
export const Instant = Schema.transform(
  Schema.String.pipe(
    Schema.filter((text) => !Number.isNaN(Date.parse(text)) || "an ISO 8601 time, such as 2026-11-29T12:00:00Z")
  ),
  Schema.Number,
  { strict: true, decode: (text) => Date.parse(text), encode: (millis) => new Date(millis).toISOString() }
).annotations({ identifier: "Instant", jsonSchema: { type: "string", format: "date-time" } })
