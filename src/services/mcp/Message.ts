/** What is said over the Model Context Protocol: JSON-RPC 2.0 and the few results that are read. Pure. */
import { Either, Schema } from "effect"
import * as Misfit from "../operation/Misfit.js"
import * as Nesting from "../operation/Nesting.js"
import { shortened } from "../operation/Shortened.js"

/** Spoken first; servers answer with the one they speak. */
export const protocolVersion = "2025-06-18"

/** A question of the server's (id and method), a note (method alone) or the answer to a question of ours (id alone). */
export const Heard = Schema.Struct({
  id: Schema.optional(Schema.NullOr(Schema.Union(Schema.Number, Schema.String))),
  method: Schema.optional(Schema.String),
  result: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.NullOr(Schema.Struct({ code: Schema.Number, message: Schema.String })))
})
export type Heard = typeof Heard.Type

/** A line may hold one message or, from older servers, several. */
export const Line = Schema.parseJson(Schema.Union(Schema.Array(Heard), Heard))

export const Greeted = Schema.Struct({
  protocolVersion: Schema.String,
  capabilities: Schema.Struct({ tools: Schema.optional(Schema.Unknown) })
})

/** Each tool is decoded by itself: one that is odd takes the others away from nobody. */
export const Listed = Schema.Struct({
  tools: Schema.Array(Schema.Unknown),
  nextCursor: Schema.optional(Schema.NullOr(Schema.String))
})

const longestToolName = 200
const saying = (message: string) => ({ message: () => ({ message, override: true }) })
const AnyRecord = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const OfferedTool = Schema.Struct({
  name: Schema.NonEmptyString.pipe(Schema.maxLength(longestToolName)).annotations(
    saying(`expected a text of 1 to ${longestToolName} characters`)
  ),
  description: Schema.optionalWith(Schema.NullOr(Schema.String).annotations(saying("expected a text")), {
    exact: true
  }),
  inputSchema: Schema.Struct(
    {
      type: Schema.Literal("object"),
      properties: Schema.optional(
        Schema.Record({ key: Schema.String, value: Schema.Union(AnyRecord, Schema.Boolean) })
      ),
      required: Schema.optional(Schema.Array(Schema.String))
    },
    { key: Schema.String, value: Schema.Unknown }
  ).annotations(saying('expected a JSON Schema of type "object"')),
  annotations: Schema.optional(Schema.Unknown)
}).annotations({ message: () => "expected a tool with name, description and inputSchema" })
export const decodeTool = Misfit.decoder(OfferedTool)

/** Does it say of itself that it changes nothing? Hints that are not understood say nothing. */
export const isReadOnly = Schema.is(Schema.Struct({ readOnlyHint: Schema.Literal(true) }))

const nullish = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const Part = Schema.Union(
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("image", "audio"), data: Schema.String, mimeType: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("resource"),
    resource: Schema.Struct({ uri: Schema.String, text: nullish(Schema.String) })
  }),
  Schema.Struct({ type: Schema.Literal("resource_link"), uri: Schema.String, name: nullish(Schema.String) })
)
const decodePart = Misfit.decoder(Part)
const isTyped = Schema.is(Schema.Struct({ type: Schema.String }))

/** The call was made, so what it answered is not lost for a piece that is not understood. */
export const CallResult = Schema.Struct({
  content: Schema.optionalWith(Schema.Array(Schema.Unknown), { nullable: true, default: () => [] }),
  structuredContent: Schema.optional(Schema.Unknown),
  isError: nullish(Schema.Boolean)
})
export type CallResult = typeof CallResult.Type

const shown = (piece: unknown): string => {
  const decoded = decodePart(piece)
  if (Either.isLeft(decoded))
    return `[a piece of ${isTyped(piece) ? `type ${shortened(piece.type)}` : "no type"} that is not understood]`
  const part = decoded.right
  switch (part.type) {
    case "text":
      return part.text
    case "image":
    case "audio":
      return `[${part.type}, ${part.mimeType}, ${Math.round((part.data.length * 3) / 4)} bytes: not shown]`
    case "resource":
      return `[${part.resource.uri}]\n${part.resource.text ?? "[not text, so not shown]"}`
    case "resource_link":
      return `[${part.name ?? "resource"}: ${part.uri}]`
  }
}

/** A result as the model reads it. */
export const textOf = ({ content, structuredContent }: CallResult): string => {
  const text = content.map(shown).join("\n")
  return text === "" && structuredContent !== undefined ? Nesting.json(structuredContent) : text
}

/** Models take no longer names. */
const longestName = 64

/** What the model calls a tool; providers take letters, digits, `_` and `-` only. */
export const toolName = (server: string, tool: string): string =>
  `mcp__${server}__${tool}`.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, longestName)
