/**
 * Tool calls of a transcript as providers accept them. A call may come from another model than the one that reads it now,
 * so ids, names and arguments are put into the common form; the mapping is the same each time.
 */
import { Option, Schema } from "effect"
import * as Nesting from "../../services/operation/Nesting.js"

/** Letters, digits, `_` and `-`, at most 64: the narrowest rule among the providers. */
const plain = (text: string, otherwise: string): string => {
  const cleaned = text.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64)
  return cleaned === "" ? otherwise : cleaned
}

export const wireId = (id: string): string => plain(id, "call")

export const wireName = (name: string): string => plain(name, "unnamed")

const decodeJson = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
)

/** What is nested too deeply could not be written into a request again, this one or any that follows. */
const decodeObject = (text: string) => Option.filter(decodeJson(text), (value) => !Nesting.isTooDeep(value))

/** The arguments as an object; what is none is kept under `invalid_arguments`, so that the model sees what it wrote. */
export const wireArguments = (text: string): { readonly [key: string]: unknown } =>
  text.trim() === "" ? {} : Option.getOrElse(decodeObject(text), () => ({ invalid_arguments: text }))

/** As {@link wireArguments}, as text; what is an object already goes out byte for byte. */
export const wireArgumentText = (text: string): string =>
  Option.isSome(decodeObject(text)) ? text : JSON.stringify(wireArguments(text))
