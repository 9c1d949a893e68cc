import { Schema } from "effect"

/** A path segment; a client escapes what would end it. Half a surrogate pair has no place in an address. */
export const PathText = Schema.transform(Schema.String, Schema.NonEmptyString, {
  strict: true,
  decode: (text) => text,
  encode: (text) => encodeURIComponent(text.toWellFormed())
})

/** How many rows at most. */
export const Limit = (usual: number, most: number) =>
  Schema.optionalWith(Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, most)), {
    default: () => usual
  })
