/**
 * One HTTP exchange with a provider, bounded in time and size: the request goes out, a bad status becomes a `ModelError`,
 * a good one gives its bytes.
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Chunk, Clock, Effect, Option, type Scope, Stream } from "effect"
import type { Deadlines } from "../../fibers/Deadlines.js"
import type { ModelError, ModelRequest } from "../../services/agent/ModelRoute.js"
import * as ErrorBody from "./ErrorBody.js"
import * as Failure from "./Failure.js"
import type { ModelLimits } from "./Limits.js"
import { redirected } from "./ProviderClient.js"

/** The next bytes; none at the end. */
export type Pull = Effect.Effect<Chunk.Chunk<Uint8Array>, Option.Option<ModelError>>

export interface OpenAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Bounded by `firstByteMillis`, then by `silenceMillis`, and in all by `totalBytes`. */
  readonly pull: Pull
}

const seconds = (millis: number): string => `${Math.round(millis / 1_000)} s`

const hostOf = (url: string): string => {
  try {
    return new URL(url).host
  } catch {
    return "the configured address"
  }
}

/** What a client's error was, in the words of a `ModelError`. */
export const clientFailure = (
  origin: Failure.CallOrigin,
  request: ModelRequest,
  error: HttpClientError
): ModelError => {
  if (error._tag === "RequestError" && error.reason === "InvalidUrl")
    return Failure.certain(origin, "not_configured", "The model's base URL is not a URL. Set HERMES_MODEL_BASE_URL.")
  const { message, transport } = Failure.transportFailure(error.cause)
  return Failure.judged(origin, request, { transport, message: `${hostOf(error.request.url)}: ${message}` })
}

/** Bytes under the limits. */
const bounded = (
  origin: Failure.CallOrigin,
  request: ModelRequest,
  limits: ModelLimits,
  deadlines: Deadlines,
  source: Effect.Effect<Chunk.Chunk<Uint8Array>, Option.Option<HttpClientError>>
): Pull => {
  let total = 0
  return Effect.suspend(() => {
    const wait = total === 0 ? limits.firstByteMillis : limits.silenceMillis
    const late = () =>
      Effect.fail(
        Option.some(
          Failure.certain(
            origin,
            "timeout",
            total === 0
              ? `no byte of an answer within ${seconds(wait)}`
              : `silent for ${seconds(wait)} in the middle of an answer`
          )
        )
      )
    const next = Effect.mapError(
      source,
      Option.map((error) => clientFailure(origin, request, error))
    )
    return deadlines
      .within(wait)(next, late)
      .pipe(
        Effect.flatMap((bytes) => {
          for (const piece of bytes) total += piece.length
          return total <= limits.totalBytes
            ? Effect.succeed(bytes)
            : Effect.fail(
                Option.some(
                  Failure.certain(origin, "malformed_stream", `the answer is larger than ${limits.totalBytes} bytes`)
                )
              )
        })
      )
  })
}

const errorBodyBytes = 64 * 1024
const errorBodyMillis = 10_000

/** The beginning of a body, for an error's words; what cannot be read is left out. */
const readBeginning = (pull: Pull): Effect.Effect<string> =>
  Effect.gen(function* () {
    const decoder = new TextDecoder()
    let text = ""
    const more = pull.pipe(
      Effect.map((bytes) => {
        for (const piece of bytes) text += decoder.decode(piece, { stream: true })
        return text.length < errorBodyBytes
      }),
      Effect.orElseSucceed(() => false)
    )
    yield* Effect.repeat(more, { while: (wanted) => wanted }).pipe(Effect.timeoutOption(errorBodyMillis))
    return text
  })

const refusal = (
  origin: Failure.CallOrigin,
  request: ModelRequest,
  response: HttpClientResponse.HttpClientResponse,
  pull: Pull
): Effect.Effect<ModelError> =>
  Effect.gen(function* () {
    const { code, message } = ErrorBody.fromText(yield* readBeginning(pull))
    const now = yield* Clock.currentTimeMillis
    return Failure.judged(origin, request, {
      status: response.status,
      code,
      message: message === "" ? `status ${response.status} without a word` : message,
      retryAfterMillis: ErrorBody.retryAfterMillis(response.headers, message, now)
    })
  })

/** Whatever serves web pages there is no model server, also when it is asked again. */
const pageInstead = (origin: Failure.CallOrigin, pull: Pull): Effect.Effect<string> =>
  Effect.map(
    readBeginning(pull),
    (text) =>
      `Its base URL answers with ${Failure.detailOf(text.trimStart().startsWith("<") ? text : `<p>${text}`, origin.scrub)}, so no model is there. Set HERMES_MODEL_BASE_URL (model.base_url) to what stands before /chat/completions, such as http://127.0.0.1:11434/v1.`
  )

/** Sends the request; the exchange ends with the scope, whatever state it is in. */
export const open = Effect.fnUntraced(function* (options: {
  readonly client: HttpClient.HttpClient
  readonly http: HttpClientRequest.HttpClientRequest
  readonly origin: Failure.CallOrigin
  readonly request: ModelRequest
  readonly limits: ModelLimits
  readonly deadlines: Deadlines
}): Effect.fn.Return<OpenAnswer, ModelError, Scope.Scope> {
  const { client, deadlines, http, limits, origin, request } = options
  if (request.begins !== undefined) yield* request.begins
  const response = yield* deadlines.within(limits.answerMillis)(
    Effect.mapError(client.execute(http), (error) => clientFailure(origin, request, error)),
    () => Failure.certain(origin, "timeout", `no answer within ${seconds(limits.answerMillis)}`)
  )
  const source = yield* Stream.toPull(response.stream)
  const pull = bounded(origin, request, limits, deadlines, source)
  const page = /^\s*text\/html\b/i.test(response.headers["content-type"] ?? "")
  if (page && (response.status === 404 || (response.status >= 200 && response.status < 300)))
    return yield* Failure.certain(origin, "not_configured", yield* pageInstead(origin, pull))
  if (response.status >= 200 && response.status < 300)
    return { status: response.status, headers: response.headers, pull }
  const redirect = redirected(response.status, response.headers["location"])
  if (redirect !== null) return yield* Failure.certain(origin, "not_configured", redirect)
  return yield* Effect.flatMap(refusal(origin, request, response, pull), Effect.fail)
})
