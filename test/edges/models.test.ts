/** Whatever a model server sends is an answer or a typed error, and what is kept of it can be sent to every other one. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, FastCheck, Layer, Stream } from "effect"
import * as Anthropic from "../../src/layers/models/anthropic/Backend.js"
import * as Deadlines from "../../src/fibers/Deadlines.js"
import * as ChatCompletions from "../../src/layers/models/chatCompletions/Backend.js"
import { standard } from "../../src/layers/models/Limits.js"
import * as OpenAi from "../../src/layers/models/openai/Backend.js"
import { ModelError, type ModelRequest } from "../../src/services/agent/ModelRoute.js"
import { ask, assistant, backendOf, callsOf, edges, textOf, toolResult } from "../layers/models/fixture.js"
import { sameSamples, scaled } from "../scale.js"
import * as Edge from "./support.js"

const makers = {
  chat: () =>
    Effect.flatMap(Deadlines.make, (deadlines) =>
      ChatCompletions.make({
        backend: backendOf("http://model/v1"),
        baseUrl: "http://model/v1",
        limits: standard,
        deadlines
      })
    ),
  anthropic: () =>
    Anthropic.make({
      backend: backendOf("http://model", { provider: "anthropic", model: "claude" }),
      limits: standard
    }),
  openai: () =>
    OpenAi.make({ backend: backendOf("http://model/v1", { provider: "openai", model: "gpt" }), limits: standard })
} as const
type Provider = keyof typeof makers

const usage = { input_tokens: 3, output_tokens: 5, prompt_tokens: 3, completion_tokens: 5 }
const chunkOf = (delta: object, finish: string | null = null) => ({
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: finish }]
})

/** An answer of each with words, thoughts and two calls, as events. */
const answers: { readonly [P in Provider]: ReadonlyArray<object> } = {
  chat: [
    chunkOf({ role: "assistant", content: "" }),
    chunkOf({ reasoning_content: "hm" }),
    chunkOf({
      content: [
        { type: "text", text: "two " },
        { type: "thinking", thinking: [{ type: "text", text: "a" }] }
      ]
    }),
    chunkOf({ content: "words" }),
    chunkOf({ tool_calls: [{ index: 0, id: "a", function: { name: "weather", arguments: '{"city":' } }] }),
    chunkOf({ tool_calls: [{ index: 0, function: { arguments: '"x"}' } }] }),
    chunkOf({ tool_calls: [{ index: 1, id: "b", function: { name: "weather", arguments: { city: "y" } } }] }),
    chunkOf({}, "tool_calls"),
    { choices: [], usage: { ...usage, prompt_tokens_details: { cached_tokens: 1 } } },
    { error: { message: "no", type: "server_error", code: 500, metadata: { raw: {}, provider_name: "x" } } }
  ],
  anthropic: [
    { type: "message_start", message: { id: "m", usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "word" } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "t", name: "weather", input: {} } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"city":"x"}' } },
    { type: "content_block_stop", index: 1 },
    {
      type: "content_block_start",
      index: 2,
      content_block: { type: "tool_use", id: "u", name: "weather", input: { city: "y" } }
    },
    { type: "content_block_stop", index: 2 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
    { type: "error", error: { type: "overloaded_error", message: "busy" } },
    { type: "message_stop" }
  ],
  openai: [
    { type: "response.created", response: { id: "r", output: [] } },
    { type: "response.output_text.delta", delta: "word" },
    { type: "response.reasoning_text.delta", delta: "hm" },
    {
      type: "response.output_item.done",
      item: { type: "function_call", id: "f", call_id: "c", name: "weather", arguments: "{}" }
    },
    { type: "error", code: "server_error", message: "no" },
    {
      type: "response.completed",
      response: {
        output: [
          { type: "message", content: [{ text: "word" }] },
          { type: "function_call", call_id: "d", name: "weather", arguments: "{}" }
        ],
        usage: { ...usage, input_tokens_details: { cached_tokens: 1 } },
        incomplete_details: { reason: "max_output_tokens" }
      }
    }
  ]
}

const framed = (event: unknown): string => {
  const type: unknown = typeof event === "object" && event !== null ? Reflect.get(event, "type") : undefined
  return `${typeof type === "string" ? `event: ${type.slice(0, 100)}\n` : ""}data: ${text(event)}\n\n`
}

/** JSON without calling itself: what is nested deeply has to be written too. */
const text = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? "null"
  } catch {
    return "[".repeat(20_000) + "]".repeat(20_000)
  }
}

const events = (provider: Provider) =>
  FastCheck.tuple(FastCheck.nat({ max: answers[provider].length - 1 }), FastCheck.boolean()).chain(([at, isWhole]) =>
    Edge.spoilt(answers[provider][at]).map((bad) =>
      isWhole && provider === "chat"
        ? text(bad)
        : answers[provider].map((event, index) => framed(index === at ? bad : event)).join("") + "data: [DONE]\n\n"
    )
  )

const bodies = (provider: Provider): FastCheck.Arbitrary<Buffer> =>
  FastCheck.oneof(
    { arbitrary: events(provider).map((whole) => Buffer.from(whole)), weight: 6 },
    { arbitrary: Edge.cut(answers[provider].map(framed).join("")), weight: 3 },
    { arbitrary: FastCheck.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)), weight: 1 }
  )

interface Reply {
  readonly provider: Provider
  readonly status: number
  readonly type: string
  readonly body: Buffer
  readonly pieces: number
}

const reply: FastCheck.Arbitrary<Reply> = FastCheck.constantFrom<Provider>("chat", "anthropic", "openai").chain(
  (provider) =>
    FastCheck.record({
      provider: FastCheck.constant(provider),
      status: FastCheck.oneof(
        { arbitrary: FastCheck.constant(200), weight: 8 },
        { arbitrary: FastCheck.constantFrom(400, 401, 404, 429, 500, 529), weight: 2 }
      ),
      type: FastCheck.constantFrom("text/event-stream", "application/json", "text/html", ""),
      body: bodies(provider),
      pieces: FastCheck.integer({ min: 1, max: 9 })
    })
)

const clientOf = ({ body, pieces, status, type }: Reply): Layer.Layer<HttpClient.HttpClient> =>
  Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request) => {
      const size = Math.max(1, Math.ceil(body.length / pieces))
      const parts = Array.from({ length: pieces }, (_, index) => body.subarray(index * size, (index + 1) * size))
      const stream = new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (const part of parts) if (part.length > 0) controller.enqueue(new Uint8Array(part))
          controller.close()
        }
      })
      return Effect.succeed(
        HttpClientResponse.fromWeb(
          request,
          new Response(stream, { status, headers: type === "" ? {} : { "content-type": type } })
        )
      )
    })
  )

const ended: Reply = { provider: "chat", status: 200, type: "text/event-stream", body: Buffer.from(""), pieces: 1 }

const spoken = (provider: Provider, answer: Reply, request: ModelRequest) =>
  Effect.flatMap(makers[provider](), (backend) =>
    Effect.map(Stream.runCollect(backend.stream(request)), Chunk.toReadonlyArray)
  ).pipe(Effect.provide(clientOf(answer)), Effect.provide(edges))

const argumentsOf = FastCheck.oneof(
  FastCheck.constantFrom(
    `{"city":${"[".repeat(9_000)}${"]".repeat(9_000)}}`,
    "[".repeat(20_000),
    '{"city":',
    "null",
    '{"__proto__":1}'
  ),
  FastCheck.string({ unit: "binary" }),
  Edge.odd.map((value) => (typeof value === "string" ? value : text(value)))
)

describe("a call that a model has made", () => {
  it.effect.prop(
    "can be sent to every other one, whatever its arguments are",
    { args: argumentsOf, name: FastCheck.string({ unit: "binary" }), id: FastCheck.string({ unit: "binary" }) },
    ({ args, id, name }) =>
      Effect.gen(function* () {
        const next = ask("a", assistant("", [{ id, name, arguments: args }]), toolResult(id, name, "done"), "b")
        for (const provider of ["chat", "anthropic", "openai"] as const)
          assert.isNull(yield* Edge.misbehaviour(Effect.either(spoken(provider, ended, next))), args.slice(0, 300))
      }),
    { fastCheck: { numRuns: scaled(5_000, 40), ...sameSamples } }
  )
})

describe("the answer of a model server", () => {
  it.effect.prop(
    "may be anything",
    { sample: reply },
    ({ sample }) =>
      Effect.gen(function* () {
        const about = () =>
          `${sample.provider} ${sample.status} ${sample.type}: ${sample.body.toString().slice(0, 2_000)}`
        let heard: ReadonlyArray<string> = []
        const wrong = yield* Edge.misbehaviour(
          Effect.gen(function* () {
            const outcome = yield* Effect.either(spoken(sample.provider, sample, ask("hello")))
            if (outcome._tag === "Left") return assert.instanceOf(outcome.left, ModelError, about())
            const parts = outcome.right
            assert.strictEqual(parts.at(-1)?._tag, "Finish", about())
            const calls = callsOf(parts)
            const next = ask(
              "hello",
              assistant(textOf(parts), calls),
              ...calls.map((call) => toolResult(call.id, call.name, "done")),
              "and now?"
            )
            heard = calls.map((call) => call.arguments)
            for (const other of ["chat", "anthropic", "openai"] as const)
              yield* Effect.either(spoken(other, ended, next))
          })
        )
        assert.isNull(wrong, `${about()}\n${heard.join("\n").slice(0, 300)}`)
      }),
    { fastCheck: { numRuns: scaled(10_000, 40), ...sameSamples } }
  )
})
