import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import { type ModelLimits, standard } from "../../../../src/layers/models/Limits.js"
import * as OpenAi from "../../../../src/layers/models/openai/Backend.js"
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
  toolResult
} from "../fixture.js"

const gpt = (baseUrl: string, limits: Partial<ModelLimits> = {}) =>
  OpenAi.make({
    backend: backendOf(baseUrl, { provider: "openai", model: "gpt-4.1" }),
    limits: { ...standard, ...limits }
  })

const frames = (events: ReadonlyArray<{ readonly type: string; readonly [key: string]: unknown }>) =>
  ({
    headers: { "content-type": "text/event-stream" },
    pieces: events.map(
      (event, index) => `event: ${event.type}\ndata: ${JSON.stringify({ sequence_number: index, ...event })}\n\n`
    )
  }) satisfies Server.ModelServerReply

const created = { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } }
const delta = (text: string) => ({
  type: "response.output_text.delta",
  item_id: "m",
  output_index: 0,
  content_index: 0,
  delta: text
})
const call = (callId: string, name: string, args: string) => ({
  type: "response.output_item.done",
  output_index: 1,
  item: { type: "function_call", id: `fc_${callId}`, call_id: callId, name, arguments: args, status: "completed" }
})
const usage = {
  input_tokens: 50,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 59
}
const completed = { type: "response.completed", response: { status: "completed", output: [], usage } }

const answered = (reply: Server.ModelServerReply) =>
  Effect.gen(function* () {
    const server = yield* Server.make([reply])
    return yield* collect(yield* gpt(server.baseUrl), ask("hello"))
  })

describe("OpenAI, Responses API", () => {
  it.scoped("streams text, reasoning, calls as text, and usage", () =>
    Effect.gen(function* () {
      const parts = yield* answered(
        frames([
          created,
          { type: "keepalive" },
          { type: "response.reasoning_summary_text.delta", delta: "hm" },
          delta("Let "),
          delta("me see."),
          call("call_1", "weather", '{"city":"Bern"}'),
          call("call_2", "no such tool", '{"a": tru'),
          { ...completed, response: { ...completed.response, output: [call("call_1", "weather", "{}").item] } }
        ])
      )
      assert.strictEqual(reasoningOf(parts), "hm")
      assert.strictEqual(textOf(parts), "Let me see.")
      assert.deepStrictEqual(callsOf(parts), [
        { id: "call_1", name: "weather", arguments: '{"city":"Bern"}' },
        { id: "call_2", name: "no such tool", arguments: '{"a": tru' }
      ])
      assert.deepStrictEqual(finishOf(parts), {
        _tag: "Finish",
        reason: "tool_calls",
        usage: { inputTokens: 50, outputTokens: 9, cacheReadTokens: 40, cacheWriteTokens: 0, reasoningTokens: 4 },
        backend: { provider: "openai", model: "gpt-4.1" }
      })
    }).pipe(Effect.provide(edges))
  )

  it.scoped("sends the transcript as input items, stores nothing there", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([frames([created, delta("ok"), completed])])
      yield* collect(
        yield* gpt(`${server.baseUrl}/`),
        ask(
          "weather?",
          assistant("Looking.", [{ id: "call:1", name: "weather", arguments: '{"city":"Bern"}' }]),
          toolResult("call:1", "weather", "rain")
        )
      )
      const [request] = yield* server.requests
      assert.strictEqual(request?.path, "/v1/responses")
      assert.strictEqual(request?.headers["authorization"], `Bearer ${secret}`)
      assert.deepStrictEqual(request?.body, {
        model: "gpt-4.1",
        instructions: "Be brief.",
        input: [
          { role: "user", content: "weather?" },
          { role: "assistant", content: "Looking." },
          { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Bern"}' },
          { type: "function_call_output", call_id: "call_1", output: "rain" }
        ],
        tools: [
          {
            type: "function",
            name: "weather",
            description: "Tells the weather.",
            parameters: { type: "object", properties: { city: { type: "string" } } },
            strict: false
          }
        ],
        store: false,
        stream: true
      })
    }).pipe(Effect.provide(edges))
  )

  it.scoped("an answer that only stands in the last event is read from there", () =>
    Effect.gen(function* () {
      const parts = yield* answered(
        frames([
          {
            type: "response.completed",
            response: {
              status: "completed",
              output: [
                { type: "reasoning", summary: [] },
                {
                  type: "message",
                  role: "assistant",
                  content: [{ type: "output_text", text: "all", annotations: [] }]
                },
                call("call_9", "weather", "{}").item
              ],
              usage
            }
          }
        ])
      )
      assert.strictEqual(textOf(parts), "all")
      assert.deepStrictEqual(
        callsOf(parts).map(({ id }) => id),
        ["call_9"]
      )
    }).pipe(Effect.provide(edges))
  )

  it.scoped("an answer cut by its length says so", () =>
    Effect.gen(function* () {
      const parts = yield* answered(
        frames([
          created,
          delta("half"),
          { type: "response.incomplete", response: { incomplete_details: { reason: "max_output_tokens" } } }
        ])
      )
      assert.strictEqual(finishOf(parts)?.reason, "length")
    }).pipe(Effect.provide(edges))
  )

  const failures: ReadonlyArray<readonly [string, Server.ModelServerReply, string]> = [
    ["401", Server.refuses(401, { code: "invalid_api_key", message: `Incorrect API key provided: ${secret}` }), "auth"],
    [
      "429 quota",
      Server.refuses(429, { code: "insufficient_quota", message: "You exceeded your current quota" }),
      "billing"
    ],
    [
      "429",
      Server.refuses(429, { code: "rate_limit_exceeded", message: "Rate limit reached. Please try again in 1m2.5s." }),
      "rate_limit"
    ],
    [
      "404",
      Server.refuses(404, { code: "model_not_found", message: "The model `x` does not exist" }),
      "model_not_found"
    ],
    ["500", Server.refuses(500, { type: "server_error" }), "server_error"],
    [
      "a failed response",
      frames([
        created,
        { type: "response.failed", response: { status: "failed", error: { code: "server_error", message: "hm" } } }
      ]),
      "server_error"
    ],
    [
      "an error event",
      frames([created, { type: "error", code: "rate_limit_exceeded", message: "slow down", param: null }]),
      "rate_limit"
    ],
    [
      "an error event with an object",
      frames([
        {
          type: "error",
          error: { type: "invalid_request_error", code: "context_length_exceeded", message: "too long" }
        }
      ]),
      "context_overflow"
    ],
    ["garbage", Server.sends(["{not json"]), "malformed_stream"],
    ["an empty answer", frames([]), "malformed_stream"],
    ["an answer that stops before its end", frames([created, delta("half")]), "transport"],
    ["a cut connection", Server.drops, "transport"]
  ]
  for (const [name, reply, reason] of failures)
    it.scoped(name, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(answered(reply))
        assert.strictEqual(error.reason, reason)
        assert.strictEqual(error.provider, "openai")
        assert.notInclude(`${error.message} ${JSON.stringify(error)} ${error.stack}`, secret)
        if (name === "429") assert.strictEqual(error.retryAfterMillis, 62_500)
      }).pipe(Effect.provide(edges))
    )

  it.scoped("silence is bounded", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([Server.hangs])
      const backend = yield* gpt(server.baseUrl)
      const fiber = yield* Effect.fork(Effect.flip(collect(backend, ask("hello"))))
      yield* server.received(1)
      yield* TestClock.adjust("240 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "timeout")
    }).pipe(Effect.provide(edges))
  )
})
