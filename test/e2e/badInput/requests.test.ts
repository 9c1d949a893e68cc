/** HTTP requests that are too large, no text or no JSON: an answer that says so, and nobody else notices. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as Loopback from "../support/Loopback.js"

const completions = "/v1/chat/completions"

const asking = (content: string): object => ({ messages: [{ role: "user", content }] })

const codeOf = (answer: Gateway.Answer): unknown =>
  (answer.json as { readonly error?: { readonly code?: string } } | null)?.error?.code

const start = Effect.gen(function* () {
  const loopback = yield* Loopback.make((request) =>
    request.text.length > 1_000
      ? ModelServer.says(`read ${request.text.length}`)
      : ModelServer.says(`heard ${request.text}`)
  )
  return { ...loopback, gateway: yield* Gateway.start(loopback.home) }
})

/** Others are answered while something else goes on. */
const whileOthersAreAnswered =
  (gateway: Gateway.Gateway, person: Loopback.Person) =>
  <A, E>(self: Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const others = Effect.gen(function* () {
        yield* person.says("and me?")
        yield* person.hears(/heard .*and me\?/)
        const answer = yield* gateway.ask("POST", completions, asking("over here"))
        expect(answer.text).toContain("heard over here")
      })
      const [result] = yield* Effect.all([self, others], { concurrency: "unbounded" })
      return result
    })

/** A body in chunks, whose length nobody is told beforehand. */
const inChunks = (gateway: Gateway.Gateway, bytes: number) =>
  Effect.async<{ readonly status: number; readonly text: string }, Error>((resume) => {
    const request = httpRequest(
      `${gateway.url}${completions}`,
      { method: "POST", headers: { authorization: `Bearer ${gateway.home.key}`, "content-type": "application/json" } },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (part: string) => (text += part))
        response.on("end", () => resume(Effect.succeed({ status: response.statusCode ?? 0, text })))
      }
    )
    request.on("error", (error) => resume(Effect.fail(error)))
    const piece = Buffer.alloc(100_000, "x")
    const write = (left: number): void => {
      if (left <= 0) return void request.end()
      request.write(piece, () => write(left - piece.length))
    }
    write(bytes)
  }).pipe(Effect.timeout("120 seconds"))

/** Bytes as they are on a connection of its own; answers what came back. */
const raw = (gateway: Gateway.Gateway, text: string): Effect.Effect<string, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => connect(Number(new URL(gateway.url).port), "127.0.0.1")),
    (socket) => Effect.sync(() => void socket.destroy())
  ).pipe(
    Effect.flatMap((socket) =>
      Effect.async<string, Error>((resume) => {
        let said = ""
        socket.setEncoding("utf8").on("data", (part: string) => (said += part))
        socket.on("error", (error) => resume(Effect.fail(error)))
        socket.on("close", () => resume(Effect.succeed(said)))
        socket.write(text)
      })
    )
  )

describe("a request that cannot be taken", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "is answered with what is wrong with it, and the next one is as good as any",
    () =>
      Effect.gen(function* () {
        const { gateway, model, person } = yield* start
        const post = (body: unknown) => gateway.ask("POST", completions, body)
        const among = whileOthersAreAnswered(gateway, person(1))

        const tooLarge = yield* among(post(asking("x".repeat(10_000_000))))
        expect([tooLarge.status, codeOf(tooLarge)]).toEqual([413, "too_large"])
        const endless = yield* among(inChunks(gateway, 12_000_000))
        expect(endless.status).toBe(413)

        const large = yield* among(post(asking("x".repeat(9_000_000))))
        expect(large.status).toBe(200)
        expect(large.text).toContain("read 9000000")

        const noText = yield* post(
          new Uint8Array([
            ...Buffer.from('{"messages":[{"role":"user","content":"'),
            0xc3,
            0x28,
            ...Buffer.from('"}]}')
          ])
        )
        expect([noText.status, codeOf(noText)]).toEqual([400, "invalid_utf8"])
        const noJson = yield* post('{"messages": [')
        expect([noJson.status, codeOf(noJson)]).toEqual([400, "invalid_json"])
        expect(noJson.json).toMatchObject({ error: { issues: [{ path: "", message: expect.any(String) }] } })

        const asked = (yield* model.requests).length
        for (const [body, place] of [
          [{ messages: [] }, "messages"],
          [{ messages: [{ role: "king", content: "x" }] }, "messages.0"],
          [{ messages: "hello" }, "messages"],
          [[], ""],
          [{ messages: [{ role: "user", content: [{ type: "image_url" }] }] }, "messages.0.content"]
        ] as const) {
          const wrong = yield* post(body)
          expect(wrong.status, wrong.text).toBe(400)
          expect(wrong.json).toMatchObject({
            error: { code: expect.any(String), message: expect.any(String), issues: expect.any(Array) }
          })
          expect(wrong.text).toContain(place)
          expect(wrong.text).not.toMatch(Command.stackTrace)
        }
        expect((yield* model.requests).length).toBe(asked)

        for (const [text, status] of [
          ["this is no HTTP\r\n\r\n", 400],
          [`GET /${"a".repeat(100_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431],
          ["POST /v1/chat/completions HTTP/1.1\r\ncontent-length: many\r\n\r\n", 400]
        ] as const) {
          const said = yield* Effect.scoped(raw(gateway, text))
          expect(said).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*"error":\\{"code":"`))
        }

        for (const [method, path, status] of [
          ["GET", "/no/such/thing", 404],
          ["DELETE", completions, 405],
          ["GET", "/api/sessions/..%2f..%2fetc", 404],
          ["GET", "/api/sessions?limit=lots", 400]
        ] as const) {
          const answer = yield* gateway.ask(method, path)
          expect([path, answer.status]).toEqual([path, status])
          expect(answer.json).toMatchObject({ error: { code: expect.any(String) } })
        }

        expect((yield* post(asking("still there?"))).text).toContain("heard still there?")
        expect(gateway.stderr()).toMatch(/^The page asks for the key: .*\n$/)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    600_000
  )
})
