/** The API as the `hermes` command speaks to it: typed calls, and event streams as streams. */
import * as Sse from "@effect/experimental/Sse"
import type { HttpApi } from "@effect/platform/HttpApi"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import { Effect, Option, ParseResult, type Redacted, Schema, Stream } from "effect"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import { Api } from "../../services/api/Api.js"
import { ApiError, badGateway, ErrorBody, notFound } from "../../services/api/ApiError.js"
import { contextHeader, forward } from "../../services/api/Caller.js"
import { eventStream } from "../../services/api/EventStream.js"
import type { ChatBody } from "../../services/api/Sessions.js"
import { ActivityEvent } from "../../services/operation/Activity.js"

export interface Options {
  /** Where the gateway answers, without a trailing slash. */
  readonly url: string
  readonly key: Redacted.Redacted
  /** The environment of this process: what it says of a turn goes with every call (decision 29). */
  readonly environment: Environment
}

/** The code of an answer that no gateway gives. */
export const notTheGateway = "not_the_gateway"

/** A connection or an answer that is none of ours. */
export type ClientError = ApiError | HttpClientError | ParseResult.ParseError

const decodeEvent = Schema.decodeUnknown(Schema.parseJson(ActivityEvent))
const decodeFailure = Schema.decodeUnknown(Schema.parseJson(ErrorBody))

/** The `data` of each event of a stream. */
export const dataOf = <E>(text: Stream.Stream<string, E>): Stream.Stream<string, E> =>
  Stream.suspend(() => {
    let ready: Array<string> = []
    const parser = Sse.makeParser((event) => {
      if (event._tag === "Event") ready.push(event.data)
    })
    return Stream.mapConcat(text, (chunk) => {
      parser.feed(chunk)
      const events = ready
      ready = []
      return events
    })
  })

const failureOf = (response: HttpClientResponse): Effect.Effect<never, ApiError | HttpClientError> =>
  Effect.flatMap(response.text, (text) =>
    decodeFailure(text).pipe(
      Effect.mapError(() => badGateway(notTheGateway, `${response.status}: this is not the answer of a gateway`)),
      Effect.flatMap(({ error }) => Effect.fail(new ApiError({ status: response.status, ...error })))
    )
  )

type Calls =
  typeof Api extends HttpApi<string, infer Groups, infer Failure, infer _R>
    ? HttpApiClient.Client<Groups, Failure | HttpClientError, never>
    : never

/**
 * Words of a path that lead to another place, escaped or not: `/api/jobs/../pause` is the pause of everything. Nothing
 * that is kept is called so.
 */
const astray = (word: unknown): Effect.Effect<void, ApiError> =>
  word === "." || word === ".." ? Effect.fail(notFound(`there is nothing called "${word}"`)) : Effect.void

const pathOf = Schema.decodeUnknownOption(
  Schema.Struct({ path: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
)

/** Fails for a request that would lead astray. */
const checked = (request: unknown): Effect.Effect<void, ApiError> =>
  Option.match(pathOf(request), {
    onNone: () => Effect.void,
    onSome: ({ path }) => Effect.forEach(Object.values(path), astray, { discard: true })
  })

/** Each call is built when it is first made: what the whole API needs is a tenth of a short command. */
const builtWhenUsed = (httpClient: HttpClient.HttpClient): Calls => {
  const call = (group: string, endpoint: string) => {
    let built: ((request: unknown) => Effect.Effect<unknown, unknown>) | null = null
    const build: Effect.Effect<NonNullable<typeof built>> = HttpApiClient.endpoint(Api, {
      httpClient,
      group,
      endpoint
    } as never)
    return (request: unknown) =>
      Effect.flatMap(Effect.zipRight(checked(request), built === null ? build : Effect.succeed(built)), (made) => {
        built = made
        return made(request)
      })
  }
  const groups = Object.values(Api.groups).map(({ identifier, endpoints }) => [
    identifier,
    Object.fromEntries(Object.keys(endpoints).map((name) => [name, call(identifier, name)]))
  ])
  // The same calls under the same names; that is all that their type says.
  return Object.fromEntries(groups) as Calls
}

/** The typed client of the whole API, with its event streams. */
export const make = (options: Options) =>
  Effect.gen(function* () {
    const context = forward(options.environment)
    const client = (yield* HttpClient.HttpClient).pipe(
      HttpClient.mapRequest((request) =>
        request.pipe(
          HttpClientRequest.prependUrl(options.url),
          HttpClientRequest.bearerToken(options.key),
          context === null ? (self) => self : HttpClientRequest.setHeader(contextHeader, context)
        )
      )
    )
    const eventsOf = (request: HttpClientRequest.HttpClientRequest): Stream.Stream<ActivityEvent, ClientError> =>
      Stream.flatMap(
        client.execute(HttpClientRequest.setHeader(request, "accept", eventStream)),
        (response): Stream.Stream<ActivityEvent, ClientError> =>
          response.status === 200
            ? dataOf(Stream.decodeText(response.stream)).pipe(Stream.mapEffect((data) => decodeEvent(data)))
            : Stream.fromEffect(failureOf(response))
      )

    return {
      ...builtWhenUsed(client),
      /** Says something in a session; the events of its turn, ending with its `turn.ended`. */
      chat: (sessionId: string, body: typeof ChatBody.Encoded): Stream.Stream<ActivityEvent, ClientError> =>
        Stream.concat(
          Stream.drain(Stream.fromEffect(astray(sessionId))),
          HttpClientRequest.post(`/api/sessions/${encodeURIComponent(sessionId)}/chat`).pipe(
            HttpClientRequest.bodyUnsafeJson(body),
            eventsOf
          )
        ),
      /** Everything that happens, until the stream is left. */
      events: (sessionId?: string): Stream.Stream<ActivityEvent, ClientError> =>
        eventsOf(
          HttpClientRequest.get("/api/events").pipe(
            sessionId === undefined ? (self) => self : HttpClientRequest.setUrlParam("session", sessionId)
          )
        )
    }
  })

export type Client = Effect.Effect.Success<ReturnType<typeof make>>
