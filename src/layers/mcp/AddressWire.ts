/** A server at an address, spoken with over streamable HTTP: each message a POST, its answer JSON or a stream of events. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect, Redacted, type Scope, Stream } from "effect"
import type { McpFailed, ServerSettings } from "../../services/mcp/McpServers.js"
import { protocolVersion } from "../../services/mcp/Message.js"
import { ServerSentEvents } from "../models/ServerSentEvents.js"
import type { Exchange, Wire } from "./Exchange.js"

/** Bytes of one answer. */
const longestAnswer = 8 * 1024 * 1024
const goodbyeMillis = 2_000

/** Opens nothing: the first message is the greeting, and its answer may name the conversation. */
export const open = (
  exchange: Exchange,
  reach: Extract<ServerSettings["reach"], { readonly _tag: "Address" }>
): Effect.Effect<Wire, McpFailed, HttpClient.HttpClient | Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    let conversation: string | null = null
    const headers = Object.entries(reach.headers).map(
      ([name, value]) => [name, Redacted.isRedacted(value) ? Redacted.value(value) : value] as const
    )
    const request = (of: HttpClientRequest.HttpClientRequest) =>
      client
        .execute(
          HttpClientRequest.setHeaders(of, {
            ...Object.fromEntries(headers),
            accept: "application/json, text/event-stream",
            "mcp-protocol-version": protocolVersion,
            ...(conversation === null ? {} : { "mcp-session-id": conversation })
          })
        )
        // Headers that were meant for one server go to no other.
        .pipe(Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }))

    const gone = (detail: string) => {
      exchange.end(detail)
      return exchange.failed(detail)
    }

    const chunks = (
      response: HttpClientResponse.HttpClientResponse,
      take: (chunk: Uint8Array) => ReadonlyArray<string>
    ) => {
      let bytes = 0
      return Stream.runForEach(response.stream, (chunk) =>
        Effect.suspend(() => {
          bytes += chunk.length
          return bytes > longestAnswer
            ? Effect.fail(exchange.failed(`answered more than ${longestAnswer} bytes`))
            : Effect.forEach(take(chunk), post, { discard: true })
        })
      )
    }

    const read = (response: HttpClientResponse.HttpClientResponse) =>
      Effect.suspend(() => {
        const isStream = (response.headers["content-type"] ?? "").includes("text/event-stream")
        const events = new ServerSentEvents()
        const parts: Array<Uint8Array> = []
        const heard = (found: ReadonlyArray<{ readonly data: string }>) =>
          found.flatMap(({ data }) => exchange.receive(data))
        return chunks(response, (chunk) => {
          if (isStream) return heard(events.feed(chunk))
          parts.push(chunk)
          return []
        }).pipe(
          Effect.zipRight(
            Effect.suspend(() =>
              Effect.forEach(
                isStream ? heard(events.end()) : exchange.receive(Buffer.concat(parts).toString("utf8")),
                post,
                { discard: true }
              )
            )
          )
        )
      })

    const post = (text: string): Effect.Effect<void, McpFailed> =>
      Effect.gen(function* () {
        const response = yield* request(
          HttpClientRequest.post(reach.url, { body: HttpBody.text(text, "application/json") })
        )
        if (response.status === 404 && conversation !== null) return yield* gone("has forgotten this conversation")
        if (response.status === 401 || response.status === 403)
          return yield* exchange.failed(
            `does not let us in (status ${response.status}): look at its headers in config.yaml`
          )
        if (response.status < 200 || response.status >= 300)
          return yield* exchange.failed(`answered with status ${response.status}`)
        conversation = response.headers["mcp-session-id"] ?? conversation
        // Taken, and nothing to say: such an answer need not even have a body.
        if (response.status !== 202 && response.status !== 204) yield* read(response)
      }).pipe(
        Effect.scoped,
        Effect.mapError((error) => (error._tag === "McpFailed" ? error : gone(`is not reached: ${error.message}`)))
      )

    yield* Effect.addFinalizer(() =>
      conversation === null
        ? Effect.void
        : request(HttpClientRequest.del(reach.url)).pipe(Effect.scoped, Effect.timeout(goodbyeMillis), Effect.ignore)
    )
    return { answersWithin: true, send: post }
  })
