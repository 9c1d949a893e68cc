import { Effect, JSONSchema, type ParseResult, Schema } from "effect"
import * as Misfit from "../operation/Misfit.js"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { ToolDefinition } from "./ModelRoute.js"

/** The call did not do what was asked; `text` is what the model reads, with what it can do about it. */
export class ToolFailure extends Schema.TaggedError<ToolFailure>()("ToolFailure", {
  text: Schema.String,
  /** It was not let run, which is no fault of the call. */
  refused: Schema.optional(Schema.Boolean)
}) {
  override get message(): string {
    return this.text
  }
}

/** How a call may run beside others of the same answer (state-agent.md 3.4): readers overlap readers, a writer excludes what overlaps its path. */
export type Parallelism =
  | { readonly _tag: "Safe" }
  | { readonly _tag: "Never" }
  | { readonly _tag: "Reads"; readonly path: string }
  | { readonly _tag: "Writes"; readonly path: string }

/** What a handler is told about its call. */
export interface CallContext {
  readonly callId: string
  /** Says that a person is about to be asked; the wait that follows, until `started` or the end, does not count against the deadline. */
  readonly waiting: Effect.Effect<void, ToolFailure>
  /** Says that the call has begun to act: after this it is never run again. Handlers that wait for an approval call it after the yes. */
  readonly started: Effect.Effect<void, ToolFailure>
}

/** A tool with its decoding inside: whoever holds it hands it text and gets text. */
export interface Tool<out R = never> {
  readonly name: string
  readonly toolset: string
  readonly definition: ToolDefinition
  /** What a call that went well gives, and the text that stands for it. */
  readonly result: Schema.Schema.AnyNoContext
  /** May only run once approved, and says itself when it has started. */
  readonly gated: boolean
  /** `batch`: cut off at the deadline of all calls of an answer; `own`: the tool bounds itself. */
  readonly deadline: "batch" | "own"
  readonly parallelism: (args: string) => Parallelism
  /** One line for people while it runs. */
  readonly preview: (args: string) => string
  readonly call: (
    args: string,
    context: CallContext
  ) => Effect.Effect<string, ToolFailure | ParseResult.ParseError, R | CurrentTurn>
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const refPrefix = "#/$defs/"

/**
 * References written out and titles left out: many a server that makes a grammar of the schema follows no references,
 * and a title tells a model nothing.
 */
const plain = (
  value: unknown,
  definitions: { readonly [name: string]: unknown },
  within: ReadonlyArray<string>
): unknown => {
  if (Array.isArray(value)) return value.map((item) => plain(item, definitions, within))
  if (!isObject(value)) return value
  const { $ref: reference, ...own } = value
  const rest = Object.fromEntries(
    Object.entries(own).flatMap(([key, item]) =>
      key === "title" && typeof item === "string" ? [] : [[key, plain(item, definitions, within)]]
    )
  )
  if (typeof reference !== "string") return rest
  const name = reference.slice(refPrefix.length)
  if (within.includes(name)) return { $ref: reference, ...rest }
  const definition = plain(definitions[name], definitions, [...within, name])
  return isObject(definition) ? { ...definition, ...rest } : { $ref: reference, ...rest }
}

const describeSchema = <A, I, R>(schema: Schema.Schema<A, I, R>): object => {
  const { $defs: definitions, $schema: _dialect, ...rest } = JSONSchema.make(schema)
  const written = plain(rest, definitions ?? {}, [])
  const described = isObject(written) ? written : rest
  return JSON.stringify(described).includes(`"${refPrefix}`) ? { ...described, $defs: definitions } : described
}

/** A result in plain words, written for the model to read: nothing in it is for a program to take apart. */
export const text = (description: string): Schema.Schema<string> => Schema.String.annotations({ description })

/**
 * Makes a tool from the Schemas of its parameters and of its result, which is text at its other end. Empty arguments are an empty object; a parameter that the tool does
 * not have is refused, because ignoring it would drop what the model was promised.
 */
export const make = <A, I, R, B = string>(options: {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly parameters: Schema.Schema<A, I>
  readonly result: Schema.Schema<B, string>
  readonly gated?: boolean
  readonly deadline?: "batch" | "own"
  readonly parallelism?: (args: A) => Parallelism
  readonly preview?: (args: A) => string
  readonly handler: (args: A, context: CallContext) => Effect.Effect<B, ToolFailure, R>
}): Tool<Exclude<R, CurrentTurn>> => {
  const decode = Misfit.decoder(Schema.parseJson(options.parameters), {
    errors: "all",
    onExcessProperty: "error"
  })
  const decodeOption = Schema.decodeUnknownOption(Schema.parseJson(options.parameters))
  const encode = Schema.encode(options.result, { onExcessProperty: "error" })
  const given = (args: string): string => (args.trim() === "" ? "{}" : args)
  return {
    name: options.name,
    toolset: options.toolset,
    gated: options.gated ?? false,
    deadline: options.deadline ?? "batch",
    definition: {
      name: options.name,
      description: options.description,
      parameters: describeSchema(options.parameters)
    },
    result: options.result,
    parallelism: (args) => {
      const decoded = decodeOption(given(args))
      return decoded._tag === "None" || options.parallelism === undefined
        ? { _tag: "Never" }
        : options.parallelism(decoded.value)
    },
    preview: (args) => {
      const decoded = decodeOption(given(args))
      return decoded._tag === "None" || options.preview === undefined ? options.name : options.preview(decoded.value)
    },
    call: (args, context) =>
      Effect.flatMap(decode(given(args)), (decoded) =>
        // A result that does not fit its own description is a defect of the tool.
        Effect.flatMap(options.handler(decoded, context), (result) => Effect.orDie(encode(result)))
      ) as Effect.Effect<string, ToolFailure | ParseResult.ParseError, Exclude<R, CurrentTurn> | CurrentTurn>
  }
}
