/** The chat-completions format, both ways: what is sent as plain JSON, what comes decoded loosely (servers differ) but always decoded. */
import { Schema } from "effect"
import type { ModelRequest } from "../../../services/agent/ModelRoute.js"
import type { TokenUsage } from "../../../services/agent/TokenUsage.js"
import type { Message } from "../../../services/session/Transcript.js"
import * as Misfit from "../../../services/operation/Misfit.js"
import * as Effort from "../Effort.js"
import * as Pictures from "../Pictures.js"
import * as RequestBody from "../RequestBody.js"
import { wireArgumentText, wireId, wireName } from "../WireCall.js"

const nullish = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const CallDelta = Schema.Struct({
  index: nullish(Schema.Number),
  id: nullish(Schema.String),
  function: nullish(Schema.Struct({ name: nullish(Schema.String), arguments: Schema.optional(Schema.Unknown) }))
})

const Delta = Schema.Struct({
  /** A text, or typed pieces of one. */
  content: nullish(Schema.Union(Schema.String, Schema.Array(Schema.Unknown))),
  reasoning: Schema.optional(Schema.Unknown),
  reasoning_content: Schema.optional(Schema.Unknown),
  refusal: Schema.optional(Schema.Unknown),
  tool_calls: nullish(Schema.Array(CallDelta))
})
export type Delta = typeof Delta.Type

const Choice = Schema.Struct({
  delta: nullish(Delta),
  message: nullish(Delta),
  finish_reason: nullish(Schema.String)
})

/** One event of a stream, or a whole answer: they differ in `delta` and `message` only. */
export const Answer = Schema.Struct({
  choices: nullish(Schema.Array(Choice)),
  usage: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Unknown),
  object: Schema.optional(Schema.Unknown),
  message: Schema.optional(Schema.Unknown)
})
export type Answer = typeof Answer.Type

export const decodeAnswer = Misfit.decoder(Answer)

const Usage = Schema.Struct({
  prompt_tokens: nullish(Schema.Number),
  completion_tokens: nullish(Schema.Number),
  prompt_tokens_details: nullish(
    Schema.Struct({ cached_tokens: nullish(Schema.Number), cache_write_tokens: nullish(Schema.Number) })
  ),
  prompt_cache_hit_tokens: nullish(Schema.Number),
  completion_tokens_details: nullish(Schema.Struct({ reasoning_tokens: nullish(Schema.Number) }))
})
const decodeUsage = Schema.decodeUnknownOption(Usage)

/** Null when the server counted nothing, or in a way that cannot be read. */
export const usageOf = (value: unknown): TokenUsage | null => {
  const decoded = decodeUsage(value)
  if (decoded._tag === "None") return null
  const usage = decoded.value
  if (typeof usage.prompt_tokens !== "number" && typeof usage.completion_tokens !== "number") return null
  return {
    inputTokens: usage.prompt_tokens ?? 0,
    outputTokens: usage.completion_tokens ?? 0,
    cacheReadTokens: usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? 0,
    cacheWriteTokens: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0
  }
}

const Piece = Schema.Struct({
  type: Schema.optional(Schema.String),
  text: Schema.optional(Schema.String),
  thinking: Schema.optional(Schema.Unknown)
})
const decodePiece = Schema.decodeUnknownOption(Piece)

export interface Spoken {
  readonly text: string
  readonly reasoning: string
}

const ofPieces = (pieces: ReadonlyArray<unknown>): Spoken => {
  let text = ""
  let reasoning = ""
  for (const piece of pieces) {
    const decoded = decodePiece(piece)
    if (decoded._tag === "None") continue
    const { thinking, type } = decoded.value
    if (type === "thinking" || thinking !== undefined)
      reasoning += typeof thinking === "string" ? thinking : Array.isArray(thinking) ? ofPieces(thinking).text : ""
    else text += decoded.value.text ?? ""
  }
  return { text, reasoning }
}

/** What a delta says: servers name their reasoning differently. */
export const spokenIn = (delta: Delta): Spoken => {
  const content = delta.content
  const said = content === null || content === undefined ? null : typeof content === "string" ? null : ofPieces(content)
  const text = said === null ? (typeof content === "string" ? content : "") : said.text
  const thought = delta.reasoning_content ?? delta.reasoning
  return {
    text: text === "" && typeof delta.refusal === "string" ? delta.refusal : text,
    reasoning: (typeof thought === "string" ? thought : "") + (said?.reasoning ?? "")
  }
}

/** How a server wants to be asked and answers; learned from its refusals and answers. */
export interface Dialect {
  readonly stream: boolean
  readonly streamOptions: boolean
  /** Its prompt opens the block of thoughts, so that an answer brings only the block's end. */
  readonly promptOpensThoughts: boolean
}

const messageOf = (message: Message, pictures: ModelRequest["pictures"]): object => {
  switch (message._tag) {
    case "user": {
      const shown = Pictures.of(message, pictures)
      if (shown.length === 0) return { role: "user", content: message.text }
      return {
        role: "user",
        content: [
          ...shown.map((picture) => ({ type: "image_url", image_url: { url: Pictures.dataUrl(picture) } })),
          { type: "text", text: message.text }
        ]
      }
    }
    case "tool":
      return { role: "tool", tool_call_id: wireId(message.callId), content: message.text }
    case "assistant":
      return message.toolCalls.length === 0
        ? { role: "assistant", content: message.text }
        : {
            role: "assistant",
            content: message.text === "" ? null : message.text,
            tool_calls: message.toolCalls.map((call) => ({
              id: wireId(call.id),
              type: "function",
              function: { name: wireName(call.name), arguments: wireArgumentText(call.arguments) }
            }))
          }
  }
}

const saysNothing = (message: Message): boolean =>
  message._tag === "assistant" && message.text === "" && message.toolCalls.length === 0

/** The body of a request: the same transcript makes the same bytes, so that a server's prefix cache holds. */
export const bodyOf = (
  request: ModelRequest,
  model: string,
  dialect: Pick<Dialect, "stream" | "streamOptions">
): string =>
  RequestBody.textOf({
    model,
    messages: [
      ...(request.systemPrompt === "" ? [] : [{ role: "system", content: request.systemPrompt }]),
      ...request.messages
        .filter((message) => !saysNothing(message))
        .map((message) => messageOf(message, request.pictures))
    ],
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({
            type: "function",
            function: { name: tool.name, description: tool.description, parameters: tool.parameters }
          }))
        }),
    ...(Effort.of(request) === null ? {} : { reasoning_effort: Effort.of(request) }),
    stream: dialect.stream,
    ...(dialect.stream && dialect.streamOptions ? { stream_options: { include_usage: true } } : {})
  })
