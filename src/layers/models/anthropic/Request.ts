/** A transcript in Anthropic's form: alternating roles, tool results first in the user's message, marks for the prompt cache. */
import type * as Generated from "@effect/ai-anthropic/Generated"
import type { ModelRequest, Shown } from "../../../services/agent/ModelRoute.js"
import type { Message } from "../../../services/session/Transcript.js"
import * as Pictures from "../Pictures.js"
import { wireArguments, wireId, wireName } from "../WireCall.js"

export type Payload = typeof Generated.BetaCreateMessageParams.Encoded
type WireMessage = typeof Generated.BetaInputMessage.Encoded
type CacheControl = typeof Generated.BetaCacheControlEphemeral.Encoded

type Block =
  | {
      readonly type: "image"
      readonly source: { readonly type: "base64"; readonly media_type: Shown["mimeType"]; readonly data: string }
      readonly cache_control?: CacheControl
    }
  | { readonly type: "text"; readonly text: string; readonly cache_control?: CacheControl }
  | {
      readonly type: "tool_use"
      readonly id: string
      readonly name: string
      readonly input: { readonly [key: string]: unknown }
      readonly cache_control?: CacheControl
    }
  | {
      readonly type: "tool_result"
      readonly tool_use_id: string
      readonly content: string
      readonly is_error?: boolean
      readonly cache_control?: CacheControl
    }

const mark: CacheControl = { type: "ephemeral" }

/** How many messages carry a mark besides the system prompt (state-agent.md 3.3); Anthropic allows four marks in all. */
const markedMessages = 3

/** Empty texts are refused. */
const textBlock = (text: string): Block => ({ type: "text", text: text.trim() === "" ? "(empty)" : text })

const imageBlock = ({ base64, mimeType }: Shown): Block => ({
  type: "image",
  source: { type: "base64", media_type: mimeType, data: base64 }
})

const blocksOf = (
  message: Message,
  pictures: ModelRequest["pictures"]
): { readonly role: "user" | "assistant"; readonly blocks: ReadonlyArray<Block> } => {
  switch (message._tag) {
    case "user":
      return { role: "user", blocks: [...Pictures.of(message, pictures).map(imageBlock), textBlock(message.text)] }
    case "tool":
      return {
        role: "user",
        blocks: [
          {
            type: "tool_result",
            tool_use_id: wireId(message.callId),
            content: message.text,
            ...(message.disposition === "error" || message.disposition === "refused" ? { is_error: true } : {})
          }
        ]
      }
    case "assistant":
      return {
        role: "assistant",
        blocks: [
          ...(message.text.trim() === "" ? [] : [textBlock(message.text)]),
          ...message.toolCalls.map((call): Block => ({
            type: "tool_use",
            id: wireId(call.id),
            name: wireName(call.name),
            input: wireArguments(call.arguments)
          }))
        ]
      }
  }
}

const marked = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> =>
  blocks.map((block, index) => (index === blocks.length - 1 ? { ...block, cache_control: mark } : block))

const messagesOf = ({ messages, pictures }: ModelRequest): ReadonlyArray<WireMessage> => {
  const turns: Array<{ readonly role: "user" | "assistant"; readonly blocks: Array<Block> }> = []
  for (const message of messages) {
    const { blocks, role } = blocksOf(message, pictures)
    const last = turns.at(-1)
    if (blocks.length === 0) continue
    if (last?.role === role) last.blocks.push(...blocks)
    else turns.push({ role, blocks: [...blocks] })
  }
  return turns.map(({ blocks, role }, index) => ({
    role,
    content: turns.length - index <= markedMessages ? marked(blocks) : blocks
  }))
}

/** The most that a model may say at once; older ones refuse more. */
export const maxTokens = (model: string): number => {
  if (/claude-3-(?:opus|sonnet|haiku)/.test(model)) return 4_096
  return /claude-3-5/.test(model) ? 8_192 : 32_000
}

export const payloadOf = (request: ModelRequest, model: string): Payload => ({
  model,
  max_tokens: maxTokens(model),
  ...(request.systemPrompt === ""
    ? {}
    : { system: [{ type: "text", text: request.systemPrompt, cache_control: mark }] }),
  messages: messagesOf(request),
  ...(request.tools.length === 0
    ? {}
    : {
        tools: request.tools.map((tool) => ({
          name: wireName(tool.name),
          description: tool.description,
          input_schema: { type: "object", ...tool.parameters }
        }))
      }),
  stream: true
})
