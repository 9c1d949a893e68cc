import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Stream } from "effect"
import net, { type AddressInfo } from "node:net"
import * as OutgoingHttp from "../../../src/layers/node/OutgoingHttp.js"

/** A server that says `answer` at the first bytes of a request, reads no more of it, and counts who came. */
const server = (answer: (socket: net.Socket) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly came: () => number; readonly close: () => void }>((resume) => {
      let came = 0
      const open = new Set<net.Socket>()
      const listening = net.createServer((socket) => {
        came += 1
        open.add(socket)
        socket.on("error", () => undefined)
        socket.once("data", () => {
          socket.pause()
          answer(socket)
        })
      })
      listening.listen(0, "127.0.0.1", () => {
        const { port } = listening.address() as AddressInfo
        const close = (): void => {
          for (const socket of open) socket.destroy()
          listening.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, came: () => came, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const post = (url: string, bytes: number, headers: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const response = yield* client.execute(
      HttpClientRequest.post(url, { body: HttpBody.text("x".repeat(bytes), "text/plain"), headers })
    )
    const text = yield* Stream.mkString(Stream.decodeText(response.stream))
    return { status: response.status, text, headers: response.headers }
  })

describe("a request to somebody else", () => {
  it.scopedLive("hears an answer that comes before it is sent as a whole", () =>
    Effect.gen(function* () {
      const { url } = yield* server((socket) => {
        socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\nconnection: close\r\n\r\ntoo large")
        setTimeout(() => socket.destroy(), 200)
      })
      const { status, text } = yield* post(url, 12_000_000)
      assert.deepStrictEqual([status, text], [413, "too large"])
    }).pipe(Effect.provide(OutgoingHttp.layer))
  )

  it.scopedLive("is told of a redirect and does not follow it", () =>
    Effect.gen(function* () {
      const other = yield* server((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))
      const { url } = yield* server((socket) =>
        socket.end(`HTTP/1.1 307 Elsewhere\r\nlocation: ${other.url}/\r\ncontent-length: 0\r\n\r\n`)
      )
      const { headers, status } = yield* post(url, 10)
      assert.deepStrictEqual([status, headers["location"], other.came()], [307, `${other.url}/`, 0])
    }).pipe(Effect.provide(OutgoingHttp.layer))
  )

  it.scopedLive("fails, and does not break, where it cannot be made", () =>
    Effect.gen(function* () {
      const { came, url } = yield* server((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))
      for (const [address, headers] of [
        [url, { authorization: "Bearer abc…" }],
        [url, { authorization: "Bearer abc\ndef" }],
        ["htp://127.0.0.1/", {}],
        ["http://127.0.0.1:1/", {}],
        ["nowhere", {}]
      ] as const) {
        const outcome = yield* Effect.either(post(address, 10, headers))
        assert.strictEqual(Either.isLeft(outcome) ? outcome.left._tag : "sent", "RequestError", address)
      }
      assert.strictEqual(came(), 0)
    }).pipe(Effect.provide(OutgoingHttp.layer))
  )
})
