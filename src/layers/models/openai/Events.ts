/** The events of the Responses API, read loosely: only the fields that count. Arguments stay text (decision 30). */
import { Option, Schema } from "effect"
import type { BackendName, ModelPart } from "../../../services/agent/ModelRoute.js"
import type { TokenUsage } from "../../../services/agent/TokenUsage.js"
import * as ErrorBody from "../ErrorBody.js"
import type { EventReader } from "../EventParts.js"
import { finishReason } from "../FinishReason.js"
import type { Trouble } from "../Trouble.js"

/** What every event has; the rest is decoded where its type is known. */
export const Event = Schema.Struct({
  type: Schema.String,
  delta: Schema.optional(Schema.Unknown),
  item: Schema.optional(Schema.Unknown),
  response: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Unknown),
  code: Schema.optional(Schema.Unknown),
  message: Schema.optional(Schema.Unknown)
})
export type Event = typeof Event.Type

const nullish = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const FunctionCall = Schema.Struct({
  type: Schema.Literal("function_call"),
  id: nullish(Schema.String),
  call_id: nullish(Schema.String),
  name: Schema.String,
  arguments: nullish(Schema.String)
})
type FunctionCall = typeof FunctionCall.Type
const decodeCall = Schema.decodeUnknownOption(FunctionCall)

const OutputMessage = Schema.Struct({
  type: Schema.Literal("message"),
  content: Schema.Array(Schema.Struct({ text: nullish(Schema.String), refusal: nullish(Schema.String) }))
})
const decodeMessage = Schema.decodeUnknownOption(OutputMessage)

const Response = Schema.Struct({
  output: nullish(Schema.Array(Schema.Unknown)),
  usage: nullish(
    Schema.Struct({
      input_tokens: nullish(Schema.Number),
      output_tokens: nullish(Schema.Number),
      input_tokens_details: nullish(Schema.Struct({ cached_tokens: nullish(Schema.Number) })),
      output_tokens_details: nullish(Schema.Struct({ reasoning_tokens: nullish(Schema.Number) }))
    })
  ),
  incomplete_details: nullish(Schema.Struct({ reason: nullish(Schema.String) })),
  error: Schema.optional(Schema.Unknown)
})
type Response = typeof Response.Type
const decodeResponse = Schema.decodeUnknownOption(Response)

const usageOf = (usage: Response["usage"]): TokenUsage | null =>
  usage === null || usage === undefined
    ? null
    : {
        inputTokens: usage.input_tokens ?? 0,
        outputTokens: usage.output_tokens ?? 0,
        cacheReadTokens: usage.input_tokens_details?.cached_tokens ?? 0,
        cacheWriteTokens: 0,
        reasoningTokens: usage.output_tokens_details?.reasoning_tokens ?? 0
      }

export const reader = (backend: BackendName): EventReader<Event> => {
  const called = new Set<string>()
  let size = 0
  let spoke = false
  let advanced = false
  let over = false
  let trouble: Trouble | null = null

  const spoken = (kind: "Text" | "Reasoning", delta: unknown): ReadonlyArray<ModelPart> => {
    if (typeof delta !== "string" || delta === "") return []
    size += delta.length
    spoke ||= kind === "Text"
    return [{ _tag: kind, delta }]
  }

  const call = (item: FunctionCall): ReadonlyArray<ModelPart> => {
    const id = item.call_id ?? item.id ?? `call_${called.size + 1}`
    if (called.has(id)) return []
    called.add(id)
    const args = item.arguments ?? ""
    size += args.length
    return [{ _tag: "ToolCall", id, name: item.name, arguments: args }]
  }

  /** Calls and words that came without events of their own. */
  const left = (output: ReadonlyArray<unknown>): ReadonlyArray<ModelPart> => {
    const saidBefore = spoke
    return output.flatMap((item) => {
      const function_ = decodeCall(item)
      if (Option.isSome(function_)) return call(function_.value)
      const message = decodeMessage(item)
      if (saidBefore || Option.isNone(message)) return []
      return message.value.content.flatMap(({ refusal, text }) => spoken("Text", text ?? refusal))
    })
  }

  const blame = (value: unknown): void => {
    const said = ErrorBody.fromJson(value) ?? { code: null, message: "the response failed without a word" }
    trouble = { reason: "judge", ...said }
  }

  const complete = (event: Event, wordForIt: string | null): ReadonlyArray<ModelPart> => {
    const response = Option.getOrElse(decodeResponse(event.response), (): Response => ({}))
    const parts = left(response.output ?? [])
    const why = response.incomplete_details?.reason ?? wordForIt
    over = true
    return [
      ...parts,
      { _tag: "Finish", reason: finishReason(why, called.size > 0), usage: usageOf(response.usage), backend }
    ]
  }

  const take = (event: Event): ReadonlyArray<ModelPart> => {
    advanced = event.type !== "keepalive"
    switch (event.type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return spoken("Text", event.delta)
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return spoken("Reasoning", event.delta)
      case "response.output_item.done":
        return Option.match(decodeCall(event.item), { onNone: () => [], onSome: call })
      case "response.completed":
        return complete(event, null)
      case "response.incomplete":
        return complete(event, "length")
      case "response.failed": {
        const response = decodeResponse(event.response)
        blame({ error: Option.isSome(response) ? response.value.error : undefined })
        return []
      }
      case "error":
        blame(
          event.error === undefined || event.error === null ? { ...event, type: undefined } : { error: event.error }
        )
        return []
      default:
        return []
    }
  }

  return { take, size: () => size, advanced: () => advanced, trouble: () => trouble, isOver: () => over }
}
