/**
 * HTTP for grammy's client. grammy brings node-fetch; its documented `fetch` option takes ours instead, for two reasons:
 * only the socket knows whether a request that failed had left (sending it again is safe or not, gateway.md 3.8), and a
 * call costs 0.16 ms instead of 0.25 over loopback, near the 0.14 of bare node:http (`bench/world`).
 */
import { Effect, Either, Schema, type Scope } from "effect"
import * as http from "node:http"
import * as https from "node:https"
import type { Readable } from "node:stream"
import * as Misfit from "../../services/operation/Misfit.js"

/** A call that has no answer of the Bot API. `sent`: its bytes may have arrived. */
export class TransportFailure extends Schema.TaggedError<TransportFailure>()("TransportFailure", {
  sent: Schema.Boolean,
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

/** Every answer of the Bot API has one of these two shapes; anything else is some proxy's. */
const Answer = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ ok: Schema.Literal(true), result: Schema.Unknown }),
    Schema.Struct({
      ok: Schema.Literal(false),
      error_code: Schema.Number,
      description: Schema.String,
      parameters: Schema.optional(Schema.Unknown)
    })
  )
)
const decodeAnswer = Misfit.decoder(Answer)

/** The part of a `RequestInit` that grammy's client fills in: JSON as a text, files as a stream of multipart form data. */
export interface Outgoing {
  readonly body: string | Readable
  readonly headers?: { readonly "content-type"?: string }
  readonly signal: Signal
}

export interface Signal {
  readonly addEventListener: (type: "abort", listener: () => void) => void
  readonly removeEventListener: (type: "abort", listener: () => void) => void
}

export type Fetch = (url: string, outgoing: Outgoing) => Promise<{ readonly json: () => Promise<unknown> }>

/** The bytes at an address, refused beyond `limit` before they fill the memory. */
export type Download = (url: string, limit: number, signal: Signal) => Promise<Uint8Array>

export interface Transport {
  readonly fetch: Fetch
  readonly download: Download
}

/** Connections at once; more calls wait for one. */
const connections = 64
/** A connection unused for this long is closed by us, before a server or a router closes it under a request. Milliseconds. */
const idleMillis = 15_000
/** A hundred updates of the longest kind are far below. Bytes. */
const longestAnswer = 64 * 1024 * 1024

const answerOf = (status: number, body: string): Either.Either<unknown, TransportFailure> =>
  Either.mapLeft(
    decodeAnswer(body),
    () =>
      new TransportFailure({
        // Whoever answers 4xx without being the Bot API has not passed the call on; after a 5xx it may have been.
        sent: status < 400 || status >= 500,
        detail: `an answer with status ${status} that is not the Bot API's`
      })
  )

/**
 * Ends a request that is given up. The signal forgets it as soon as it is over: grammy's keeps its listeners in weak maps,
 * which hold what is in them until the next full collection.
 */
const endedBy = (signal: Signal, request: http.ClientRequest, fail: () => void): void => {
  const end = (): void => {
    fail()
    request.destroy()
  }
  signal.addEventListener("abort", end)
  request.once("close", () => signal.removeEventListener("abort", end))
}

const fetchOver =
  (
    client: typeof http | typeof https,
    agent: http.Agent | https.Agent,
    connected: "connect" | "secureConnect"
  ): Fetch =>
  (url, { body, headers, signal }) =>
    new Promise((resolve, reject) => {
      let sent = false
      const fail = (detail: string): void => reject(new TransportFailure({ sent, detail }))
      const request = client.request(
        url,
        {
          method: "POST",
          agent,
          headers: {
            "content-type": headers?.["content-type"] ?? "application/json",
            ...(typeof body === "string" ? { "content-length": Buffer.byteLength(body) } : {})
          }
        },
        (response) => {
          const chunks: Array<Buffer> = []
          let size = 0
          response.on("data", (chunk: Buffer) => {
            size += chunk.length
            if (size > longestAnswer) response.destroy(new Error("an answer of more than 64 MiB"))
            else chunks.push(chunk)
          })
          response.on("error", (error) => fail(error.message))
          response.on("end", () => {
            const answer = answerOf(response.statusCode ?? 0, Buffer.concat(chunks).toString())
            if (Either.isLeft(answer)) reject(answer.left)
            else resolve({ json: () => Promise.resolve(answer.right) })
          })
        }
      )
      request.on("socket", (socket) => {
        if (socket.connecting) socket.once(connected, () => (sent = true))
        else sent = true
      })
      request.on("error", (error) => fail(error.message))
      endedBy(signal, request, () => fail("no answer in time"))
      if (typeof body === "string") return void request.end(body)
      body.on("error", (error) => request.destroy(error))
      request.on("close", () => body.destroy())
      body.pipe(request)
    })

const downloadOver =
  (client: typeof http | typeof https, agent: http.Agent | https.Agent): Download =>
  (url, limit, signal) =>
    new Promise((resolve, reject) => {
      // Nothing is done on the other side by reading: it may be asked for again.
      const fail = (detail: string): void => reject(new TransportFailure({ sent: false, detail }))
      const request = client.get(url, { agent }, (response) => {
        const chunks: Array<Buffer> = []
        let size = 0
        if (response.statusCode !== 200) {
          response.resume()
          return fail(`status ${response.statusCode ?? 0}`)
        }
        response.on("data", (chunk: Buffer) => {
          size += chunk.length
          if (size <= limit) return void chunks.push(chunk)
          fail(`it has more than ${limit} bytes`)
          request.destroy()
        })
        response.on("error", (error) => fail(error.message))
        response.on("end", () => resolve(Buffer.concat(chunks)))
      })
      request.on("error", (error) => fail(error.message))
      endedBy(signal, request, () => fail("no answer in time"))
    })

/** Keeps connections alive; closes them with the scope. */
export const make = (apiRoot: string): Effect.Effect<Transport, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const options = { keepAlive: true, maxSockets: connections, timeout: idleMillis }
        return apiRoot.startsWith("https:") ? new https.Agent(options) : new http.Agent(options)
      }),
      (agent) => Effect.sync(() => agent.destroy())
    ),
    (agent) =>
      agent instanceof https.Agent
        ? { fetch: fetchOver(https, agent, "secureConnect"), download: downloadOver(https, agent) }
        : { fetch: fetchOver(http, agent, "connect"), download: downloadOver(http, agent) }
  )
