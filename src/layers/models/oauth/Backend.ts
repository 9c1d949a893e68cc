/** A backend that is asked with the token of a login: the newest one each time, and with another where one is refused. */
import { Context, Effect, type Redacted, Stream } from "effect"
import { AccessTokens, type TokenError } from "../../../services/credential/AccessTokens.js"
import type { OAuthLogin } from "../../../services/credential/OAuthLogin.js"
import {
  type BackendName,
  type ModelBackendService,
  ModelError,
  type ModelErrorReason,
  speak
} from "../../../services/agent/ModelRoute.js"

const reasonOf = (error: TokenError): ModelErrorReason => {
  switch (error._tag) {
    case "LoginNeeded":
      return "auth_permanent"
    case "AuthFileUnusable":
      return error.reason === "busy" ? "overloaded" : "not_configured"
    case "TokenUnavailable":
      break
  }
  switch (error.reason) {
    case "limited":
      return "rate_limit"
    case "silent":
      return "timeout"
    case "unreachable":
      return "transport"
    case "failing":
      return "server_error"
    case "refused":
      return "auth"
  }
}

const modelError =
  (provider: string) =>
  (error: TokenError): ModelError =>
    new ModelError({
      reason: reasonOf(error),
      provider,
      detail: error.message,
      status: null,
      retryAfterMillis: error._tag === "TokenUnavailable" ? error.retryAfterMillis : null
    })

/** Was it the token that was refused, before anything was said? */
const isRefused = (error: ModelError): boolean => error.reason === "auth" && error.status === 401

export interface Made<R> {
  readonly name: BackendName
  readonly contextWindow: number
  readonly login: OAuthLogin
  /** One of its credentials; null is the first. */
  readonly credential: string | null
  /** The same backend with a token in the place of a key. */
  readonly withToken: (token: Redacted.Redacted) => Effect.Effect<ModelBackendService, ModelError, R>
}

export const make = <R>({
  contextWindow,
  credential,
  login,
  name,
  withToken
}: Made<R>): Effect.Effect<ModelBackendService, never, AccessTokens | R> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<AccessTokens | R>()
    const tokens = Context.get(context, AccessTokens)
    let made: { readonly token: Redacted.Redacted; readonly service: ModelBackendService } | null = null

    /** A client for each token would be made at each call, although a token lives for an hour. */
    const serviceOf = (token: Redacted.Redacted): Effect.Effect<ModelBackendService, ModelError> =>
      Effect.suspend(() => {
        if (made !== null && made.token === token) return Effect.succeed(made.service)
        return Effect.tap(Effect.provide(withToken(token), context), (service) =>
          Effect.sync(() => {
            made = { token, service }
          })
        )
      })

    const present = (refused: Redacted.Redacted | null) =>
      Effect.gen(function* () {
        const token = yield* Effect.mapError(tokens.token(login, credential, refused), modelError(name.provider))
        return { token, service: yield* serviceOf(token) }
      })

    return {
      name,
      contextWindow,
      speak: (request, hear) =>
        Effect.flatMap(present(null), ({ service, token }) =>
          Effect.catchIf(speak(service, request, hear), isRefused, () =>
            Effect.flatMap(present(token), (next) => speak(next.service, request, hear))
          )
        ),
      stream: (request) =>
        Stream.unwrap(
          Effect.map(present(null), ({ service, token }) =>
            Stream.catchAll(service.stream(request), (error) =>
              isRefused(error)
                ? Stream.unwrap(Effect.map(present(token), (next) => next.service.stream(request)))
                : Stream.fail(error)
            )
          )
        )
    }
  })
