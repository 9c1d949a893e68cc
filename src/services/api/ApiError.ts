import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import { Data, Schema } from "effect"

/** One thing wrong with a request: where, as a dotted path, and what. */
export const Issue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type Issue = typeof Issue.Type

/** The body of every error, the framework's own too (contract §4). */
export const ErrorBody = Schema.Struct({
  error: Schema.Struct({
    code: Schema.String,
    message: Schema.String,
    /** The kind of error by OpenAI's names, for clients that were written for its API. */
    type: Schema.optional(Schema.String),
    issues: Schema.optional(Schema.Array(Issue))
  })
}).annotations({ identifier: "Error" })

/** A request that was not done: `code` is for programs, the message for people. */
export class ApiError extends Data.TaggedError("ApiError")<{
  readonly status: number
  readonly code: string
  readonly message: string
  readonly issues?: ReadonlyArray<Issue> | undefined
}> {}

const types: { readonly [status: number]: string } = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error"
}

const typeOf = (status: number): string => types[status] ?? (status >= 500 ? "server_error" : "invalid_request_error")

/** What is sent for an error. */
export const bodyOf = ({ code, message, issues, status }: ApiError): typeof ErrorBody.Type => ({
  error: { code, message, type: typeOf(status), ...(issues === undefined ? {} : { issues }) }
})

/** The schema of the errors of one status. */
export const failure = (status: number, description: string) =>
  Schema.transform(
    ErrorBody,
    Schema.declare((input): input is ApiError => input instanceof ApiError && input.status === status),
    {
      strict: true,
      decode: ({ error: { code, issues, message } }) => new ApiError({ status, code, message, issues }),
      encode: bodyOf
    }
  ).annotations(HttpApiSchema.annotations({ status, description }))

export const BadRequest = failure(400, "The request cannot be understood; `issues` says where.")
export const Unauthorized = failure(401, "The key is missing or wrong.")
export const Forbidden = failure(403, "Refused: to whoever asks, from there or from inside a turn.")
export const NotFound = failure(404, "There is none, or it is not yours.")
export const Conflict = failure(409, "Its state does not allow it now.")
export const TooLarge = failure(413, "The body is larger than 10 MB.")
export const TooMany = failure(429, "Too much at once; try again in a moment.")
export const Internal = failure(500, "A fault of the gateway; its log says more.")
export const BadGateway = failure(502, "The model or the platform behind it failed.")
export const Unavailable = failure(503, "The gateway is shutting down, or its database cannot be used now.")

export const badRequest = (code: string, message: string, issues?: ReadonlyArray<Issue>): ApiError =>
  new ApiError({ status: 400, code, message, issues })

export const unauthorized = new ApiError({
  status: 401,
  code: "unauthorized",
  message: "this needs the home's API key, as `Authorization: Bearer KEY`"
})

export const forbidden = (code: string, message: string): ApiError => new ApiError({ status: 403, code, message })

export const notFound = (message: string): ApiError => new ApiError({ status: 404, code: "not_found", message })

export const conflict = (code: string, message: string): ApiError => new ApiError({ status: 409, code, message })

export const tooLarge = (limit: number): ApiError =>
  new ApiError({ status: 413, code: "too_large", message: `the request's body is larger than ${limit} bytes` })

export const tooMany = (code: string, message: string): ApiError => new ApiError({ status: 429, code, message })

export const internal = new ApiError({
  status: 500,
  code: "internal",
  message: "something went wrong inside; the gateway's log says what"
})

export const badGateway = (code: string, message: string): ApiError => new ApiError({ status: 502, code, message })

export const unavailable = (code: string, message: string): ApiError => new ApiError({ status: 503, code, message })
