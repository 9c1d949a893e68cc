/** The shape that a helper's report must have, as JSON Schema, and what of a report does not have it. Pure. */
import { Either, Schema } from "effect"
import * as Nesting from "../operation/Nesting.js"
import * as Misfit from "../operation/Misfit.js"

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

const kinds = ["object", "array", "string", "number", "integer", "boolean", "null"] as const
type Kind = (typeof kinds)[number]

/** What is understood of JSON Schema. No patterns: they are a program that somebody else wrote. */
export interface OutputSchema {
  readonly type?: Kind | ReadonlyArray<Kind> | undefined
  readonly enum?: ReadonlyArray<unknown> | undefined
  readonly const?: unknown
  readonly properties?: { readonly [name: string]: OutputSchema } | undefined
  readonly required?: ReadonlyArray<string> | undefined
  readonly additionalProperties?: boolean | OutputSchema | undefined
  readonly items?: OutputSchema | undefined
  readonly anyOf?: ReadonlyArray<OutputSchema> | undefined
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  readonly minItems?: number | undefined
  readonly maxItems?: number | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly $schema?: string | undefined
}

const KindSchema = Schema.Literal(...kinds)
const Self = Schema.suspend((): Schema.Schema<OutputSchema> => outputSchema)
const some = <A>(schema: Schema.Schema<A>) => Schema.optional(schema)

const outputSchema: Schema.Schema<OutputSchema> = Schema.Struct({
  type: some(Schema.Union(KindSchema, Schema.Array(KindSchema))),
  enum: some(Schema.Array(Schema.Unknown)),
  const: some(Schema.Unknown),
  properties: some(Schema.Record({ key: Schema.String, value: Self })),
  required: some(Schema.Array(Schema.String)),
  additionalProperties: some(Schema.Union(Schema.Boolean, Self)),
  items: some(Self),
  anyOf: some(Schema.Array(Self)),
  minimum: some(Schema.Number),
  maximum: some(Schema.Number),
  minLength: some(Schema.Number),
  maxLength: some(Schema.Number),
  minItems: some(Schema.Number),
  maxItems: some(Schema.Number),
  title: some(Schema.String),
  description: some(Schema.String),
  $schema: some(Schema.String)
})

const decode = Misfit.decoder(outputSchema, { onExcessProperty: "error" })

const deepest = 32

const depthOf = (value: unknown, depth = 0): number =>
  typeof value !== "object" || value === null || depth > deepest
    ? depth
    : Math.max(depth, ...Object.values(value).map((inner) => depthOf(inner, depth + 1)))

/** A schema that is understood as a whole: to leave a part of it out would accept what was not wanted. */
export const of = (input: unknown): Either.Either<OutputSchema, string> =>
  depthOf(input) > deepest
    ? Either.left(`it is nested more than ${deepest} deep`)
    : Either.mapLeft(decode(input), Misfit.innermost)

const kindOf = (value: Json): Kind =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "array"
      : typeof value === "number"
        ? "number"
        : typeof value === "boolean"
          ? "boolean"
          : typeof value === "string"
            ? "string"
            : "object"

const isKind = (value: Json, kind: Kind): boolean =>
  kind === "integer" ? Number.isInteger(value) : kindOf(value) === kind

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const mostErrors = 20

const look = (value: Json, schema: OutputSchema, path: string, errors: Array<string>): void => {
  const wrong = (text: string): void => {
    if (errors.length < mostErrors) errors.push(`${path === "" ? "the whole" : path}: ${text}`)
  }
  const types = schema.type === undefined ? [] : typeof schema.type === "string" ? [schema.type] : schema.type
  if (types.length > 0 && !types.some((kind) => isKind(value, kind)))
    return wrong(`expected ${types.join(" or ")}, not ${kindOf(value)}`)
  if (schema.enum !== undefined && !schema.enum.some((one) => same(one, value)))
    wrong(`expected one of ${JSON.stringify(schema.enum)}`)
  if ("const" in schema && schema.const !== undefined && !same(schema.const, value))
    wrong(`expected ${JSON.stringify(schema.const)}`)
  if (schema.anyOf !== undefined && !schema.anyOf.some((one) => problems(value, one).length === 0))
    wrong("fits none of the allowed shapes")
  if (typeof value === "number") {
    if (schema.minimum !== undefined && value < schema.minimum) wrong(`at least ${schema.minimum}`)
    if (schema.maximum !== undefined && value > schema.maximum) wrong(`at most ${schema.maximum}`)
  } else if (typeof value === "string") {
    if (schema.minLength !== undefined && value.length < schema.minLength) wrong(`at least ${schema.minLength} long`)
    if (schema.maxLength !== undefined && value.length > schema.maxLength) wrong(`at most ${schema.maxLength} long`)
  } else if (isList(value)) {
    if (schema.minItems !== undefined && value.length < schema.minItems) wrong(`at least ${schema.minItems} items`)
    if (schema.maxItems !== undefined && value.length > schema.maxItems) wrong(`at most ${schema.maxItems} items`)
    if (schema.items !== undefined)
      for (const [index, item] of value.entries()) look(item, schema.items, `${path}[${index}]`, errors)
  } else if (typeof value === "object" && value !== null) {
    const known = schema.properties ?? {}
    for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) wrong(`${name} is missing`)
    for (const [name, item] of Object.entries(value)) {
      const inner = Object.hasOwn(known, name) ? known[name] : schema.additionalProperties
      const place = path === "" ? name : `${path}.${name}`
      if (inner === false) wrong(`${name} is not part of it`)
      else if (typeof inner === "object") look(item, inner, place, errors)
    }
  }
}

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

const problems = (value: Json, schema: OutputSchema): ReadonlyArray<string> => {
  const errors: Array<string> = []
  look(value, schema, "", errors)
  return errors
}

const fence = /```(?:json)?\s*\n([^]*?)\n\s*```/

const JsonSchema: Schema.Schema<Json> = Schema.suspend(() =>
  Schema.Union(
    Schema.Null,
    Schema.Boolean,
    Schema.Number,
    Schema.String,
    Schema.Array(JsonSchema),
    Schema.Record({ key: Schema.String, value: JsonSchema })
  )
)
const json = Schema.decodeUnknownEither(Schema.parseJson())
const parsed = Schema.decodeUnknownEither(JsonSchema)

/** Why a report does not have the shape; empty when it has. It may stand in a fence, and nothing else around it. */
export const check = (report: string, schema: OutputSchema): ReadonlyArray<string> => {
  const text = report.trim()
  const value = json((fence.exec(text)?.[1] ?? text).trim())
  if (Either.isLeft(value)) return ["the report is no JSON"]
  if (Nesting.isTooDeep(value.right)) return [`the report is nested more than ${Nesting.deepest} deep`]
  return Either.match(parsed(value.right), {
    onLeft: () => ["the report is no JSON"],
    onRight: (report) => problems(report, schema)
  })
}
