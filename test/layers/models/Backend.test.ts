import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { rolldown } from "rolldown"
import * as Backend from "../../../src/layers/models/Backend.js"
import { standard } from "../../../src/layers/models/Limits.js"
import * as Cooldowns from "../../../src/layers/models/Cooldowns.js"
import * as AccessTokens from "../../../src/layers/models/oauth/AccessTokens.js"
import * as Route from "../../../src/layers/models/Route.js"
import * as EventLoop from "../../../src/layers/node/EventLoop.js"
import { type ModelRequest, ModelRoute } from "../../../src/services/agent/ModelRoute.js"
import { type ModelBackend, Settings } from "../../../src/services/operation/Settings.js"
import * as Server from "../../../src/testing/ModelServer.js"
import * as Testing from "../../../src/testing/Settings.js"
import {
  ask,
  assistant,
  backendOf,
  collect,
  edges,
  finishOf,
  secret,
  textOf,
  toolResult,
  user,
  weather
} from "./fixture.js"

const needs = Layer.mergeAll(edges, NodeFileSystem.layer, Cooldowns.layerMemory, AccessTokens.layerNone)

const settings = (model: ModelBackend, fallbacks: ReadonlyArray<ModelBackend> = []) =>
  Testing.settings("/nowhere", { model, fallbacks, agent: { apiMaxRetries: 0 } })

const none = { baseUrl: null, apiKey: null }

const asked = (model: ModelBackend, fallbacks: ReadonlyArray<ModelBackend> = [], also: Partial<ModelRequest> = {}) =>
  Effect.gen(function* () {
    const route = yield* ModelRoute
    return { route, parts: yield* collect(route, { ...ask("hello"), ...also }) }
  }).pipe(Effect.provide(Route.layer.pipe(Layer.provide([needs, Layer.succeed(Settings, settings(model, fallbacks))]))))

describe("the backend of the settings", () => {
  it.effect("what is not set up says what to set, and is not sent anywhere", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [Partial<ModelBackend>, string]> = [
        [{ provider: "anthropic", ...none }, "ANTHROPIC_API_KEY"],
        [{ provider: "openai", ...none }, "OPENAI_API_KEY"],
        [{ provider: "openai-compatible", ...none }, "HERMES_MODEL_BASE_URL"],
        [{ provider: "anthropic", baseUrl: null, model: "" }, "HERMES_MODEL "],
        [{ provider: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1", model: " " }, "HERMES_MODEL "]
      ]
      for (const [overrides, name] of cases) {
        const error = yield* Effect.flip(asked(backendOf("", overrides)))
        assert.strictEqual(error.reason, "not_configured")
        assert.include(error.detail, name)
        assert.notInclude(JSON.stringify(error), secret)
      }
    })
  )

  it.scoped("every provider is reached through its own lazily loaded client", () =>
    Effect.gen(function* () {
      const server = yield* Server.make((request) => {
        switch (request.path) {
          case "/v1/messages":
            return Server.sends([
              { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 1 } } },
              { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "claude" } },
              { type: "message_stop" }
            ])
          case "/v1/responses":
            return Server.sends([
              { type: "response.output_text.delta", delta: "gpt" },
              { type: "response.completed", response: {} }
            ])
          default:
            return Server.says("local")
        }
      })
      for (const [provider, baseUrl, text] of [
        ["anthropic", server.origin, "claude"],
        ["openai", server.baseUrl, "gpt"],
        ["openai-compatible", server.baseUrl, "local"]
      ] as const) {
        const { parts, route } = yield* asked(backendOf(baseUrl, { provider, model: "m" }))
        assert.strictEqual(textOf(parts), text)
        assert.deepStrictEqual(finishOf(parts)?.backend, { provider, model: "m" })
        assert.deepStrictEqual(route.primary, { provider, model: "m" })
        assert.strictEqual(route.contextWindow, 128_000)
      }
    })
  )

  it.scoped("nothing of a request leaves before what it is about is on the disk", () =>
    Effect.gen(function* () {
      const server = yield* Server.make(() => Server.says("heard"))
      for (const provider of ["anthropic", "openai", "openai-compatible"] as const) {
        const before = (yield* server.requests).length
        const [waits, kept] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const begins = Effect.zipRight(Deferred.succeed(waits, undefined), Deferred.await(kept))
        const asking = yield* Effect.fork(
          Effect.exit(asked(backendOf(server.baseUrl, { provider, model: "m" }), [], { begins }))
        )
        yield* Deferred.await(waits)
        for (let turn = 0; turn < 20; turn++) yield* EventLoop.turn
        assert.strictEqual((yield* server.requests).length, before)
        yield* Deferred.succeed(kept, undefined)
        yield* Fiber.join(asking)
        assert.strictEqual((yield* server.requests).length, before + 1)
      }
    })
  )

  it.scoped("no half of a surrogate pair reaches a provider, which would refuse the whole of every request", () =>
    Effect.gen(function* () {
      const server = yield* Server.make(() => Server.says("heard"))
      const cut = "cut \ud83d"
      const call = { id: "call_1", name: "weather", arguments: JSON.stringify({ city: "here" }) }
      for (const provider of ["anthropic", "openai", "openai-compatible"] as const)
        yield* Effect.exit(
          asked(backendOf(server.baseUrl, { provider, model: "m" }), [], {
            systemPrompt: cut,
            messages: [user(cut), assistant(cut, [call]), toolResult("call_1", "weather", cut)],
            tools: [{ ...weather, description: cut }]
          })
        )
      const bodies = (yield* server.requests).map(({ body }) => JSON.stringify(body))
      assert.deepStrictEqual(
        bodies.map((body) => [body.split("cut \ufffd").length - 1, body.includes("\\ud")]),
        [1, 2, 3].map(() => [5, false])
      )
    })
  )

  it.scoped("a redirect is not followed: neither key nor conversation reach another host", () =>
    Effect.gen(function* () {
      const other = yield* Server.make([Server.says("stolen")])
      const server = yield* Server.make([{ status: 307, headers: { location: `${other.baseUrl}/x?token=1` } }])
      for (const provider of ["anthropic", "openai", "openai-compatible"] as const) {
        const error = yield* Effect.flip(asked(backendOf(server.baseUrl, { provider, model: "m" })))
        assert.strictEqual(error.reason, "not_configured")
        assert.include(error.detail, `${other.baseUrl}/x,`)
      }
      assert.strictEqual((yield* server.requests).length, 3)
      assert.deepStrictEqual(yield* other.requests, [])
      // The control: a plain client goes there.
      yield* Effect.promise(() => fetch(server.baseUrl, { method: "POST", body: "{}" }))
      assert.strictEqual((yield* other.requests).length, 1)
    })
  )

  it.effect("offline and scripted need nothing", () =>
    Effect.gen(function* () {
      const offline = yield* asked(backendOf("", { provider: "offline", model: "", ...none }))
      assert.include(textOf(offline.parts), "offline assistant")
      assert.deepStrictEqual(finishOf(offline.parts)?.backend, offline.route.primary)
      const echo = yield* asked(backendOf("", { provider: "scripted", model: "echo", ...none }))
      assert.strictEqual(textOf(echo.parts), "hello")
      const instant = yield* asked(backendOf("", { provider: "scripted", model: "instant", ...none }))
      assert.strictEqual(textOf(instant.parts), "ok")
    })
  )

  it.effect("a fallback is another backend, taken whole", () =>
    Effect.gen(function* () {
      const dead = backendOf("http://127.0.0.1:1/v1")
      const spare = backendOf("", { provider: "scripted", model: "instant", ...none })
      const { parts } = yield* asked(dead, [dead, spare])
      assert.deepStrictEqual(finishOf(parts)?.backend, { provider: "scripted", model: "instant" })
    })
  )

  it.effect("a script that cannot be read says which and why", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(asked(backendOf("", { provider: "scripted", model: "/no/such/script.json" })))
      assert.strictEqual(error.reason, "not_configured")
      assert.include(error.detail, "/no/such/script.json")
    })
  )

  it("a gateway on the offline assistant loads no provider's client, and no tokenizer is in any chunk", async () => {
    const bundle = await rolldown({
      input: "src/layers/models/Route.ts",
      platform: "node",
      logLevel: "silent"
    })
    const { output } = await bundle.generate({ format: "esm" })
    await bundle.close()
    const chunks = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file] as const] : [])))
    const loaded = (name: string, seen = new Set<string>()): Set<string> => {
      if (seen.has(name)) return seen
      seen.add(name)
      for (const next of chunks.get(name)?.imports ?? []) loaded(next, seen)
      return seen
    }
    const modulesOf = (names: Iterable<string>): ReadonlyArray<string> =>
      [...names].flatMap((name) => chunks.get(name)?.moduleIds ?? [])
    const entry = [...chunks.values()].find((chunk) => chunk.isEntry)
    const offline = [...chunks.values()].find((chunk) =>
      chunk.moduleIds.some((id) => id.endsWith("layers/models/offline/Backend.ts"))
    )
    const atStart = modulesOf([...loaded(entry?.fileName ?? ""), ...loaded(offline?.fileName ?? "")])
    assert.isAbove(atStart.length, 10)
    assert.deepStrictEqual(
      atStart.filter((id) => /@effect\/ai|chrono-node|models\/(?:anthropic|openai|chatCompletions)\//.test(id)),
      []
    )
    const everything = modulesOf(chunks.keys())
    assert.isTrue(everything.some((id) => id.includes("@effect/ai-openai")))
    assert.deepStrictEqual(
      everything.filter((id) => /tokenizer|tiktoken|undici/i.test(id)),
      []
    )
  })
})

describe("what is missing", () => {
  it("a key of one's own server is not asked for", () => {
    assert.isNull(Backend.missing(backendOf("http://127.0.0.1:1", { provider: "anthropic", apiKey: null })))
    assert.isNull(Backend.missing(backendOf("http://127.0.0.1:1", { apiKey: null })))
    assert.isNotNull(Backend.missing(backendOf("", { provider: "anthropic", ...none })))
    assert.isAbove(standard.totalBytes, 0)
  })
})
