import { Schema } from "effect"

/** A text that can be stored, written as UTF-8 and named in an address: of half a surrogate pair becomes U+FFFD, as in messages. */
export const WellFormed = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: (text) => text.toWellFormed(),
  encode: (text) => text
})
