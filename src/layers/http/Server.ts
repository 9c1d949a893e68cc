/** The API on one port of this machine (contract §4): Effect's server with our pipeline, the page and the documentation. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { createServer, type Server, STATUS_CODES } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Api } from "../../services/api/Api.js"
import { ApiError, bodyOf } from "../../services/api/ApiError.js"
import {
  AddressUnusable,
  ApiServer,
  type ApiServerError,
  HostsUnnamed,
  PortTaken
} from "../../services/api/ApiServer.js"
import { Health } from "../../services/operation/Health.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Page from "../web/Page.js"
import * as ApprovalHandlers from "./ApprovalHandlers.js"
import * as HelperHandlers from "./HelperHandlers.js"
import * as UsageHandlers from "./UsageHandlers.js"
import * as Authentication from "./Authentication.js"
import * as Connections from "./Connections.js"
import * as CompletionHandlers from "./CompletionHandlers.js"
import * as DeliveryHandlers from "./DeliveryHandlers.js"
import * as Documentation from "./Documentation.js"
import * as EventSender from "./EventSender.js"
import { isLoopback } from "./Guard.js"
import * as JobHandlers from "./JobHandlers.js"
import * as Keyring from "./Keyring.js"
import * as OperationHandlers from "./OperationHandlers.js"
import * as PairingHandlers from "./PairingHandlers.js"
import * as Pipeline from "./Pipeline.js"
import { pagePolicy } from "./SecurityHeaders.js"
import * as SessionHandlers from "./SessionHandlers.js"

const limits = {
  /** A request has to be there whole within this; an answer may take as long as it takes. */
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  /** How often those two are looked after. */
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 30_000
}

/** Connections at the same time. */
const mostConnections = 512

/** How long a client that sent no request may take to read that it was none. */
const lingerMillis = 1_000

/** What is not even a request gets the same shape of error. */
const answerClientError = (error: Error & { readonly code?: string }, socket: Duplex): void => {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy()
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400
  const message = {
    400: "this is not an HTTP request",
    408: "the request took too long",
    431: "the headers are too large"
  }
  const body = JSON.stringify(bodyOf(new ApiError({ status, code: "bad_request", message: message[status] })))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
  // its end of the connection is not waited for: only what is on its way gets there
  if (socket instanceof Socket && status !== 408) socket.setTimeout(lingerMillis, () => socket.destroy())
  else if (socket.writableFinished) socket.destroy()
  else socket.once("finish", () => socket.destroy())
}

const makeNodeServer = (): Server => {
  const server = createServer({ ...limits, noDelay: true })
  Connections.bound(server, mostConnections)
  server.on("clientError", answerClientError)
  return server
}

const listenFailed = (host: string, port: number, error: Error & { readonly code?: string }): ApiServerError =>
  error.code === "EADDRINUSE"
    ? new PortTaken({ host, port })
    : new AddressUnusable({ host, port, detail: error.code ?? error.message })

const startListening = (server: Server, host: string, port: number): Effect.Effect<void, ApiServerError> =>
  Effect.async((resume) => {
    const onError = (error: Error): void => resume(Effect.fail(listenFailed(host, port, error)))
    server.once("error", onError)
    server.listen({ host, port }, () => {
      server.off("error", onError)
      resume(Effect.void)
    })
  })

/** The port that the system gave when 0 was asked for. */
const portOf = (server: Server, asked: number): number => {
  const address = server.address()
  return address === null || typeof address === "string" ? asked : address.port
}

const connectionsOf = (server: Server): Effect.Effect<number> =>
  Effect.async((resume) => {
    server.getConnections((error, count) => resume(Effect.succeed(error === null ? count : 0)))
  })

/** Lets answers that are on their way arrive, for half a second; then the rest is cut. */
const hangUp = (server: Server, sender: typeof EventSender.EventSender.Service): Effect.Effect<void> =>
  Effect.gen(function* () {
    server.close()
    yield* sender.close
    for (let waited = 0; waited < 10; waited++) {
      server.closeIdleConnections()
      if ((yield* connectionsOf(server)) === 0) return
      yield* Effect.sleep("50 millis")
    }
    server.closeAllConnections()
  })

const urlOf = (host: string, port: number): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** Where a client on this machine reaches a server that listens on `host`. */
const reachable = (host: string): string => (host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host)

/** Serves first and listens after, so that no request finds the door open and nobody there. */
const serve = Effect.gen(function* () {
  const health = yield* Health
  const sender = yield* EventSender.EventSender
  const { host, port, allowedHosts } = (yield* Settings).apiServer
  if (!isLoopback(host) && allowedHosts.length === 0) return yield* new HostsUnnamed({ host })
  const handler = yield* NodeHttpServer.makeHandler(yield* HttpApiBuilder.httpApp).pipe(
    HttpMiddleware.withTracerDisabledWhenEffect(() => true)
  )
  const server = yield* Effect.acquireRelease(Effect.sync(makeNodeServer), (open) => hangUp(open, sender))
  server.on("request", handler)
  yield* startListening(server, host, port)
  const reached = reachable(host)
  const actual = portOf(server, port)
  const url = urlOf(reached, actual)
  yield* health.announce(url)
  return { host: reached, port: actual, url }
})

const groups = Layer.mergeAll(
  OperationHandlers.liveness,
  OperationHandlers.layer,
  CompletionHandlers.layer,
  SessionHandlers.layer,
  ApprovalHandlers.layer,
  UsageHandlers.layer,
  HelperHandlers.layer,
  DeliveryHandlers.layer,
  PairingHandlers.layer,
  JobHandlers.layer
)

/** A person without the cookie is sent to where the key is asked for, and comes back; a program is told. */
const toKeyForm = (error: ApiError) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    headers["accept"]?.includes("text/html") === true && headers["authorization"] === undefined
      ? Effect.succeed(HttpServerResponse.redirect("/?then=/docs", { status: 303 }))
      : Effect.fail(error)
  )

/** The page is for everybody, as it holds nothing; what the documentation says is for who has the key. */
const beside = (pageDirectory: string) =>
  HttpApiBuilder.Router.use((router) =>
    Effect.gen(function* () {
      const settings = yield* Settings
      const authenticate = Authentication.make(Keyring.make(settings.apiServer.key))
      const page = yield* Page.make(pageDirectory, pagePolicy)
      const documentation = yield* Documentation.make
      for (const path of Page.pagePaths) yield* router.get(path, page.file(path))
      yield* router.get("/openapi.json", Effect.zipRight(authenticate, documentation.specification))
      yield* router.get(
        "/docs",
        authenticate.pipe(
          Effect.zipRight(documentation.reader),
          Effect.catchIf((error) => error.status === 401, toKeyForm)
        )
      )
    })
  )

/**
 * Serves the API and, from `pageDirectory`, the page. Fails when the address cannot be had; every request runs as
 * nobody, and admission enters the turns.
 */
export const layer = (options: { readonly pageDirectory: string }) =>
  Layer.scoped(ApiServer, serve).pipe(
    Layer.provide(beside(options.pageDirectory)),
    Layer.provide(Pipeline.layer),
    Layer.provide(HttpApiBuilder.api(Api).pipe(Layer.provide(groups))),
    Layer.provide(Authentication.layer),
    Layer.provide(EventSender.layer),
    Layer.provide([HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer])
  )
