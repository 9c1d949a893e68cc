/** Voice messages to text over `/audio/transcriptions`, as OpenAI and many servers after it take it. */
import { FileSystem } from "@effect/platform"
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import * as path from "node:path"
import { type Heard, isVoice, Listener } from "../../services/conversation/Listener.js"
import type { InboundEvent } from "../../services/conversation/InboundEvent.js"
import { Settings } from "../../services/operation/Settings.js"

type File = InboundEvent["media"][number]

const Answer = Schema.Struct({ text: Schema.String })

/** For one voice message, and how long its text may be. */
const patience = "45 seconds"
const longestText = 20_000
/** What providers take. Bytes. */
const largest = 25 * 1024 * 1024

const none: Heard = { texts: new Map(), unheard: false }

const make = Effect.gen(function* () {
  const { media } = yield* Settings
  const client = yield* HttpClient.HttpClient
  const fs = yield* FileSystem.FileSystem
  const { transcription } = media

  const write = (to: NonNullable<typeof transcription>, file: File) =>
    Effect.gen(function* () {
      const content = yield* fs.readFile(file.path)
      if (content.length > largest) return yield* Effect.fail({ message: "it is too long" })
      const form = new FormData()
      form.append("model", to.model)
      form.append("response_format", "json")
      form.append("file", new Blob([new Uint8Array(content)], { type: file.mimeType }), path.basename(file.path))
      const response = yield* client.execute(
        HttpClientRequest.post(`${to.baseUrl.replace(/\/+$/, "")}/audio/transcriptions`, {
          body: HttpBody.formData(form)
        }).pipe(HttpClientRequest.bearerToken(Redacted.value(to.apiKey)))
      )
      const { text } = yield* Effect.flatMap(
        HttpClientResponse.filterStatusOk(response),
        HttpClientResponse.schemaBodyJson(Answer)
      )
      return text.slice(0, longestText)
    }).pipe(
      Effect.scoped,
      Effect.timeoutFail({ duration: patience, onTimeout: () => ({ message: `no answer within ${patience}` }) }),
      Effect.map(Option.some),
      Effect.catchAll((error) =>
        Effect.as(
          Effect.logWarning(`a voice message could not be written down: ${error.message}`),
          Option.none<string>()
        )
      )
    )

  return Listener.of({
    hear: (files) => {
      const voices = files.filter(isVoice)
      if (voices.length === 0) return Effect.succeed(none)
      if (transcription === null) return Effect.succeed({ texts: new Map(), unheard: true })
      return Effect.map(
        Effect.forEach(voices, (file) => Effect.map(write(transcription, file), (text) => [file.path, text] as const), {
          concurrency: 2
        }),
        (all) => ({
          texts: new Map(all.flatMap(([at, text]) => (Option.isSome(text) ? [[at, text.value] as const] : []))),
          unheard: all.some(([, text]) => Option.isNone(text))
        })
      )
    }
  })
})

export const layer: Layer.Layer<Listener, never, FileSystem.FileSystem | HttpClient.HttpClient | Settings> =
  Layer.effect(Listener, make)
