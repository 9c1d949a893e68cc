/** A port on loopback that takes Bot API requests and can be closed and opened again. */
import { Effect, Either, Schema, type Scope } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import * as Multipart from "./Multipart.js"
import type { Parameters } from "./World.js"

/** The port is taken, or no socket is to be had. */
export class TelegramServerFailed extends Schema.TaggedError<TelegramServerFailed>()("TelegramServerFailed", {
  detail: Schema.String
}) {
  override get message(): string {
    return `the Telegram server on loopback did not start: ${this.detail}`
  }
}

export interface Listener {
  readonly port: number
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
  /** Connections ever made. */
  readonly connections: Effect.Effect<number>
}

const Body = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const decodeBody = Schema.decodeUnknownEither(Body)

const parametersOf = (request: IncomingMessage, url: URL, body: Buffer): Either.Either<Parameters, unknown> => {
  const query = Object.fromEntries(url.searchParams)
  const type = request.headers["content-type"] ?? ""
  if (body.length === 0) return Either.right(query)
  const boundary = /^multipart\/form-data;\s*boundary=(.+)$/.exec(type)?.[1]
  if (boundary !== undefined) return Either.right({ ...query, ...Multipart.parse(body, boundary) })
  return type.includes("json")
    ? Either.map(decodeBody(body.toString()), (json) => ({ ...query, ...json }))
    : Either.right({ ...query, ...Object.fromEntries(new URLSearchParams(body.toString())) })
}

const listening = (server: Server, port: number): Effect.Effect<number, TelegramServerFailed> =>
  Effect.async((resume) => {
    const failed = (error: Error): void => resume(Effect.fail(new TelegramServerFailed({ detail: error.message })))
    server.once("error", failed)
    server.listen(port, "127.0.0.1", () => {
      server.off("error", failed)
      const address = server.address()
      resume(
        typeof address === "object" && address !== null
          ? Effect.succeed(address.port)
          : Effect.fail(new TelegramServerFailed({ detail: "no port" }))
      )
    })
  })

const closing = (server: Server, sockets: Set<Socket>): Effect.Effect<void> =>
  Effect.async((resume) => {
    server.close(() => resume(Effect.void))
    for (const socket of sockets) socket.destroy()
  })

/** Port 0 takes any. Closed with the scope, every connection with it. */
export const make = (
  wanted: number,
  handle: (path: string, parameters: Parameters, response: ServerResponse) => void
): Effect.Effect<Listener, TelegramServerFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets = new Set<Socket>()
    let connections = 0
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const url = new URL(request.url ?? "/", "http://loopback")
        const parameters = parametersOf(request, url, Buffer.concat(chunks))
        if (Either.isRight(parameters)) return handle(url.pathname, parameters.right, response)
        response.writeHead(400, { "content-type": "application/json" })
        response.end(JSON.stringify({ ok: false, error_code: 400, description: "Bad Request: the body is no JSON" }))
      })
    })
    server.keepAliveTimeout = 60_000
    server.on("connection", (socket: Socket) => {
      connections += 1
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
    })
    const port = yield* Effect.acquireRelease(listening(server, wanted), () => closing(server, sockets))
    return {
      port,
      down: closing(server, sockets),
      up: Effect.orDie(Effect.asVoid(listening(server, port))),
      connections: Effect.sync(() => connections)
    }
  })
