import { Schema } from "effect"

/** A path segment; a client escapes what would end it. */
export const PathText = Schema.transform(Schema.String, Schema.NonEmptyString, {
  strict: true,
  decode: (text) => text,
  encode: (text) => encodeURIComponent(text)
})

/** How many rows at most. */
export const Limit = (usual: number, most: number) =>
  Schema.optionalWith(Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, most)), {
    default: () => usual
  })
