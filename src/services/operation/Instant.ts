import { Schema } from "effect"

/** An instant: epoch milliseconds inside, an ISO 8601 UTC string on the wire (contract §2). */
export const Instant = Schema.transform(
  Schema.String.pipe(
    Schema.filter((text) => !Number.isNaN(Date.parse(text)) || "an ISO 8601 time, such as 2026-11-29T12:00:00Z")
  ),
  Schema.Number,
  { strict: true, decode: (text) => Date.parse(text), encode: (millis) => new Date(millis).toISOString() }
).annotations({ identifier: "Instant", jsonSchema: { type: "string", format: "date-time" } })
