/**
 * Requests to others, through Node's own client: with `fetch`, whose bodies are web streams, a short exchange costs a
 * millisecond more, which is a fifth of a turn (bench/).
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { RequestError } from "@effect/platform/HttpClientError"
import { Effect, Layer } from "effect"

/** So long is a connection kept for the next request: most servers close theirs after five seconds, without a word. */
const idleMillis = 4_000

const connections = NodeHttpClient.makeAgentLayer({ keepAlive: true, timeout: idleMillis })

/** Follows no redirect. What Node does not call a request, and would throw at, fails as `InvalidUrl`. */
export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (client) =>
    HttpClient.transform(client, (sent, request) =>
      /^https?:\/\//i.test(request.url)
        ? sent
        : Effect.fail(new RequestError({ request, reason: "InvalidUrl", description: "neither http nor https" }))
    )
  )
).pipe(Layer.provide(NodeHttpClient.layerWithoutAgent), Layer.provide(connections))
