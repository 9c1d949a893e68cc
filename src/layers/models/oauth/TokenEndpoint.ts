/**
 * One question to the server of a login (RFC 6749, RFC 8628), bounded in time and size, without redirects. A refusal is
 * told by its code and the words beside it, out of which whatever was sent is taken; the rest of a body is told to nobody.
 */
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Clock, Data, Effect, Either, Option, type ParseResult, Redacted, Schema, Stream } from "effect"
import * as Misfit from "../../../services/operation/Misfit.js"
import * as ErrorBody from "../ErrorBody.js"
import * as Failure from "../Failure.js"
import { guarded, redirected } from "../ProviderClient.js"

/** From the question to the end of its answer. */
const patienceMillis = 15_000
const mostBytes = 64 * 1024

/** It was not answered as asked. */
export class EndpointFailure extends Data.TaggedError("EndpointFailure")<{
  /** `unsent`: it never arrived. `unheard`: whether it was acted upon is not known. `refused`: it was answered with a no. */
  readonly kind: "unsent" | "unheard" | "refused"
  /** The code of RFC 6749 of a refusal; null where it has none. */
  readonly code: string | null
  readonly status: number | null
  readonly detail: string
  readonly retryAfterMillis: number | null
}> {
  override get message(): string {
    return this.detail
  }
}

const Refusal = Schema.Struct({
  error: Schema.String,
  error_description: Schema.optional(Schema.NullOr(Schema.String))
})
const decodeRefusal = Misfit.decoder(Schema.parseJson(Refusal))
const decodeJson = Schema.decodeUnknownOption(Schema.parseJson())

const failure = (
  kind: EndpointFailure["kind"],
  detail: string,
  more: Partial<Pick<EndpointFailure, "code" | "status" | "retryAfterMillis">> = {}
) => new EndpointFailure({ kind, detail, code: null, status: null, retryAfterMillis: null, ...more })

/** What came in the place of an answer, without a word of it. */
const oddity = (text: string, misfit: ParseResult.ParseError): string => {
  if (text.trim() === "") return "nothing"
  if (/^\s*</.test(text)) return "a web page"
  if (Option.isNone(decodeJson(text))) return "a text that is no JSON"
  const fields = Misfit.issues(misfit).flatMap(({ path, problem }) =>
    path === "" ? [] : [problem === "is missing" ? `without ${path}` : `with a ${path} that cannot be used`]
  )
  return fields.length === 0 ? "JSON that is no object" : `JSON ${[...new Set(fields)].join(", ")}`
}

interface Said {
  readonly code: string | null
  readonly words: string
}

/** The refusal of RFC 6749, or one in the shape of the provider's API; null where it is none. */
const refusalOf = (text: string, status: number): Said | null => {
  const standard = decodeRefusal(text)
  if (Either.isRight(standard)) return { code: standard.right.error, words: standard.right.error_description ?? "" }
  // An API that is in trouble says so in this shape too, and has refused nothing then.
  if (status >= 500) return null
  const json = Option.getOrNull(decodeJson(text))
  if (typeof json !== "object" || json === null || (isGood(status) && !("error" in json))) return null
  const said = ErrorBody.fromJson(json)
  return said === null ? null : { code: said.code, words: said.message }
}

const isGood = (status: number): boolean => status >= 200 && status < 300

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "the login's server")

const textOf = (response: HttpClientResponse.HttpClientResponse) =>
  response.stream.pipe(
    Stream.runFoldWhile(
      { pieces: new Array<Uint8Array>(), length: 0 },
      ({ length }) => length <= mostBytes,
      ({ length, pieces }, piece) => ({ pieces: [...pieces, piece], length: length + piece.length })
    ),
    Effect.map(({ pieces }) => new TextDecoder().decode(Buffer.concat(pieces).subarray(0, mostBytes)))
  )

/** What is sent, of which nothing is told. */
export type Fields = { readonly [name: string]: string | Redacted.Redacted | null }

const plainOf = (value: string | Redacted.Redacted): string =>
  Redacted.isRedacted(value) ? Redacted.value(value) : value

/** The answer, whose text `schema` reads. */
export const ask = <A>(
  client: HttpClient.HttpClient,
  url: string,
  fields: Fields,
  schema: Schema.Schema<A, string>
): Effect.Effect<A, EndpointFailure> => {
  const sent = Object.entries(fields).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]))
  const scrub = Failure.scrubber(...sent.map(([, value]) => (Redacted.isRedacted(value) ? value : null)))
  const host = hostOf(url)
  const decode = Misfit.decoder(schema)
  const form = new URLSearchParams(sent.map(([name, value]) => [name, plainOf(value)])).toString()
  return Effect.gen(function* () {
    const response = yield* guarded(client)
      .execute(
        HttpClientRequest.post(url, {
          acceptJson: true,
          body: HttpBody.text(form, "application/x-www-form-urlencoded")
        })
      )
      .pipe(
        Effect.mapError((error) => {
          if (error._tag === "RequestError" && error.reason === "InvalidUrl")
            return failure("unsent", `${host} is no address`)
          const { message, transport } = Failure.transportFailure(error.cause)
          const sure = transport === "connect" || transport === "dns" || transport === "tls"
          return failure(sure ? "unsent" : "unheard", `${host}: ${message}`)
        })
      )
    const redirect = redirected(response.status, response.headers["location"])
    if (redirect !== null)
      return yield* failure("refused", `${host} answers with a redirect, which is not followed`, {
        status: response.status
      })
    const text = yield* Effect.mapError(textOf(response), () => failure("unheard", `${host}: the answer broke off`))
    const { status } = response
    const answer = decode(text)
    if (isGood(status) && Either.isRight(answer)) return answer.right
    const refusal = refusalOf(text, status)
    const now = yield* Clock.currentTimeMillis
    const more = { status, retryAfterMillis: ErrorBody.retryAfterMillis(response.headers, "", now) }
    if (refusal !== null) {
      const code = refusal.code !== null && /^[\w.:-]{1,80}$/.test(refusal.code) ? refusal.code : null
      const said = Failure.detailOf([code, refusal.words].filter((part) => part).join(": "), scrub)
      const detail = said === "" ? `${host} answers with status ${status}` : `${host} said ${said}`
      return yield* failure("refused", detail, { ...more, code })
    }
    // A good status with an answer that makes no sense: it may have been acted upon.
    return yield* failure(
      status >= 400 && status < 500 ? "refused" : "unheard",
      isGood(status) && Either.isLeft(answer)
        ? `${host} answers with something else than OAuth: ${oddity(text, answer.left)}`
        : `${host} answers with status ${status}${/^\s*</.test(text) ? " and a web page" : ""}`,
      more
    )
  }).pipe(
    Effect.scoped,
    Effect.timeoutFail({
      duration: patienceMillis,
      onTimeout: () => failure("unheard", `${host} gave no answer within ${patienceMillis / 1_000} s`)
    })
  )
}

/** A number of seconds, as some servers write it too. */
export const Seconds = Schema.Union(Schema.Number, Schema.NumberFromString).pipe(
  Schema.filter((n) => Number.isFinite(n) && n >= 0)
)

/** What stands beside a good token and makes no sense is left out: its refresh token is spent, and the login would be lost. */
export const lenient = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optional(Schema.NullOr(schema).annotations({ decodingFallback: () => Either.right(null) }))

/** Tokens as a server gives them (RFC 6749 §5.1). */
const Given = Schema.Struct({
  access_token: Schema.Redacted(Schema.NonEmptyString),
  token_type: Schema.optional(Schema.String.pipe(Schema.pattern(/^bearer$/i))),
  expires_in: lenient(Seconds),
  refresh_token: lenient(Schema.Redacted(Schema.NonEmptyString)),
  scope: lenient(Schema.String)
})
export type Tokens = typeof Given.Type
export const Tokens = Schema.parseJson(Given)

/** Epoch milliseconds; null where the server does not say. A life of more than a year is none. */
export const expiryOf = (tokens: Tokens, now: number): number | null =>
  typeof tokens.expires_in === "number" ? now + Math.min(tokens.expires_in, 31_536_000) * 1_000 : null
