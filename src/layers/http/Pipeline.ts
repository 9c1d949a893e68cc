/** What every request passes: host and origin, a bounded body, nobody's turn, one shape of error, headers and a count. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpMethod from "@effect/platform/HttpMethod"
import { RouteNotFound } from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Cause, Effect, Metric } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { ApiError, badRequest, bodyOf, notFound } from "../../services/api/ApiError.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Authenticate } from "./Authentication.js"
import * as Authentication from "./Authentication.js"
import * as Body from "./Body.js"
import { ofCause } from "./Failures.js"
import * as Guard from "./Guard.js"
import * as Keyring from "./Keyring.js"
import * as Routes from "./Routes.js"
import { dataPolicy, securityHeaders } from "./SecurityHeaders.js"

const requests = Metric.counter("hermes_http_requests_total", {
  description: "Answers, by their status.",
  incremental: true
})

/** Counts answers; each status finds its counter again. */
const makeCount = (): ((status: number) => Effect.Effect<void>) => {
  const counters = new Map<number, Metric.Metric.Counter<number>>()
  return (status) => {
    const counter = counters.get(status) ?? Metric.tagged(requests, "status", String(status))
    counters.set(status, counter)
    return Metric.update(counter, 1)
  }
}

const plainHeaders = { ...securityHeaders, "content-security-policy": dataPolicy }

/** The answer to a request that was not done. */
export const failed = (error: ApiError, headers: { readonly [name: string]: string } = {}) =>
  HttpServerResponse.unsafeJson(bodyOf(error), {
    status: error.status,
    headers: {
      ...(error.status === 401 ? { "www-authenticate": "Bearer" } : {}),
      ...(error.status === 429 || error.status === 503 ? { "retry-after": "1" } : {}),
      ...headers
    }
  })

const withHeaders = (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setHeaders(response, { ...plainHeaders, ...response.headers })

interface Parts {
  readonly authenticate: Authenticate
  readonly guard: Guard.Guard
  readonly methodsOf: (url: string) => ReadonlyArray<string>
  readonly count: (status: number) => Effect.Effect<void>
}

/** No such path or method; who shows no key is not told which. */
const unrouted = (parts: Parts, request: HttpServerRequest.HttpServerRequest) =>
  parts.authenticate.pipe(
    Effect.map(() => {
      const methods = parts.methodsOf(request.url)
      // the router takes no path that it cannot read, whatever the method
      if (methods.includes(request.method))
        return failed(
          badRequest(
            "bad_path",
            "the path has a name that is too long, or a % that two hexadecimal digits of UTF-8 text do not follow"
          )
        )
      if (methods.length === 0)
        return failed(notFound("there is nothing at this path; /openapi.json lists what there is"))
      const allow = methods.join(", ")
      const message = `this path takes ${allow}, not ${request.method.slice(0, 20)}`
      return failed(new ApiError({ status: 405, code: "method_not_allowed", message }), { allow })
    }),
    Effect.catchAll((error) => Effect.succeed(failed(error)))
  )

const shape =
  (parts: Parts, request: HttpServerRequest.HttpServerRequest) =>
  (cause: Cause.Cause<unknown>): HttpApp.Default => {
    if (Cause.squash(cause) instanceof RouteNotFound) return unrouted(parts, request)
    const said = ofCause(cause)
    if (said === null) return Effect.interrupt
    const told = Effect.annotateLogs(said.report, { method: request.method, path: pathOf(request) })
    return Effect.as(told, failed(said.error))
  }

/** Without the query, which may hold what is nobody's business. */
const pathOf = (request: HttpServerRequest.HttpServerRequest): string => request.url.split("?", 1)[0] ?? ""

const pass =
  (parts: Parts) =>
  (app: HttpApp.Default): HttpApp.Default =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const refused = parts.guard.check({ host: request.headers["host"], origin: request.headers["origin"] })
      if (HttpMethod.hasBody(request.method)) Body.bound(request)
      const response = refused === null ? yield* Effect.catchAllCause(app, shape(parts, request)) : failed(refused)
      yield* parts.count(response.status)
      return withHeaders(response)
    }).pipe((self) => Turn.detach(self))

/** The middleware of the whole API. */
export const layer = HttpApiBuilder.middleware(
  Effect.map(Settings, ({ apiServer }) =>
    pass({
      authenticate: Authentication.make(Keyring.make(apiServer.key)),
      guard: Guard.make(apiServer.host, apiServer.allowedHosts),
      methodsOf: Routes.make(),
      count: makeCount()
    })
  )
)
