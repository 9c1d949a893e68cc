/**
 * Requests to others, through the engine that is behind Node's `fetch` (undici) and without the web streams around it:
 * they cost a millisecond of a short exchange, which is a fifth of a turn (bench/).
 *
 * Its package is loaded when the first request is made: a start does without it.
 */
import * as HttpClient from "@effect/platform/HttpClient"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import type { HttpClientRequest } from "@effect/platform/HttpClientRequest"
import { Effect, Layer, Scope } from "effect"
import * as Shared from "../../fibers/Shared.js"

const load = Effect.promise(() => import("@effect/platform-node/NodeHttpClient"))

/** Follows no redirect. Connections are kept for the next request, and closed with the scope. */
export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.scoped(
  HttpClient.HttpClient,
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const client = yield* Shared.cached(
      Effect.flatMap(load, ({ makeDispatcher, makeUndici }) =>
        Effect.map(Scope.extend(makeDispatcher, scope), makeUndici)
      )
    )
    return HttpClient.makeWith(
      (request: Effect.Effect<HttpClientRequest, HttpClientError>) =>
        Effect.flatMap(client, ({ execute }) => Effect.flatMap(request, execute)),
      Effect.succeed
    )
  })
)
