/**
 * OpenAI's Responses API through @effect/ai-openai: its client makes the request and frames the events; the parts stay
 * undecoded (decision 30). This module is a chunk of its own and is imported when the provider is configured.
 */
import * as OpenAiClient from "@effect/ai-openai/OpenAiClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Effect, Stream } from "effect"
import type { BackendName, ModelBackendService } from "../../../services/agent/ModelRoute.js"
import type { ModelBackend } from "../../../services/operation/Settings.js"
import * as EventParts from "../EventParts.js"
import * as Failure from "../Failure.js"
import type { ModelLimits } from "../Limits.js"
import { guarded } from "../ProviderClient.js"
import * as RequestBody from "../RequestBody.js"
import { Event, reader } from "./Events.js"
import { payloadOf } from "./Request.js"

/** A model that reasons says nothing for minutes after its first event. */
const reasoningSilenceMillis = 280_000

/** What stands before `/responses`. */
const rootOf = (baseUrl: string): string =>
  baseUrl
    .trim()
    .replace(/\/+$/, "")
    .replace(/\/responses$/, "")

export const make = (options: {
  readonly backend: ModelBackend
  readonly limits: ModelLimits
}): Effect.Effect<ModelBackendService, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const { backend } = options
    const limits: ModelLimits = {
      ...options.limits,
      silenceMillis: Math.max(options.limits.silenceMillis, reasoningSilenceMillis)
    }
    const name: BackendName = { provider: backend.provider, model: backend.model }
    const origin: Failure.CallOrigin = {
      backend: name,
      contextWindow: backend.contextWindow,
      scrub: Failure.scrubber(backend.apiKey)
    }
    const client = yield* Effect.scoped(
      OpenAiClient.make({
        apiKey: backend.apiKey ?? undefined,
        apiUrl: backend.baseUrl === null ? undefined : rootOf(backend.baseUrl),
        transformClient: guarded
      })
    )
    return {
      name,
      contextWindow: backend.contextWindow,
      stream: (request) =>
        Stream.suspend(() =>
          EventParts.parts({
            events: client.streamRequest(
              HttpClientRequest.post("/responses", { body: RequestBody.of(payloadOf(request, backend.model)) }),
              Event
            ),
            reader: reader(name),
            origin,
            request,
            limits
          })
        )
    }
  })
