/**
 * The events of Anthropic's stream, read loosely: only the fields that count, so that a new block or error kind does not
 * cost the answer. Tool input stays text (decision 30).
 */
import { Schema } from "effect"
import type { BackendName, ModelPart } from "../../../services/agent/ModelRoute.js"
import type { TokenUsage } from "../../../services/agent/TokenUsage.js"
import * as Nesting from "../../../services/operation/Nesting.js"
import type { EventReader } from "../EventParts.js"
import { finishReason } from "../FinishReason.js"
import { malformed, type Trouble } from "../Trouble.js"

const count = Schema.optional(Schema.NullOr(Schema.Number))
const text = Schema.optional(Schema.NullOr(Schema.String))

const Usage = Schema.Struct({
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count
})
type Usage = typeof Usage.Type

const Known = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("message_start"),
    message: Schema.Struct({ usage: Schema.optional(Schema.NullOr(Usage)) })
  }),
  Schema.Struct({
    type: Schema.Literal("content_block_start"),
    index: Schema.Number,
    content_block: Schema.Struct({
      type: Schema.String,
      id: text,
      name: text,
      text,
      thinking: text,
      input: Schema.optional(Schema.Unknown)
    })
  }),
  Schema.Struct({
    type: Schema.Literal("content_block_delta"),
    index: Schema.Number,
    delta: Schema.Struct({ type: Schema.String, text, thinking: text, partial_json: text })
  }),
  Schema.Struct({ type: Schema.Literal("content_block_stop"), index: Schema.Number }),
  Schema.Struct({
    type: Schema.Literal("message_delta"),
    delta: Schema.Struct({ stop_reason: Schema.optional(Schema.NullOr(Schema.String)) }),
    usage: Schema.optional(Schema.NullOr(Usage))
  }),
  Schema.Struct({ type: Schema.Literal("message_stop") }),
  Schema.Struct({
    type: Schema.Literal("error"),
    error: Schema.Struct({ type: Schema.optional(Schema.String), message: Schema.optional(Schema.String) })
  })
)
type Known = typeof Known.Type

const knownTypes: ReadonlySet<string> = new Set<Known["type"]>([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "error"
])

/** `ping`, and what will be invented. A known event of another shape is no such thing: it is an error, and not left out. */
const Other = Schema.Struct({ type: Schema.String.pipe(Schema.filter((type) => !knownTypes.has(type))) })

export const Event = Schema.Union(Known, Other)
export type Event = typeof Event.Type

const isKnown = <Type extends string>(event: Event, type: Type): event is Extract<Known, { readonly type: Type }> =>
  event.type === type

interface OpenCall {
  readonly id: string
  readonly name: string
  readonly pieces: Array<string>
  readonly input: unknown
}

const isEmptyObject = (value: unknown): boolean =>
  typeof value !== "object" || value === null || Object.keys(value).length === 0

export const reader = (backend: BackendName): EventReader<Event> => {
  const open = new Map<number, OpenCall>()
  let size = 0
  let calls = 0
  let stopReason: string | null = null
  let usage: Usage = {}
  let counted = false
  let advanced = false
  let over = false
  let trouble: Trouble | null = null

  const addUsage = (newer: Usage | null | undefined): void => {
    if (newer === null || newer === undefined) return
    counted = true
    usage = Object.fromEntries(
      (["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] as const).map(
        (name) => [name, newer[name] ?? usage[name] ?? 0]
      )
    )
  }

  const total = (): TokenUsage | null => {
    if (!counted) return null
    const read = usage.cache_read_input_tokens ?? 0
    const written = usage.cache_creation_input_tokens ?? 0
    return {
      inputTokens: (usage.input_tokens ?? 0) + read + written,
      outputTokens: usage.output_tokens ?? 0,
      cacheReadTokens: read,
      cacheWriteTokens: written,
      reasoningTokens: 0
    }
  }

  const close = (index: number): ReadonlyArray<ModelPart> => {
    const call = open.get(index)
    open.delete(index)
    if (call === undefined) return []
    calls += 1
    const streamed = call.pieces.join("")
    const args = streamed !== "" || isEmptyObject(call.input) ? streamed : Nesting.json(call.input)
    return [{ _tag: "ToolCall", id: call.id, name: call.name, arguments: args }]
  }

  const spoken = (kind: "Text" | "Reasoning", delta: string | null | undefined): ReadonlyArray<ModelPart> => {
    if (delta === undefined || delta === null || delta === "") return []
    size += delta.length
    return [{ _tag: kind, delta }]
  }

  const take = (event: Event): ReadonlyArray<ModelPart> => {
    advanced = event.type !== "ping"
    if (isKnown(event, "message_start")) {
      addUsage(event.message.usage)
    } else if (isKnown(event, "content_block_start")) {
      const { id, input, name, text, thinking, type } = event.content_block
      if (type === "tool_use") open.set(event.index, { id: id ?? "", name: name ?? "", pieces: [], input })
      else if (type === "text") return spoken("Text", text)
      else if (type === "thinking") return spoken("Reasoning", thinking)
    } else if (isKnown(event, "content_block_delta")) {
      const { partial_json, text, thinking, type } = event.delta
      if (type === "text_delta") return spoken("Text", text)
      if (type === "thinking_delta") return spoken("Reasoning", thinking)
      if (type === "input_json_delta" && typeof partial_json === "string") {
        size += partial_json.length
        open.get(event.index)?.pieces.push(partial_json)
      }
    } else if (isKnown(event, "content_block_stop")) {
      return close(event.index)
    } else if (isKnown(event, "message_delta")) {
      stopReason = event.delta.stop_reason ?? stopReason
      addUsage(event.usage)
    } else if (isKnown(event, "error")) {
      trouble = {
        reason: "judge",
        code: event.error.type ?? null,
        message: event.error.message ?? "an error without a word"
      }
    } else if (isKnown(event, "message_stop")) {
      const left = [...open.keys()].flatMap(close)
      over = true
      if (stopReason === null && !counted && calls === 0 && size === 0) {
        trouble = malformed("the answer ended before anything was said")
        return []
      }
      return [...left, { _tag: "Finish", reason: finishReason(stopReason, calls > 0), usage: total(), backend }]
    }
    return []
  }

  return {
    take,
    size: () => size,
    advanced: () => advanced,
    trouble: () => trouble,
    isOver: () => over && trouble === null
  }
}
