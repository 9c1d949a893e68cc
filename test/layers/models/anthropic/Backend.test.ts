import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import * as Anthropic from "../../../../src/layers/models/anthropic/Backend.js"
import { maxTokens, payloadOf } from "../../../../src/layers/models/anthropic/Request.js"
import { type ModelLimits, standard } from "../../../../src/layers/models/Limits.js"
import * as Server from "../../../../src/testing/ModelServer.js"
import {
  ask,
  assistant,
  backendOf,
  callsOf,
  collect,
  edges,
  finishOf,
  reasoningOf,
  secret,
  textOf,
  toolResult,
  user
} from "../fixture.js"

const claude = (origin: string, limits: Partial<ModelLimits> = {}) =>
  Anthropic.make({
    backend: backendOf(origin, { provider: "anthropic", model: "claude-sonnet-4-5" }),
    limits: { ...standard, ...limits }
  })

const frames = (events: ReadonlyArray<{ readonly type: string; readonly [key: string]: unknown }>) =>
  ({
    headers: { "content-type": "text/event-stream" },
    pieces: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  }) satisfies Server.ModelServerReply

const start = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [],
    usage: { input_tokens: 10, cache_creation_input_tokens: 7, cache_read_input_tokens: 100, output_tokens: 1 }
  }
}
const stop = (reason: string) => [
  { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 20 } },
  { type: "message_stop" }
]
const text = (index: number, ...deltas: ReadonlyArray<string>) => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta: { type: "text_delta", text: delta } })),
  { type: "content_block_stop", index }
]
const toolUse = (index: number, id: string, name: string, ...pieces: ReadonlyArray<string>) => [
  { type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {} } },
  ...pieces.map((piece) => ({
    type: "content_block_delta",
    index,
    delta: { type: "input_json_delta", partial_json: piece }
  })),
  { type: "content_block_stop", index }
]

const answered = (reply: Server.ModelServerReply) =>
  Effect.gen(function* () {
    const server = yield* Server.make([reply])
    return yield* collect(yield* claude(server.origin), ask("hello"))
  })

describe("Anthropic", () => {
  it.scoped("streams text, thinking, tool calls as text, and usage with the cache in it", () =>
    Effect.gen(function* () {
      const parts = yield* answered(
        frames([
          start,
          { type: "ping" },
          { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
          { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
          { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "x" } },
          { type: "content_block_stop", index: 0 },
          ...text(1, "Let ", "me see."),
          ...toolUse(2, "toolu_1", "weather", '{"city"', ':"Bern"}'),
          ...toolUse(3, "toolu_2", "no such tool", '{"a": tru'),
          ...toolUse(4, "toolu_3", "weather"),
          ...stop("tool_use")
        ])
      )
      assert.strictEqual(reasoningOf(parts), "hm")
      assert.strictEqual(textOf(parts), "Let me see.")
      assert.deepStrictEqual(callsOf(parts), [
        { id: "toolu_1", name: "weather", arguments: '{"city":"Bern"}' },
        { id: "toolu_2", name: "no such tool", arguments: '{"a": tru' },
        { id: "toolu_3", name: "weather", arguments: "" }
      ])
      assert.deepStrictEqual(finishOf(parts), {
        _tag: "Finish",
        reason: "tool_calls",
        usage: { inputTokens: 117, outputTokens: 20, cacheReadTokens: 100, cacheWriteTokens: 7, reasoningTokens: 0 },
        backend: { provider: "anthropic", model: "claude-sonnet-4-5" }
      })
    }).pipe(Effect.provide(edges))
  )

  it.scoped("sends the key and the version, and nothing of the trace", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([frames([start, ...text(0, "ok"), ...stop("end_turn")])])
      const parts = yield* collect(yield* claude(`${server.origin}/v1/`), ask("hello")).pipe(Effect.withSpan("turn"))
      assert.strictEqual(finishOf(parts)?.reason, "stop")
      const [request] = yield* server.requests
      assert.strictEqual(request?.path, "/v1/messages")
      assert.strictEqual(request?.headers["x-api-key"], secret)
      assert.isString(request?.headers["anthropic-version"])
      assert.strictEqual(request?.headers["traceparent"], undefined)
      assert.strictEqual(request?.headers["b3"], undefined)
    }).pipe(Effect.provide(edges))
  )

  it("alternates roles, keeps results with their calls, and marks the system prompt and the last three messages", () => {
    const mark = { cache_control: { type: "ephemeral" } }
    const payload = payloadOf(
      ask(
        "one",
        assistant("Two."),
        user("three"),
        assistant("Looking.", [
          { id: "call:1", name: "weather", arguments: '{"city":"Bern"}' },
          { id: "call:2", name: "odd name", arguments: "not json" }
        ]),
        toolResult("call:1", "weather", "rain"),
        toolResult("call:2", "odd name", "no such tool", "error"),
        user("")
      ),
      "claude-sonnet-4-5"
    )
    assert.deepStrictEqual(JSON.parse(JSON.stringify(payload.system)), [{ type: "text", text: "Be brief.", ...mark }])
    assert.deepStrictEqual(JSON.parse(JSON.stringify(payload.messages)), [
      { role: "user", content: [{ type: "text", text: "one" }] },
      { role: "assistant", content: [{ type: "text", text: "Two." }] },
      { role: "user", content: [{ type: "text", text: "three", ...mark }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Looking." },
          { type: "tool_use", id: "call_1", name: "weather", input: { city: "Bern" } },
          { type: "tool_use", id: "call_2", name: "odd_name", input: { invalid_arguments: "not json" }, ...mark }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_1", content: "rain" },
          { type: "tool_result", tool_use_id: "call_2", content: "no such tool", is_error: true },
          { type: "text", text: "(empty)", ...mark }
        ]
      }
    ])
  })

  it("asks no model for more than it may say", () => {
    assert.deepStrictEqual(
      ["claude-3-opus-20240229", "claude-3-5-sonnet-latest", "claude-opus-4-1"].map(maxTokens),
      [4_096, 8_192, 32_000]
    )
  })

  const failures: ReadonlyArray<readonly [string, Server.ModelServerReply, string]> = [
    ["401", Server.refuses(401, { type: "authentication_error", message: `invalid x-api-key ${secret}` }), "auth"],
    ["429", Server.refuses(429, { type: "rate_limit_error", retryAfterSeconds: 3 }), "rate_limit"],
    ["529", Server.refuses(529, { type: "overloaded_error" }), "overloaded"],
    [
      "400 credit",
      Server.refuses(400, { type: "invalid_request_error", message: "Your credit balance is too low" }),
      "billing"
    ],
    [
      "400 overflow",
      Server.refuses(400, {
        type: "invalid_request_error",
        message: "prompt is too long: 210000 tokens > 200000 maximum"
      }),
      "context_overflow"
    ],
    ["413", Server.refuses(413, { type: "request_too_large" }), "payload_too_large"],
    [
      "an overloaded error inside the stream",
      frames([start, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }]),
      "overloaded"
    ],
    [
      "an error kind nobody knows",
      frames([start, { type: "error", error: { type: "quantum_error", message: "hm" } }]),
      "unknown"
    ],
    ["garbage", Server.sends(["{not json"]), "malformed_stream"],
    [
      "a known event of another shape",
      frames([start, { type: "content_block_delta", index: "x" }]),
      "malformed_stream"
    ],
    ["an empty answer", frames([]), "malformed_stream"],
    ["an answer that stops before its end", frames([start, ...text(0, "half")]), "transport"],
    ["a cut connection", Server.drops, "transport"]
  ]
  for (const [name, reply, reason] of failures)
    it.scoped(name, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(answered(reply))
        assert.strictEqual(error.reason, reason)
        assert.strictEqual(error.provider, "anthropic")
        assert.notInclude(`${error.message} ${JSON.stringify(error)} ${error.stack}`, secret)
        if (name === "429") assert.strictEqual(error.retryAfterMillis, 3_000)
      }).pipe(Effect.provide(edges))
    )

  it.scoped("events and blocks that are new cost nothing", () =>
    Effect.gen(function* () {
      const parts = yield* answered(
        frames([
          start,
          { type: "brand_new", x: 1 },
          { type: "content_block_start", index: 0, content_block: { type: "hologram", data: {} } },
          { type: "content_block_stop", index: 0 },
          ...text(1, "fine"),
          ...stop("brand_new_reason")
        ])
      )
      assert.strictEqual(textOf(parts), "fine")
      assert.strictEqual(finishOf(parts)?.reason, "brand_new_reason")
    }).pipe(Effect.provide(edges))
  )

  it.scoped("silence and size are bounded", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([Server.hangs])
      const backend = yield* claude(server.origin)
      const fiber = yield* Effect.fork(Effect.flip(collect(backend, ask("hello"))))
      yield* server.received(1)
      yield* TestClock.adjust("240 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "timeout")

      const endless = yield* Server.make([
        frames([start, ...text(0, ...Array.from({ length: 50 }, () => "x".repeat(1_000)))])
      ])
      const error = yield* Effect.flip(collect(yield* claude(endless.origin, { totalBytes: 10_000 }), ask("hello")))
      assert.strictEqual(error.reason, "malformed_stream")
    }).pipe(Effect.provide(edges))
  )
})
