/** What is said over the Model Context Protocol: JSON-RPC 2.0 and the few results that are read. Pure. */
import { Schema } from "effect"
import * as Nesting from "../operation/Nesting.js"

/** Spoken first; servers answer with the one they speak. */
export const protocolVersion = "2025-06-18"

/** A question of the server's (id and method), a note (method alone) or the answer to a question of ours (id alone). */
export const Heard = Schema.Struct({
  id: Schema.optional(Schema.NullOr(Schema.Union(Schema.Number, Schema.String))),
  method: Schema.optional(Schema.String),
  result: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Struct({ code: Schema.Number, message: Schema.String }))
})
export type Heard = typeof Heard.Type

/** A line may hold one message or, from older servers, several. */
export const Line = Schema.parseJson(Schema.Union(Schema.Array(Heard), Heard))

export const Greeted = Schema.Struct({
  protocolVersion: Schema.String,
  capabilities: Schema.Struct({ tools: Schema.optional(Schema.Unknown) })
})

export const Listed = Schema.Struct({
  tools: Schema.Array(
    Schema.Struct({
      name: Schema.NonEmptyString.pipe(Schema.maxLength(200)),
      description: Schema.optionalWith(Schema.String, { default: () => "" }),
      inputSchema: Schema.Struct({ type: Schema.Literal("object") }, { key: Schema.String, value: Schema.Unknown }),
      annotations: Schema.optional(Schema.Struct({ readOnlyHint: Schema.optional(Schema.Boolean) }))
    })
  ),
  nextCursor: Schema.optional(Schema.NullOr(Schema.String))
})

const Part = Schema.Union(
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("image", "audio"), data: Schema.String, mimeType: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("resource"),
    resource: Schema.Struct({
      uri: Schema.String,
      text: Schema.optional(Schema.String),
      mimeType: Schema.optional(Schema.NullOr(Schema.String))
    })
  }),
  Schema.Struct({ type: Schema.Literal("resource_link"), uri: Schema.String, name: Schema.optional(Schema.String) })
)

export const CallResult = Schema.Struct({
  content: Schema.optionalWith(Schema.Array(Part), { default: () => [] }),
  structuredContent: Schema.optional(Schema.Unknown),
  isError: Schema.optional(Schema.Boolean)
})
export type CallResult = typeof CallResult.Type

const shown = (part: typeof Part.Type): string => {
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
