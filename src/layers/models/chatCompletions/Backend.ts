/**
 * Any server that speaks chat completions: llama.cpp, Ollama, vLLM, LM Studio, OpenRouter, … Streaming with tools; a server
 * that does not stream is asked without, and one that answers whole is read whole.
 */
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Effect, Option, Redacted, Ref, type Scope, Stream } from "effect"
import type { Deadlines } from "../../../fibers/Deadlines.js"
import type { ModelBackendService, ModelError, ModelRequest } from "../../../services/agent/ModelRoute.js"
import { Ids } from "../../../services/operation/Ids.js"
import type { ModelBackend } from "../../../services/operation/Settings.js"
import * as Exchange from "../Exchange.js"
import * as Failure from "../Failure.js"
import type { ModelLimits } from "../Limits.js"
import { guarded } from "../ProviderClient.js"
import * as Parts from "./Parts.js"
import { bodyOf, type Dialect } from "./Wire.js"

/** What stands before `/chat/completions`, also when somebody set the whole address. */
export const trimmed = (baseUrl: string): string =>
  baseUrl
    .trim()
    .replace(/\/+$/, "")
    .replace(/\/chat\/completions$/, "")

/** What a refusal teaches about the server; null when it is about something else. */
const otherDialect = (error: ModelError, dialect: Dialect): Dialect | null => {
  if (error.status !== 400 && error.status !== 422 && error.status !== 501) return null
  if (dialect.stream && dialect.streamOptions && /stream_options|include_usage/i.test(error.detail))
    return { ...dialect, streamOptions: false }
  return dialect.stream && /\bstream(ing)?\b/i.test(error.detail)
    ? { ...dialect, stream: false, streamOptions: false }
    : null
}

export const make = (options: {
  readonly backend: ModelBackend
  readonly baseUrl: string
  readonly limits: ModelLimits
  readonly deadlines: Deadlines
}): Effect.Effect<ModelBackendService, never, HttpClient.HttpClient | Ids> =>
  Effect.gen(function* () {
    const { backend, deadlines, limits } = options
    const client = guarded(yield* HttpClient.HttpClient)
    const ids = yield* Ids
    const learned = yield* Ref.make<Dialect>({ stream: true, streamOptions: true, promptOpensThoughts: false })
    const name = { provider: backend.provider, model: backend.model }
    const origin: Failure.CallOrigin = {
      backend: name,
      contextWindow: backend.contextWindow,
      scrub: Failure.scrubber(backend.apiKey)
    }
    const url = `${trimmed(options.baseUrl)}/chat/completions`
    const headers = {
      accept: "text/event-stream, application/json",
      ...(backend.apiKey === null ? {} : { authorization: `Bearer ${Redacted.value(backend.apiKey)}` })
    }

    const open = (
      request: ModelRequest,
      dialect: Dialect
    ): Effect.Effect<Exchange.OpenAnswer, ModelError, Scope.Scope> =>
      Exchange.open({
        client,
        origin,
        request,
        limits,
        deadlines,
        http: HttpClientRequest.post(url, {
          headers,
          body: HttpBody.text(bodyOf(request, backend.model, dialect), "application/json")
        })
      }).pipe(
        Effect.catchAll((error) => {
          const other = otherDialect(error, dialect)
          return other === null ? Effect.fail(error) : Effect.zipRight(Ref.set(learned, other), open(request, other))
        })
      )

    const opened = Effect.fnUntraced(function* (request: ModelRequest) {
      const dialect = yield* Ref.get(learned)
      return Parts.pull({
        answer: yield* open(request, dialect),
        request,
        origin,
        limits,
        newId: ids.next("call"),
        promptOpensThoughts: dialect.promptOpensThoughts,
        learn: (promptOpensThoughts) => Ref.update(learned, (known) => ({ ...known, promptOpensThoughts }))
      })
    })

    return {
      name,
      contextWindow: backend.contextWindow,
      speak: (request, hear) =>
        Effect.scoped(
          Effect.flatMap(opened(request), (pull) =>
            pull.pipe(
              Effect.flatMap((parts) => Effect.forEach(parts, hear, { discard: true })),
              Effect.forever,
              Effect.catchAll(Option.match({ onNone: () => Effect.void, onSome: (error) => Effect.fail(error) }))
            )
          )
        ),
      stream: (request) => Stream.unwrapScoped(Effect.map(opened(request), Stream.repeatEffectChunkOption))
    }
  })
