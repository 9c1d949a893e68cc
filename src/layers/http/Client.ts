/** The API as the `hermes` command speaks to it: typed calls, and event streams as streams. */
import * as Sse from "@effect/experimental/Sse"
import type { HttpApi } from "@effect/platform/HttpApi"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import type { HttpApiGroup } from "@effect/platform/HttpApiGroup"
import * as HttpClient from "@effect/platform/HttpClient"
import type { HttpClientError } from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import { Effect, Option, ParseResult, type Redacted, Schema, Stream, Struct } from "effect"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import type { Api } from "../../services/api/Api.js"
import { ApiError, badGateway, ErrorBody, notFound } from "../../services/api/ApiError.js"
import { BareApi } from "../../services/api/BareApi.js"
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

/** A command makes the calls of one group or two, and what the others know takes longer to load than its own work. */
const groups: { readonly [name in keyof Calls]: () => Promise<HttpApiGroup.Any> } = {
  approvals: async () => (await import("../../services/api/Approvals.js")).ApprovalQuestions,
  clarifications: async () => (await import("../../services/api/Clarifications.js")).ClarifyingQuestions,
  completions: async () => (await import("../../services/api/Completions.js")).Completions,
  deliveries: async () => (await import("../../services/api/Deliveries.js")).Deliveries,
  helpers: async () => (await import("../../services/api/Helpers.js")).HelpersAtWork,
  jobs: async () => (await import("../../services/api/Jobs.js")).ScheduledJobs,
  liveness: async () => (await import("../../services/api/Operation.js")).Liveness,
  operation: async () => (await import("../../services/api/Operation.js")).Operation,
  pairing: async () => (await import("../../services/api/Pairing.js")).PairingCodes,
  sessions: async () => (await import("../../services/api/Sessions.js")).Sessions,
  usage: async () => (await import("../../services/api/Usage.js")).UsageFigures
}

interface Request {
  readonly path: unknown
  readonly urlParams: unknown
  readonly headers: unknown
  readonly payload: unknown
}

type Call = (request: Request) => Effect.Effect<unknown, unknown>

/** Each call is built when it is first made: what the whole API needs is a tenth of a short command. */
const builtWhenUsed = (httpClient: HttpClient.HttpClient): Calls => {
  const call = (group: keyof Calls, endpoint: string): Call => {
    let built: Call | null = null
    const build: Effect.Effect<Call> = Effect.flatMap(Effect.promise(groups[group]), (its) =>
      HttpApiClient.endpoint(BareApi.add(its), { httpClient, group, endpoint } as never)
    )
    return (request) =>
      Effect.flatMap(
        Effect.zipRight(checked(request), built === null ? build : Effect.succeed(built)),
        (made: Call) => {
          built = made
          return made(request)
        }
      )
  }
  const callsOf = (group: keyof Calls) => {
    const known = new Map<string, Call>()
    return new Proxy(known, {
      get: (_, endpoint) => {
        if (typeof endpoint !== "string") return undefined
        const made = known.get(endpoint) ?? call(group, endpoint)
        known.set(endpoint, made)
        return made
      }
    })
  }
  const named = Struct.keys(groups).map((group) => [group, callsOf(group)])
  // The same calls under the same names; that is all that their type says.
  return Object.fromEntries(named) as Calls
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
