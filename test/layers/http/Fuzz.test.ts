import { assert, layer } from "@effect/vitest"
import { Effect, FastCheck, Schema } from "effect"
import { ErrorBody } from "../../../src/services/api/ApiError.js"
import { scaled } from "../../scale.js"
import { key, rawAsk, server, wire } from "./support.js"

const decodeError = Schema.decodeUnknownEither(ErrorBody, { onExcessProperty: "error" })

const methods = ["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "TRACE", "PROPFIND"]
const paths = [
  "/",
  "/docs",
  "/v1/chat/completions",
  "/api/sessions",
  "/api/sessions/%zz/chat",
  "/api/sessions/%2e%2e%2f/messages",
  "/api/sessions/a%00b",
  "/api/approvals/x",
  "/api/clarifications/x",
  "/api/send",
  "/api/pairing/approve",
  "//api//status",
  "/api/status?limit=%ff&x[]=1&x[]=2"
]

const headerText = FastCheck.stringMatching(/^[\x21-\x7e]{0,60}$/)

const request = FastCheck.record({
  method: FastCheck.constantFrom(...methods),
  path: FastCheck.oneof(FastCheck.constantFrom(...paths), FastCheck.webPath()),
  headers: FastCheck.dictionary(
    FastCheck.constantFrom(
      "accept",
      "content-type",
      "cookie",
      "x-hermes-context",
      "x-hermes-session-id",
      "origin",
      "if-match"
    ),
    headerText
  ),
  keyed: FastCheck.boolean(),
  body: FastCheck.option(
    FastCheck.oneof(
      FastCheck.uint8Array({ maxLength: 200 }),
      FastCheck.json().map((text) => Buffer.from(text))
    )
  )
})

layer(server(), { excludeTestServices: true })("whatever is asked", (it) => {
  it.effect("is answered, never with a fault and always in the one shape", () =>
    Effect.gen(function* () {
      const samples = FastCheck.sample(request, { numRuns: scaled(3_000, 300), seed: 2_026 })
      for (const sample of samples) {
        // A stream of events has no end to wait for.
        if (sample.method === "GET" && sample.path.startsWith("/api/events")) continue
        const answer = yield* rawAsk({
          method: sample.method,
          path: sample.path || "/",
          headers: {
            ...sample.headers,
            authorization: sample.keyed ? `Bearer ${key}` : "",
            ...(sample.body === null ? {} : { "content-length": sample.body.byteLength })
          },
          chunks: sample.body === null ? [] : [sample.body]
        })
        const about = JSON.stringify({
          ...sample,
          body: sample.body === null ? null : Buffer.from(sample.body).toString()
        })
        assert.isBelow(answer.status, 500, `${about}: ${answer.text}`)
        if (answer.status >= 400 && sample.method !== "HEAD")
          assert.strictEqual(decodeError(answer.json)._tag, "Right", `${about}: ${answer.text}`)
        assert.notMatch(answer.text, /\n\s+at .+:\d+:\d+/, about)
        assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff", about)
      }
    })
  )

  it.effect("goes on answering after bytes that are no request", () =>
    Effect.gen(function* () {
      const noise = FastCheck.sample(FastCheck.uint8Array({ minLength: 1, maxLength: 300 }), {
        numRuns: scaled(500, 50),
        seed: 7
      })
      for (const bytes of noise) {
        const heard = yield* wire(`${Buffer.from(bytes).toString("latin1").replaceAll("\n", "")}\r\n\r\n`)
        assert.match(heard, /^HTTP\/1\.1 4\d\d /)
      }
      assert.strictEqual((yield* rawAsk({})).status, 200)
    })
  )
})
