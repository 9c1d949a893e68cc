/** The gateway's port. It is taken before the rest of the gateway stands: who asks in between waits, and is told `starting` by `/health`. */
import { Clock, Context, Effect, Layer } from "effect"
import { createServer, type IncomingMessage, type RequestListener, type Server, STATUS_CODES } from "node:http"
import type { ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { ApiError, bodyOf } from "../../services/api/ApiError.js"
import {
  AddressUnusable,
  ApiServer,
  type ApiServerError,
  HostsUnnamed,
  PortTaken
} from "../../services/api/ApiServer.js"
import type { HealthBrief } from "../../services/operation/Health.js"
import { Settings } from "../../services/operation/Settings.js"
import { version } from "../../services/operation/Version.js"
import * as Connections from "./Connections.js"
import * as Guard from "./Guard.js"
import { dataPolicy, securityHeaders } from "./SecurityHeaders.js"
import * as SlowRequests from "./SlowRequests.js"

const limits = {
  /** A request has to be there whole within this; an answer may take as long as it takes. */
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  keepAliveTimeout: 30_000
}

/** How often the first two are looked after. */
const checkMillis = 5_000

/** Connections at the same time, and requests that wait for the start to end. */
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
  SlowRequests.lookedFor(server, checkMillis)
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

const urlOf = (host: string, port: number): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** Where a client on this machine reaches a server that listens on `host`. */
const reachable = (host: string): string => (host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host)

const headers = {
  ...securityHeaders,
  "content-security-policy": dataPolicy,
  "content-type": "application/json"
}

const isHealth = ({ method, url }: IncomingMessage): boolean =>
  (method === "GET" || method === "HEAD") && url?.split("?", 1)[0] === "/health"

interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Until there is a handler: `/health` is answered, everything else waits in its order. */
const makeEntrance = (guard: Guard.Guard, uptime: () => number) => {
  const waiting: Array<Asked> = []
  let handler: RequestListener = (request, response) => {
    const { host, origin } = request.headers
    if (isHealth(request) && guard.check({ host, origin }) === null) {
      const brief: HealthBrief = { status: "starting", version, uptime: uptime() }
      response.writeHead(200, headers).end(request.method === "HEAD" ? undefined : JSON.stringify(brief))
    } else if (waiting.length < mostConnections) waiting.push({ request, response })
    else {
      const busy = new ApiError({ status: 503, code: "starting", message: "the gateway starts: ask again in a second" })
      response.writeHead(503, { ...headers, "retry-after": "1" }).end(JSON.stringify(bodyOf(busy)))
    }
  }
  const answer: RequestListener = (request, response) => handler(request, response)
  const open = (by: RequestListener): void => {
    handler = by
    // who has gone meanwhile is not answered
    for (const { request, response } of waiting.splice(0)) if (!response.destroyed) by(request, response)
  }
  return { answer, open }
}

/** The open port, for what answers at it. */
export class Listening extends Context.Tag("hermes/http/Listening")<
  Listening,
  {
    readonly server: Server
    /** From now on `handler` answers: first those that have waited, in their order. Called once. */
    readonly open: (handler: RequestListener) => Effect.Effect<void>
  }
>() {}

const make = Effect.gen(function* () {
  const { host, port, allowedHosts } = (yield* Settings).apiServer
  if (!Guard.isLoopback(host) && allowedHosts.length === 0) return yield* new HostsUnnamed({ host })
  const clock = yield* Effect.clock
  const startedAt = yield* Clock.currentTimeMillis
  const entrance = makeEntrance(
    Guard.make(host, allowedHosts),
    () => Math.max(0, clock.unsafeCurrentTimeMillis() - startedAt) / 1_000
  )
  const server = yield* Effect.acquireRelease(Effect.sync(makeNodeServer), (open) =>
    Effect.sync(() => {
      open.close()
      open.closeAllConnections()
    })
  )
  server.on("request", entrance.answer)
  yield* startListening(server, host, port)
  const reached = reachable(host)
  const actual = portOf(server, port)
  return Context.make(Listening, {
    server,
    open: (handler: RequestListener) => Effect.sync(() => entrance.open(handler))
  }).pipe(Context.add(ApiServer, { host: reached, port: actual, url: urlOf(reached, actual) }))
})

/** Takes the address of the settings for as long as the layer lives; fails when it cannot be had. */
export const layer: Layer.Layer<Listening | ApiServer, ApiServerError, Settings> = Layer.scopedContext(make)
