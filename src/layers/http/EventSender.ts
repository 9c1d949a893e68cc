/** Server-sent events written straight to the connection: a chunk costs a string and a write, no stream. */
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Effect, Layer } from "effect"
import type { ServerResponse } from "node:http"
import { eventStream } from "../../services/api/EventStream.js"
import { dataPolicy, securityHeaders } from "./SecurityHeaders.js"

/** Bytes that readers may be behind. Who is behind by more is closed; what it missed is in the transcript. */
const backlog = { ofOne: 4_000_000, ofAll: 64_000_000, always: 256_000 }

/** How far behind each of so many readers may be. */
export const backlogOf = (readers: number): number =>
  Math.max(backlog.always, Math.min(backlog.ofOne, Math.floor(backlog.ofAll / Math.max(1, readers))))

const heartbeat = "15 seconds"

export interface EventSink {
  /** Sends one or more events, each the text of one `data:` line. Never waits. */
  readonly send: (...data: ReadonlyArray<string>) => void
}

const headers = {
  ...securityHeaders,
  "content-security-policy": dataPolicy,
  "content-type": `${eventStream}; charset=utf-8`,
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no"
}

const write = (response: ServerResponse, text: string, readers: number): void => {
  if (response.writableEnded || response.destroyed) return
  response.write(text)
  if (response.writableLength > backlogOf(readers)) response.destroy()
}

/** The open event streams of a server; they end with it, whatever their clients do. */
export class EventSender extends Context.Tag("hermes/http/EventSender")<
  EventSender,
  {
    /** Answers with a stream of what `run` sends, until that ends or the client goes away. */
    readonly respond: <R>(
      request: HttpServerRequest,
      extra: { readonly [name: string]: string },
      run: (sink: EventSink) => Effect.Effect<void, never, R>
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, R>
    readonly count: Effect.Effect<number>
    /** Ends all of them. */
    readonly close: Effect.Effect<void>
  }
>() {}

const make = Effect.sync(() => {
  const open = new Set<ServerResponse>()
  return EventSender.of({
    respond: (request, extra, run) => {
      if (request.method === "HEAD")
        return Effect.succeed(HttpServerResponse.empty({ status: 200, headers: { ...headers, ...extra } }))
      const response = NodeHttpServerRequest.toServerResponse(request)
      const beat = Effect.forever(
        Effect.delay(
          Effect.sync(() => write(response, ": \n\n", open.size)),
          heartbeat
        )
      )
      const begin = Effect.sync(() => {
        open.add(response)
        response.writeHead(200, { ...headers, ...extra })
        response.write(": \n\n")
      })
      const end = Effect.sync(() => {
        open.delete(response)
        response.end()
      })
      const sink: EventSink = { send: (...data) => write(response, `data: ${data.join("\n\ndata: ")}\n\n`, open.size) }
      return Effect.acquireUseRelease(
        begin,
        () => Effect.raceFirst(run(sink), beat),
        () => end
      ).pipe(Effect.as(HttpServerResponse.empty()))
    },
    count: Effect.sync(() => open.size),
    close: Effect.sync(() => {
      for (const response of open) response.end()
    })
  })
})

export const layer: Layer.Layer<EventSender> = Layer.effect(EventSender, make)
