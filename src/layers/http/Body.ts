/** A request's body: bounded, strictly UTF-8 and always JSON, whatever its content type says. */
import * as Headers from "@effect/platform/Headers"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { IncomingMessage } from "node:http"
import * as Nesting from "../../services/operation/Nesting.js"
import { type ApiError, badRequest, tooLarge } from "../../services/api/ApiError.js"

/** The largest body, in bytes. A larger one is read to its end and thrown away, so that its sender hears the answer. */
export const limit = 10_000_000

const notUtf8 = badRequest("invalid_utf8", "the request's body is not valid UTF-8")
const aborted = badRequest("aborted", "the request ended before its body did")

const utf8 = new TextDecoder("utf-8", { fatal: true })

const decodeText = (chunks: ReadonlyArray<Uint8Array>): Effect.Effect<string, ApiError> =>
  Effect.try({
    try: () => utf8.decode(Buffer.concat(chunks)),
    catch: () => notUtf8
  })

const read = (source: IncomingMessage, limit: number): Effect.Effect<ReadonlyArray<Uint8Array>, ApiError> =>
  Effect.async<ReadonlyArray<Uint8Array>, ApiError>((resume) => {
    if (Number(source.headers["content-length"] ?? 0) > limit) {
      source.resume()
      return resume(Effect.fail(tooLarge(limit)))
    }
    const chunks: Array<Uint8Array> = []
    let size = 0
    const stop = (): void => {
      source.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose)
    }
    const onData = (chunk: Uint8Array): void => {
      size += chunk.byteLength
      if (size <= limit) return void chunks.push(chunk)
      stop()
      source.resume()
      resume(Effect.fail(tooLarge(limit)))
    }
    const onEnd = (): void => {
      stop()
      resume(Effect.succeed(chunks))
    }
    const onClose = (): void => {
      stop()
      resume(Effect.fail(aborted))
    }
    source.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose)
    return Effect.sync(stop)
  })

/** A body that is no JSON: whatever was sent, at most so many bytes. */
export const bytes = (request: HttpServerRequest, most: number): Effect.Effect<Uint8Array, ApiError> =>
  Effect.map(
    read(NodeHttpServerRequest.toIncomingMessage(request), most),
    (chunks) => new Uint8Array(Buffer.concat(chunks))
  )

const wrong = (message: string): ApiError =>
  badRequest("invalid_json", `the request's body is not JSON: ${message}`, [{ path: "", message }])

const parse = (text: string): Effect.Effect<unknown, ApiError> =>
  Effect.try({
    try: (): unknown => (text === "" ? {} : JSON.parse(text)),
    catch: (error) => wrong(error instanceof Error ? error.message : "it cannot be parsed")
  }).pipe(
    Effect.flatMap((value) => {
      const problem = Nesting.problemOf(value)
      return problem === null ? Effect.succeed(value) : Effect.fail(wrong(problem))
    })
  )

/**
 * Has the body of a request read by the rules of this module when a handler asks for it. It stays the same request: another
 * one would be provided in a copy of the program's hundred services.
 */
export const bound = (request: HttpServerRequest): void => {
  const text = Effect.flatMap(read(NodeHttpServerRequest.toIncomingMessage(request), limit), decodeText)
  Object.defineProperties(request, {
    headers: { value: Headers.set(request.headers, "content-type", "application/json") },
    text: { value: text },
    json: { value: Effect.flatMap(text, parse) }
  })
}
