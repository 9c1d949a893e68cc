/**
 * Anthropic through @effect/ai-anthropic: its client makes the request and frames the events; the parts stay undecoded
 * (decision 30). This module is a chunk of its own and is imported when the provider is configured.
 */
import * as AnthropicClient from "@effect/ai-anthropic/AnthropicClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Effect, Redacted, Stream } from "effect"
import type { BackendName, ModelBackendService } from "../../../services/agent/ModelRoute.js"
import type { ModelBackend } from "../../../services/operation/Settings.js"
import * as EventParts from "../EventParts.js"
import * as Failure from "../Failure.js"
import type { ModelLimits } from "../Limits.js"
import { guarded } from "../ProviderClient.js"
import * as RequestBody from "../RequestBody.js"
import { Event, reader } from "./Events.js"
import { payloadOf } from "./Request.js"

/** What stands before `/v1/messages`, also when somebody set it with the version. */
const rootOf = (baseUrl: string): string => baseUrl.trim().replace(/\/+$/, "").replace(/\/v1$/, "")

export const make = (options: {
  readonly backend: ModelBackend
  readonly limits: ModelLimits
  /** Is the key a token of a login, which goes into another header? */
  readonly bearer?: boolean
}): Effect.Effect<ModelBackendService, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const { backend, bearer = false, limits } = options
    const name: BackendName = { provider: backend.provider, model: backend.model }
    const origin: Failure.CallOrigin = {
      backend: name,
      contextWindow: backend.contextWindow,
      scrub: Failure.scrubber(backend.apiKey)
    }
    const client = yield* Effect.scoped(
      AnthropicClient.make({
        apiKey: bearer ? undefined : (backend.apiKey ?? undefined),
        apiUrl: backend.baseUrl === null ? undefined : rootOf(backend.baseUrl),
        transformClient: (client) =>
          bearer && backend.apiKey !== null
            ? HttpClient.mapRequest(guarded(client), HttpClientRequest.bearerToken(Redacted.value(backend.apiKey)))
            : guarded(client)
      })
    )
    return {
      name,
      contextWindow: backend.contextWindow,
      stream: (request) =>
        Stream.suspend(() =>
          EventParts.parts({
            events: client.streamRequest(
              HttpClientRequest.post("/v1/messages", { body: RequestBody.of(payloadOf(request, backend.model)) }),
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
