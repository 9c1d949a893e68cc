import * as OutgoingHttp from "../../../src/layers/node/OutgoingHttp.js"
import { Chunk, Effect, Layer, Redacted, Ref, Stream } from "effect"
import * as Deadlines from "../../../src/fibers/Deadlines.js"
import * as ChatCompletions from "../../../src/layers/models/chatCompletions/Backend.js"
import { type ModelLimits, standard } from "../../../src/layers/models/Limits.js"
import {
  type ModelBackendService,
  type ModelError,
  type ModelPart,
  type ModelRequest,
  saidWith
} from "../../../src/services/agent/ModelRoute.js"
import { Ids } from "../../../src/services/operation/Ids.js"
import type { ModelBackend } from "../../../src/services/operation/Settings.js"
import type { Message } from "../../../src/services/session/Transcript.js"

export const secret = "sk-test-secret-0123456789"

/** Ids that count, the real HTTP client, and a scope for what watches its waits. */
export const edges = Layer.mergeAll(
  OutgoingHttp.layer,
  Layer.scope,
  Layer.effect(
    Ids,
    Effect.map(Ref.make(0), (count) => ({
      next: (kind) =>
        Effect.map(
          Ref.updateAndGet(count, (n) => n + 1),
          (n) => `${kind}_made_${n}`
        )
    }))
  )
)

export const user = (text: string): Message => ({ _tag: "user", text, platformMessageId: null })

export const assistant = (
  text: string,
  toolCalls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }> = []
): Message => ({ _tag: "assistant", text, reasoning: null, toolCalls, finishReason: "stop" })

export const toolResult = (callId: string, tool: string, text: string, disposition = "ok"): Message => ({
  _tag: "tool",
  callId,
  tool,
  text,
  disposition
})

export const weather = {
  name: "weather",
  description: "Tells the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } } }
}

export const ask = (...messages: ReadonlyArray<Message | string>): ModelRequest => ({
  systemPrompt: "Be brief.",
  messages: messages.map((message) => (typeof message === "string" ? user(message) : message)),
  tools: [weather],
  sessionKey: "agent:main:test:dm:1"
})

export const backendOf = (baseUrl: string, overrides: Partial<ModelBackend> = {}): ModelBackend => ({
  provider: "openai-compatible",
  model: "loopback",
  baseUrl,
  apiKey: Redacted.make(secret),
  contextWindow: 128_000,
  ...overrides
})

export const chat = (baseUrl: string, limits: Partial<ModelLimits> = {}, overrides: Partial<ModelBackend> = {}) =>
  Effect.flatMap(Deadlines.make, (deadlines) =>
    ChatCompletions.make({
      backend: backendOf(baseUrl, overrides),
      baseUrl,
      limits: { ...standard, ...limits },
      deadlines
    })
  )

export const collect = (
  backend: Pick<ModelBackendService, "stream">,
  request: ModelRequest
): Effect.Effect<ReadonlyArray<ModelPart>, ModelError> =>
  Effect.map(Stream.runCollect(backend.stream(request)), Chunk.toReadonlyArray)

export const textOf = (parts: ReadonlyArray<ModelPart>): string =>
  parts.reduce((said, part) => saidWith(said, part), "")

/** What was thought, with what was said first and then taken back. */
export const reasoningOf = (parts: ReadonlyArray<ModelPart>): string => {
  const unsaid = parts.findLastIndex((part) => part._tag === "Unsaid")
  return parts
    .map((part, index) => (part._tag === "Reasoning" || (part._tag === "Text" && index < unsaid) ? part.delta : ""))
    .join("")
}

export const callsOf = (parts: ReadonlyArray<ModelPart>) =>
  parts.flatMap((part) =>
    part._tag === "ToolCall" ? [{ id: part.id, name: part.name, arguments: part.arguments }] : []
  )

export const finishOf = (parts: ReadonlyArray<ModelPart>) => parts.find((part) => part._tag === "Finish")
