import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Layer, Option, Schema } from "effect"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import { type ApiError, badRequest, forbidden, unauthorized } from "../../services/api/ApiError.js"
import { Authentication, callerOf, type CallerShape, contextHeader, Forwarded } from "../../services/api/Caller.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Connections from "./Connections.js"
import * as Keyring from "./Keyring.js"

/** The cookie's name tells the gateways of one machine apart: cookies know no ports. */
export const cookieName = (request: HttpServerRequest.HttpServerRequest): string =>
  `hermes_${NodeHttpServerRequest.toIncomingMessage(request).socket.localPort ?? 0}`

const bearer = /^bearer +(\S+) *$/i

const nothing: Environment = {}

const forwardedOf = (header: string | undefined): Effect.Effect<Environment, ApiError> =>
  header === undefined
    ? Effect.succeed(nothing)
    : Schema.decodeUnknown(Forwarded, { onExcessProperty: "error" })(header).pipe(
        Effect.mapError(() =>
          badRequest("invalid_context", `the ${contextHeader} header is not a JSON object of HERMES_* names and texts`)
        )
      )

/** Which page sent a request that brings its credential by itself. A browser that does not say is held by the cookie's SameSite alone. */
const fromOwnPage = (site: string | undefined): boolean =>
  site === undefined || site === "same-origin" || site === "none"

/** Somebody tried to get in: that is told to the owner, who showed nothing is not. */
const refused = (request: HttpServerRequest.HttpServerRequest, shown: "key" | "cookie") =>
  Effect.logInfo(`a wrong ${shown} was refused`).pipe(
    Effect.annotateLogs({
      from: Option.getOrElse(request.remoteAddress, () => "unknown"),
      method: request.method,
      path: request.url.split("?", 1)[0] ?? ""
    }),
    Effect.zipRight(Effect.fail(unauthorized))
  )

export type Authenticate = Effect.Effect<CallerShape, ApiError, HttpServerRequest.HttpServerRequest>

/** Who sent the current request; fails with 401 when it shows neither key nor cookie. */
export const make = (keyring: Keyring.Keyring): Authenticate =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { authorization, [contextHeader]: context, "sec-fetch-site": site } = request.headers
    const key = authorization === undefined ? undefined : bearer.exec(authorization)?.[1]
    if (key !== undefined) {
      if (!keyring.isKey(key)) return yield* refused(request, "key")
      Connections.trust(NodeHttpServerRequest.toIncomingMessage(request).socket)
      return callerOf("key", yield* forwardedOf(context))
    }
    const cookie = request.cookies[cookieName(request)]
    if (cookie === undefined) return yield* Effect.fail(unauthorized)
    if (!(yield* keyring.isCookie(cookie))) return yield* refused(request, "cookie")
    if (!fromOwnPage(site))
      return yield* Effect.fail(forbidden("origin_not_allowed", "another page may not use this page's cookie"))
    Connections.trust(NodeHttpServerRequest.toIncomingMessage(request).socket)
    return callerOf("cookie", yield* forwardedOf(context))
  })

export const layer: Layer.Layer<Authentication, never, Settings> = Layer.effect(
  Authentication,
  Effect.map(Settings, (settings) => make(Keyring.make(settings.apiServer.key)))
)
