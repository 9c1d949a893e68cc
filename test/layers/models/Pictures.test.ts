import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { NodeFileSystem } from "@effect/platform-node"
import { FileSystem } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as Anthropic from "../../../src/layers/models/anthropic/Request.js"
import { bodyOf } from "../../../src/layers/models/chatCompletions/Wire.js"
import * as ListenerLayer from "../../../src/layers/models/Listener.js"
import * as OpenAi from "../../../src/layers/models/openai/Request.js"
import * as Pictures from "../../../src/layers/models/Pictures.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { isKnownToSee } from "../../../src/services/agent/Vision.js"
import { Listener } from "../../../src/services/conversation/Listener.js"
import { settingsLayer } from "../support/hands.js"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-pictures-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

const ask = (...paths: ReadonlyArray<string>): ModelRequest => ({
  systemPrompt: "",
  messages: [
    {
      _tag: "user",
      text: "what is this?",
      platformMessageId: null,
      media: paths.map((at) => ({ path: at, mimeType: "image/png" }))
    }
  ],
  tools: [],
  sessionKey: "k"
})

const shown = (request: ModelRequest, sees: boolean) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Pictures.shown(request, sees, fs)).pipe(
    Effect.provide(NodeFileSystem.layer)
  )

const bytes = Buffer.from("89504e470d0a1a0a00ff0d0a", "hex")

describe("pictures for a model", () => {
  it.scoped("stand in the message that they came with, in each provider's form", () =>
    Effect.gen(function* () {
      const at = path.join(yield* folder, "a.png")
      writeFileSync(at, bytes)
      const request = yield* shown(ask(at), true)
      const data = bytes.toString("base64")
      const anthropic = JSON.stringify(Anthropic.payloadOf(request, "claude-sonnet-4-5").messages)
      assert.include(anthropic, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${data}"}}`)
      const url = `data:image/png;base64,${data}`
      assert.include(JSON.stringify(OpenAi.payloadOf(request, "gpt-5").input), `"image_url":"${url}"`)
      const wire = bodyOf(request, "gpt-4o", { stream: true, streamOptions: true })
      assert.include(wire, `{"type":"image_url","image_url":{"url":"${url}"}}`)
      for (const body of [anthropic, wire]) assert.include(body, "what is this?")
    })
  )

  it.scoped("are not sent to one that does not see, which is told so", () =>
    Effect.gen(function* () {
      const at = path.join(yield* folder, "a.png")
      writeFileSync(at, bytes)
      const wire = bodyOf(yield* shown(ask(at), false), "llama3", { stream: true, streamOptions: true })
      assert.notInclude(wire, bytes.toString("base64"))
      assert.include(wire, "not shown pictures")
      const plain = { ...ask(), messages: [{ _tag: "user", text: "hi", platformMessageId: null }] } as ModelRequest
      assert.strictEqual(yield* shown(plain, false), plain)
    })
  )

  it.scoped("that became a link to something else, or are too large, or too many, are not", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const secret = path.join(home, "secret")
      writeFileSync(secret, "secret")
      const link = path.join(home, "link.png")
      symlinkSync(secret, link)
      const large = path.join(home, "large.png")
      writeFileSync(large, new Uint8Array(4_000_000))
      const many = Array.from({ length: 12 }, (_, n) => {
        const at = path.join(home, `${n}.png`)
        writeFileSync(at, Buffer.concat([bytes, Buffer.from(String(n))]))
        return at
      })
      const { pictures } = yield* shown(ask(link, large, ...many), true)
      assert.deepStrictEqual([...(pictures?.keys() ?? [])], many.slice(4).reverse())
    })
  )

  it("are for models whose names say that they see", () => {
    for (const name of [
      "claude-sonnet-4-5",
      "claude-3-opus",
      "gpt-5-mini",
      "gpt-4o",
      "o3",
      "google/gemini-2.5-pro",
      "llava:13b",
      "qwen2.5-vl"
    ])
      assert.isTrue(isKnownToSee(name), name)
    for (const name of ["offline-assistant", "llama3", "gpt-3.5-turbo", "deepseek-chat", "o3-mini", "default"])
      assert.isFalse(isKnownToSee(name), name)
  })
})

const voice = (at: string) => ({ path: at, mimeType: "audio/ogg", name: "voice.ogg" })

const listening = (answer: () => Response, configured = true) => {
  const asked: Array<{ readonly url: string; readonly key: string | undefined }> = []
  const client = HttpClient.make((request) =>
    Effect.sync(() => {
      asked.push({ url: request.url, key: request.headers["authorization"] })
      return HttpClientResponse.fromWeb(request, answer())
    })
  )
  const transcription = configured
    ? { baseUrl: "http://listen.example/v1/", model: "m", apiKey: Redacted.make("the-key") }
    : null
  const layer = ListenerLayer.layer.pipe(
    Layer.provide(
      Layer.mergeAll(
        NodeFileSystem.layer,
        Layer.succeed(HttpClient.HttpClient, client),
        settingsLayer("/nowhere", { media: { transcription } })
      )
    )
  )
  return {
    asked,
    hear: (at: string) => Effect.flatMap(Listener, ({ hear }) => hear([voice(at)])).pipe(Effect.provide(layer))
  }
}

describe("voice messages", () => {
  it.scoped("are written down where somebody is configured, and else nobody pretends", () =>
    Effect.gen(function* () {
      const at = path.join(yield* folder, "v.ogg")
      writeFileSync(at, bytes)
      const well = listening(() => Response.json({ text: "buy milk" }))
      const heard = yield* well.hear(at)
      assert.strictEqual(heard.texts.get(at), "buy milk")
      assert.isFalse(heard.unheard)
      assert.deepStrictEqual(well.asked, [
        { url: "http://listen.example/v1/audio/transcriptions", key: "Bearer the-key" }
      ])
      const away = listening(() => new Response("no", { status: 500 }))
      assert.isTrue((yield* away.hear(at)).unheard)
      const nobody = listening(() => Response.json({ text: "x" }), false)
      assert.isTrue((yield* nobody.hear(at)).unheard)
      assert.deepStrictEqual(nobody.asked, [])
    })
  )
})
