import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream, TestClock } from "effect"
import * as Server from "../../../../src/testing/ModelServer.js"
import {
  ask,
  assistant,
  callsOf,
  chat,
  collect,
  edges,
  finishOf,
  reasoningOf,
  secret,
  textOf,
  toolResult,
  user
} from "../fixture.js"

/** Everything that a server answers to one question. */
const answered = (reply: Server.ModelServerReply, request = ask("hello")) =>
  Effect.gen(function* () {
    const server = yield* Server.make([reply])
    const backend = yield* chat(server.baseUrl)
    return yield* collect(backend, request)
  })

const failed = (reply: Server.ModelServerReply, request = ask("hello")) => Effect.flip(answered(reply, request))

const delta = (value: object, finish: string | null = null) => ({ choices: [{ delta: value, finish_reason: finish }] })

describe("chat completions over HTTP", () => {
  it.scoped("streams text, reasoning, usage and the reason of the end", () =>
    Effect.gen(function* () {
      const parts = yield* answered(Server.streams(["Hel", "lo"], { reasoning: "hm" }))
      assert.strictEqual(textOf(parts), "Hello")
      assert.strictEqual(reasoningOf(parts), "hm")
      assert.deepStrictEqual(finishOf(parts), {
        _tag: "Finish",
        reason: "stop",
        usage: { inputTokens: 12, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
        backend: { provider: "openai-compatible", model: "loopback" }
      })
      assert.strictEqual(parts.filter((part) => part._tag === "Text").length, 2)
    }).pipe(Effect.provide(edges))
  )

  const thoughts: ReadonlyArray<{
    readonly name: string
    readonly said: string
    readonly text: string
    readonly reasoning: string
  }> = [
    { name: "a block that opens the answer", said: "<think>plan</think>\n\nHello", text: "Hello", reasoning: "plan" },
    { name: "one after space, in capitals", said: "\n <THINK>\nplan\n</Think>Hi", text: "Hi", reasoning: "\nplan\n" },
    { name: "two of them", said: "<thinking>a</thinking>\n<think>b</think>\nHi", text: "Hi", reasoning: "ab" },
    { name: "one that never ends", said: "<think>a <b </thin", text: "", reasoning: "a <b </thin" },
    { name: "nothing else", said: "<think>plan</think>\n", text: "", reasoning: "plan" },
    { name: "letters that grow in lower case", said: "<think>İİİİİİİİ</think>Hi", text: "Hi", reasoning: "İİİİİİİİ" },
    { name: "a block that only ends", said: "plan\n</think>\n\nHello", text: "Hello", reasoning: "plan\n" },
    { name: "an end and nothing before it", said: "</think>\nHello", text: "Hello", reasoning: "" },
    { name: "an end and nothing behind it", said: "pl<an</THINK>\n", text: "", reasoning: "pl<an" },
    {
      name: "an end behind its own name",
      said: "I `</think>` so\n</think>Hi",
      text: "Hi",
      reasoning: "I `</think>` so\n"
    },
    { name: "an end, then a block", said: "a</think><think>b</think>Hi", text: "Hi", reasoning: "ab" },
    { name: "an end, then a word like it", said: "a</think>Hi </think>", text: "Hi </think>", reasoning: "a" },
    {
      name: "none: an end in code",
      said: "As in\n```\n</think>\n```\n",
      text: "As in\n```\n</think>\n```\n",
      reasoning: ""
    },
    { name: "none: the beginning of an end", said: "a < b </thin", text: "a < b </thin", reasoning: "" },
    { name: "none: a tag further on", said: "Use <think>x</think>", text: "Use <think>x</think>", reasoning: "" },
    { name: "none: another tag", said: " <thinker>x", text: " <thinker>x", reasoning: "" },
    { name: "none: the beginning of a tag", said: "<thin", text: "<thin", reasoning: "" }
  ]
  for (const { name, reasoning, said, text } of thoughts)
    it.scoped(`takes thoughts that a server left in the text for thoughts: ${name}`, () =>
      Effect.gen(function* () {
        for (const reply of [Server.says(said), Server.streams([said]), Server.streams([...said])]) {
          const parts = yield* answered(reply)
          assert.strictEqual(textOf(parts), text)
          assert.strictEqual(reasoningOf(parts), reasoning)
        }
      }).pipe(Effect.provide(edges))
    )

  it.scoped("does not show the thoughts of a server once it is known that its prompt opens them", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([
        Server.streams(["let me", " see</thi", "nk>", "Hello"]),
        Server.streams(["once", " more</thi", "nk>", "Hi", " there"]),
        Server.streams(["no", " thoughts"]),
        Server.streams(["a", "b"])
      ])
      const backend = yield* chat(server.baseUrl)
      const said = Effect.map(collect(backend, ask("hello")), (parts) =>
        parts.flatMap((part) => (part._tag === "Text" ? [part.delta] : part._tag === "Unsaid" ? [null] : []))
      )
      assert.deepStrictEqual(yield* said, ["let me", " see", null, "Hello"])
      assert.deepStrictEqual(yield* said, ["Hi", " there"])
      assert.deepStrictEqual(yield* said, ["no thoughts"], "what is held back is said in the end")
      assert.deepStrictEqual(yield* said, ["a", "b"], "and the next one grows again")
    }).pipe(Effect.provide(edges))
  )

  it.scoped("sends the transcript, the tools and the key where they belong", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([Server.says("fine")])
      const backend = yield* chat(`${server.baseUrl}/`)
      yield* collect(
        backend,
        ask(
          "weather?",
          assistant("", [{ id: "functions.weather:0", name: "weather", arguments: '{"city": "Bern"}' }]),
          toolResult("functions.weather:0", "weather", "rain"),
          assistant(""),
          user("and now?")
        )
      )
      const [request] = yield* server.requests
      assert.strictEqual(request?.path, "/v1/chat/completions")
      assert.strictEqual(request?.headers["authorization"], `Bearer ${secret}`)
      assert.strictEqual(request?.headers["traceparent"], undefined)
      assert.deepStrictEqual(request?.body, {
        model: "loopback",
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "weather?" },
          {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                id: "functions_weather_0",
                type: "function",
                function: { name: "weather", arguments: '{"city": "Bern"}' }
              }
            ]
          },
          { role: "tool", tool_call_id: "functions_weather_0", content: "rain" },
          { role: "user", content: "and now?" }
        ],
        tools: [
          {
            type: "function",
            function: {
              name: "weather",
              description: "Tells the weather.",
              parameters: { type: "object", properties: { city: { type: "string" } } }
            }
          }
        ],
        stream: true,
        stream_options: { include_usage: true }
      })
    }).pipe(Effect.provide(edges))
  )

  it.scoped("keeps arguments that are no JSON as text, and sends them back as an object", () =>
    Effect.gen(function* () {
      const parts = yield* answered(Server.callsTools([{ name: "weather", arguments: '{"city": "Be' }]))
      assert.deepStrictEqual(callsOf(parts), [{ id: "call_loopback_0", name: "weather", arguments: '{"city": "Be' }])
      assert.strictEqual(finishOf(parts)?.reason, "tool_calls")

      const server = yield* Server.make([Server.says("ok")])
      yield* collect(
        yield* chat(server.baseUrl),
        ask(
          "w",
          assistant("", [{ id: "a", name: "weather", arguments: '{"city": "Be' }]),
          toolResult("a", "weather", "?")
        )
      )
      assert.include(
        JSON.stringify((yield* server.requests)[0]?.body),
        JSON.stringify({ invalid_arguments: '{"city": "Be' }).slice(1, -1).replaceAll('"', '\\"').slice(0, 20)
      )
    }).pipe(Effect.provide(edges))
  )

  it.scoped("assembles several calls by index, gives ids to those without, and never the same twice", () =>
    Effect.gen(function* () {
      const reply = Server.callsTools(
        [
          { name: "weather", arguments: { city: "Bern" }, id: "call_1" },
          { name: "weather", arguments: { city: "Basel" }, id: null },
          { name: "weather", arguments: { city: "Chur" }, id: "call_1" }
        ],
        "Let me see."
      )
      const earlier = [
        assistant("", [{ id: "call_0", name: "weather", arguments: "{}" }]),
        toolResult("call_0", "weather", "")
      ]
      const parts = yield* answered(reply, ask("w", ...earlier))
      assert.strictEqual(textOf(parts), "Let me see.")
      assert.deepStrictEqual(
        callsOf(parts).map((call) => [call.id, call.arguments]),
        [
          ["call_1", '{"city":"Bern"}'],
          ["call_made_1", '{"city":"Basel"}'],
          ["call_made_2", '{"city":"Chur"}']
        ]
      )
      const again = yield* answered(Server.callsTools([{ name: "weather", id: "call_0" }]), ask("w", ...earlier))
      assert.notStrictEqual(callsOf(again)[0]?.id, "call_0")
    }).pipe(Effect.provide(edges))
  )
})

describe("what servers really send", () => {
  const cases: ReadonlyArray<{
    readonly name: string
    readonly reply: Server.ModelServerReply
    readonly text?: string
    readonly calls?: ReadonlyArray<string>
    readonly reason?: string
    readonly reasoning?: string
  }> = [
    {
      name: "no finish reason, only [DONE]",
      reply: Server.sends([delta({ content: "a" }), delta({ content: "b" }), "[DONE]"]),
      text: "ab"
    },
    {
      name: "a finish reason and no [DONE]",
      reply: Server.sends([delta({ content: "a" }), delta({}, "length")]),
      text: "a",
      reason: "length"
    },
    { name: "neither, but a whole body", reply: Server.sends([delta({ content: "a" })]), text: "a" },
    {
      name: "empty choices, null deltas, null usage",
      reply: Server.sends([
        { choices: [] },
        { choices: [{ delta: null }], usage: null },
        delta({ content: "a" }),
        "[DONE]"
      ]),
      text: "a"
    },
    {
      name: "a call whole in one event, finish reason stop (Ollama)",
      reply: Server.sends([
        delta({
          role: "assistant",
          content: "",
          tool_calls: [{ id: "x", index: 0, type: "function", function: { name: "weather", arguments: "{}" } }]
        }),
        delta({}, "stop"),
        "[DONE]"
      ]),
      calls: ["weather {}"],
      reason: "tool_calls"
    },
    {
      name: "several calls all numbered 0, told apart by id",
      reply: Server.sends([
        delta({ tool_calls: [{ index: 0, id: "a", function: { name: "one", arguments: '{"n":1}' } }] }),
        delta({ tool_calls: [{ index: 0, id: "b", function: { name: "two", arguments: '{"n":2}' } }] }),
        delta({}, "tool_calls"),
        "[DONE]"
      ]),
      calls: ['one {"n":1}', 'two {"n":2}'],
      reason: "tool_calls"
    },
    {
      name: "calls without index or id, arguments as an object",
      reply: Server.sends([
        delta({ tool_calls: [{ function: { name: "one", arguments: { n: 1 } } }] }),
        delta({ tool_calls: [{ function: { name: "two", arguments: { n: 2 } } }] }),
        "[DONE]"
      ]),
      calls: ['one {"n":1}', 'two {"n":2}'],
      reason: "tool_calls"
    },
    {
      name: "reasoning under its other name, content in pieces",
      reply: Server.sends([
        delta({ reasoning: "hm" }),
        delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "ah" }] }] }),
        delta({ content: [{ type: "text", text: "a" }] }),
        "[DONE]"
      ]),
      text: "a",
      reasoning: "hmah"
    },
    {
      name: "carriage returns, comments, other fields, no blank lines",
      reply: {
        headers: { "content-type": "text/event-stream" },
        pieces: [
          ": OPENROUTER PROCESSING\r\n\r\n",
          `event: message\r\nid: 1\r\nretry: 10\r\ndata:${JSON.stringify(delta({ content: "a" }))}\r\n`,
          `data: ${JSON.stringify(delta({ content: "b" }))}\r\n`,
          ": keep-alive\r\n\r\n",
          "data:[DONE]"
        ]
      },
      text: "ab"
    },
    {
      name: "events under another content type",
      reply: {
        headers: { "content-type": "text/plain" },
        pieces: [`data: ${JSON.stringify(delta({ content: "a" }))}\n\n`, "data: [DONE]\n\n"]
      },
      text: "a"
    },
    {
      name: "the whole answer as one document",
      reply: Server.answersWhole("all", [{ name: "weather", id: "w" }]),
      text: "all",
      calls: ["weather {}"],
      reason: "tool_calls"
    },
    { name: "an empty answer", reply: Server.streams([]), text: "" },
    {
      name: "fields nobody knows",
      reply: Server.sends([
        { ...delta({ content: "a", audio: { x: 1 } }), system_fingerprint: null, x: [1] },
        "[DONE]"
      ]),
      text: "a"
    },
    {
      name: "a refusal",
      reply: Server.sends([delta({ refusal: "No." }), delta({}, "content_filter"), "[DONE]"]),
      text: "No.",
      reason: "content_filter"
    }
  ]
  for (const { calls, name, reasoning, reason, reply, text } of cases)
    it.scoped(name, () =>
      Effect.gen(function* () {
        const parts = yield* answered(reply)
        if (text !== undefined) assert.strictEqual(textOf(parts), text)
        if (reasoning !== undefined) assert.strictEqual(reasoningOf(parts), reasoning)
        assert.deepStrictEqual(
          callsOf(parts).map((call) => `${call.name} ${call.arguments}`),
          calls ?? []
        )
        assert.strictEqual(finishOf(parts)?.reason, reason ?? "stop")
        assert.strictEqual(parts.at(-1)?._tag, "Finish")
      }).pipe(Effect.provide(edges))
    )

  it.scoped("characters cut anywhere by the network stay whole, bad bytes become marks", () =>
    Effect.gen(function* () {
      const bytes = Buffer.from(`data: ${JSON.stringify(delta({ content: "Zürich 🏔️ 東京" }))}\n\ndata: [DONE]\n\n`)
      const parts = yield* answered({
        headers: { "content-type": "text/event-stream" },
        pieces: [...bytes].map((byte) => new Uint8Array([byte]))
      })
      assert.strictEqual(textOf(parts), "Zürich 🏔️ 東京")
      const [before, after] = JSON.stringify(delta({ content: "a|b" })).split("|")
      const broken = yield* answered({
        headers: { "content-type": "text/event-stream" },
        pieces: [`data: ${before}`, new Uint8Array([0xff, 0xc3]), `${after}\n\ndata: [DONE]\n\n`]
      })
      assert.match(textOf(broken), /^a\uFFFD+b$/u)
    }).pipe(Effect.provide(edges))
  )

  it.scoped("a server that refuses to stream, or its options, is asked in its own way, also the next time", () =>
    Effect.gen(function* () {
      const server = yield* Server.make((request) => {
        const body = JSON.stringify(request.body)
        if (body.includes("stream_options")) return Server.refuses(400, { message: "unknown field: stream_options" })
        if (body.includes('"stream":true')) return Server.refuses(422, { message: "stream is not supported" })
        return Server.answersWhole("slow but sure")
      })
      const backend = yield* chat(server.baseUrl)
      assert.strictEqual(textOf(yield* collect(backend, ask("a"))), "slow but sure")
      assert.strictEqual((yield* server.requests).length, 3)
      assert.strictEqual(textOf(yield* collect(backend, ask("b"))), "slow but sure")
      assert.strictEqual((yield* server.requests).length, 4)
    }).pipe(Effect.provide(edges))
  )

  it.scoped("one connection serves one answer after the other", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([Server.says("a")])
      const backend = yield* chat(server.baseUrl)
      for (let n = 0; n < 10; n++) yield* collect(backend, ask("a"))
      assert.isAtMost(yield* server.connections, 2)
    }).pipe(Effect.provide(edges))
  )
})

describe("what goes wrong", () => {
  const cases: ReadonlyArray<readonly [string, Server.ModelServerReply, string, number | null]> = [
    ["401", Server.refuses(401, { message: "bad key" }), "auth", 401],
    ["402", Server.refuses(402, { message: "Payment required" }), "billing", 402],
    [
      "404 model",
      Server.refuses(404, { message: "The model `x` does not exist", code: "model_not_found" }),
      "model_not_found",
      404
    ],
    ["413", Server.refuses(413), "payload_too_large", 413],
    ["429", Server.refuses(429, { message: "Rate limit reached", retryAfterSeconds: 7 }), "rate_limit", 429],
    ["500", Server.refuses(500), "server_error", 500],
    ["529", Server.refuses(529, { type: "overloaded_error" }), "overloaded", 529],
    [
      "400 overflow",
      Server.refuses(400, { message: "This model's maximum context length is 8192 tokens" }),
      "context_overflow",
      400
    ],
    [
      "a page instead of an answer",
      { pieces: ["<html><head><title>Sign in</title></head></html>"], headers: { "content-type": "text/html" } },
      "not_configured",
      null
    ],
    [
      "a page that says there is nothing",
      { status: 404, pieces: ["<html>not here</html>"], headers: { "content-type": "text/html" } },
      "not_configured",
      null
    ],
    [
      "an error page",
      { status: 502, pieces: ["<html><head><title>Bad gateway</title></head></html>"] },
      "server_error",
      502
    ],
    ["an empty body", { headers: { "content-type": "text/event-stream" }, pieces: [] }, "malformed_stream", null],
    ["garbage", Server.garbage, "malformed_stream", null],
    ["an event that is no JSON", Server.sends(["{not json"]), "malformed_stream", null],
    ["an event of another shape", Server.sends([{ choices: [{ delta: { content: 42 } }] }]), "malformed_stream", null],
    [
      "an error inside the stream",
      Server.sends([{ error: { message: "Provider is overloaded", code: 529 } }]),
      "overloaded",
      null
    ],
    [
      "an error event (llama.cpp)",
      {
        headers: { "content-type": "text/event-stream" },
        pieces: [
          'error: {"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}\n\n'
        ]
      },
      "context_overflow",
      null
    ],
    [
      "an error event in words",
      { headers: { "content-type": "text/event-stream" }, pieces: ["event: error\ndata: model crashed\n\n"] },
      "unknown",
      null
    ],
    [
      "an error object without a wrapper (vLLM)",
      Server.sends([{ object: "error", message: "maximum context length exceeded", code: 400 }]),
      "context_overflow",
      null
    ],
    ["a cut connection", Server.drops, "transport", null]
  ]
  for (const [name, reply, reason, status] of cases)
    it.scoped(name, () =>
      Effect.gen(function* () {
        const error = yield* failed(reply)
        assert.deepStrictEqual([error.reason, error.status], [reason, status])
        assert.notStrictEqual(error.detail, "")
        if (status === 429) assert.strictEqual(error.retryAfterMillis, 7_000)
      }).pipe(Effect.provide(edges))
    )

  it.scoped("what was said before an error comes first", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([
        Server.sends([delta({ content: "so far" }), { error: { message: "upstream failed", code: 502 } }])
      ])
      const backend = yield* chat(server.baseUrl)
      const said: Array<string> = []
      const error = yield* Effect.flip(
        Stream.runForEach(backend.stream(ask("hello")), (part) => Effect.sync(() => said.push(part._tag)))
      )
      assert.deepStrictEqual(said, ["Text"])
      assert.strictEqual(error.reason, "server_error")
    }).pipe(Effect.provide(edges))
  )

  it.scoped("a cut in the middle of an answer is an error and never an end", () =>
    Effect.gen(function* () {
      const error = yield* failed(Server.streams(["half"], { then: "drop" }))
      assert.strictEqual(error.reason, "transport")
    }).pipe(Effect.provide(edges))
  )

  it.scoped("a port where nobody listens, and an address that is none", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(collect(yield* chat("http://127.0.0.1:1/v1"), ask("hello")))
      assert.strictEqual(refused.reason, "transport")
      assert.include(refused.detail, "127.0.0.1:1")
      const none = yield* Effect.flip(collect(yield* chat("not a url"), ask("hello")))
      assert.strictEqual(none.reason, "not_configured")
    }).pipe(Effect.provide(edges))
  )

  it.scoped("an answer without end is cut at the limit, with or without lines", () =>
    Effect.gen(function* () {
      const page = "x".repeat(4_096)
      for (const line of [page, `data: ${JSON.stringify(delta({ content: page }))}\n\n`]) {
        const server = yield* Server.make([
          {
            headers: { "content-type": "text/event-stream" },
            pieces: Array.from({ length: 64 }, () => line),
            then: "hang"
          }
        ])
        const error = yield* Effect.flip(collect(yield* chat(server.baseUrl, { totalBytes: 64 * 1_024 }), ask("hello")))
        assert.strictEqual(error.reason, "malformed_stream")
        assert.include(error.detail, "larger than 65536 bytes")
      }
    }).pipe(Effect.provide(edges))
  )

  it.scoped("a key never gets into an error, also when the server repeats it", () =>
    Effect.gen(function* () {
      for (const reply of [
        Server.refuses(401, { message: `Incorrect API key provided: ${secret}.` }),
        Server.sends([{ error: { message: `key ${secret} is revoked` } }]),
        Server.sends([`not json ${secret}`]),
        { pieces: [`<html>${secret}</html>`], headers: { "content-type": "text/html" } }
      ] satisfies ReadonlyArray<Server.ModelServerReply>) {
        const error = yield* failed(reply)
        const everything = `${error.message} ${error.detail} ${JSON.stringify(error)} ${String(error.cause)} ${error.stack}`
        assert.notInclude(everything, secret)
        assert.notInclude(everything, "secret-0123")
      }
      const withUser = yield* Effect.flip(collect(yield* chat(`http://me:${secret}@127.0.0.1:1/v1`), ask("hello")))
      assert.notInclude(JSON.stringify(withUser), secret)
    }).pipe(Effect.provide(edges))
  )
})

describe("silence is bounded", () => {
  const silent = (reply: Server.ModelServerReply, texts: number) =>
    Effect.gen(function* () {
      const server = yield* Server.make([reply])
      const backend = yield* chat(server.baseUrl)
      const heard = yield* Deferred.make<void>()
      let count = 0
      const fiber = yield* Stream.runForEach(backend.stream(ask("hello")), () =>
        Effect.suspend(() => (++count === texts ? Deferred.succeed(heard, undefined) : Effect.void))
      ).pipe(Effect.fork)
      yield* server.received(1)
      if (texts > 0) yield* Deferred.await(heard)
      yield* TestClock.adjust("240 seconds")
      const error = yield* Effect.flip(Fiber.join(fiber))
      yield* server.closed
      return { error, open: yield* server.open }
    }).pipe(Effect.provide(edges))

  it.scoped("a server that never answers", () =>
    Effect.gen(function* () {
      const { error, open } = yield* silent(Server.hangs, 0)
      assert.deepStrictEqual([error.reason, error.detail], ["timeout", "no answer within 240 s"])
      assert.strictEqual(open, 0)
    })
  )

  it.scoped("a server that stops in the middle", () =>
    Effect.gen(function* () {
      const { error, open } = yield* silent(Server.streams(["one", "two"], { then: "hang" }), 2)
      assert.deepStrictEqual([error.reason, error.detail], ["timeout", "silent for 180 s in the middle of an answer"])
      assert.strictEqual(open, 0)
    })
  )

  it.scoped("a server that sends signs of life and nothing else", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([
        {
          headers: { "content-type": "text/event-stream" },
          pieces: Array.from({ length: 100 }, () => ": keep-alive\n\n"),
          every: "60 seconds"
        }
      ])
      const backend = yield* chat(server.baseUrl)
      const fiber = yield* Effect.fork(Effect.flip(collect(backend, ask("hello"))))
      yield* server.received(1)
      for (let minute = 0; minute < 20 && (yield* Fiber.poll(fiber))._tag === "None"; minute++) {
        yield* TestClock.adjust("60 seconds")
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
      }
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error.reason, "timeout")
    }).pipe(Effect.provide(edges))
  )

  it.scoped("a complete answer on a connection that stays open is not waited for long", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([Server.sends([delta({ content: "a" }), delta({}, "stop")], { then: "hang" })])
      const backend = yield* chat(server.baseUrl)
      const heard = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        Stream.runForEach(backend.stream(ask("hello")), (part) =>
          part._tag === "Text" ? Deferred.succeed(heard, undefined) : Effect.void
        )
      )
      yield* Deferred.await(heard)
      while ((yield* Fiber.poll(fiber))._tag === "None") yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(edges))
  )

  it.scoped("interrupting the reader closes the connection", () =>
    Effect.gen(function* () {
      const server = yield* Server.make([Server.streams(["one"], { then: "hang" })])
      const backend = yield* chat(server.baseUrl)
      const heard = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        Stream.runForEach(backend.stream(ask("hello")), () => Deferred.succeed(heard, undefined))
      )
      yield* Deferred.await(heard)
      assert.strictEqual(yield* server.open, 1)
      yield* Fiber.interrupt(fiber)
      yield* server.closed
    }).pipe(Effect.provide(edges))
  )
})
