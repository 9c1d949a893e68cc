import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Layer, Option, Schema } from "effect"
import http from "node:http"
import net from "node:net"
import { ErrorBody } from "../../../src/services/api/ApiError.js"
import { ApiServer } from "../../../src/services/api/ApiServer.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as Listening from "../../../src/layers/http/Listening.js"
import * as AdmissionTurn from "../../../src/layers/conversation/AdmissionTurn.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { HealthBrief } from "../../../src/services/operation/Health.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import { version } from "../../../src/services/operation/Version.js"
import {
  ask,
  type Answer,
  fetching,
  key,
  Play,
  rawAsk,
  readEvents,
  server,
  settingsWith,
  wire,
  withServer
} from "./support.js"
import { turn } from "../support/hands.js"

/** The one shape of error; answers its code. */
const refusedWith = (answer: Answer, status: number): string => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.include(answer.headers.get("content-type") ?? "", "application/json")
  return Schema.decodeUnknownSync(ErrorBody, { onExcessProperty: "error" })(answer.json).error.code
}

const everyPath: ReadonlyArray<readonly [string, string]> = [
  ["GET", "/health/detailed"],
  ["GET", "/metrics"],
  ["GET", "/api/status"],
  ["GET", "/api/events"],
  ["POST", "/api/session/exchange"],
  ["GET", "/v1/models"],
  ["POST", "/v1/chat/completions"],
  ["GET", "/api/sessions"],
  ["POST", "/api/sessions"],
  ["GET", "/api/sessions/x"],
  ["PATCH", "/api/sessions/x"],
  ["DELETE", "/api/sessions/x"],
  ["GET", "/api/sessions/x/messages"],
  ["POST", "/api/sessions/x/chat"],
  ["POST", "/api/sessions/x/stop"],
  ["GET", "/api/approvals"],
  ["POST", "/api/approvals/x"],
  ["GET", "/api/clarifications"],
  ["POST", "/api/clarifications/x"],
  ["GET", "/api/deliveries"],
  ["POST", "/api/send"],
  ["GET", "/api/targets"],
  ["GET", "/api/pairing"],
  ["POST", "/api/pairing/approve"],
  ["POST", "/api/pairing/revoke"],
  ["GET", "/openapi.json"],
  ["GET", "/docs"],
  ["GET", "/there/is/nothing"],
  ["PUT", "/api/status"]
]

layer(server(), { excludeTestServices: true })("Server", (it) => {
  it.effect("says without a key that it lives, and shows the page", () =>
    Effect.gen(function* () {
      const health = yield* ask("/health", { key: null })
      assert.strictEqual(health.status, 200)
      assert.include(health.json as object, { status: "ok", version: "1.2.3" })
      for (const [at, type] of [
        ["/", "text/html"],
        ["/app.js", "text/javascript"],
        ["/app.css", "text/css"]
      ] as const) {
        const file = yield* ask(at, { key: null })
        assert.strictEqual(file.status, 200)
        assert.include(file.headers.get("content-type") ?? "", type)
        assert.include(file.headers.get("content-security-policy") ?? "", "script-src 'self'")
        assert.notInclude(file.headers.get("content-security-policy") ?? "", "unsafe")
        assert.strictEqual(file.headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(file.headers.get("referrer-policy"), "no-referrer")
      }
    })
  )

  it.effect("answers 401 to everything else without a key, with a wrong one and with half of it", () =>
    Effect.gen(function* () {
      const refused = (method: string, at: string, shown: string | null) =>
        Effect.gen(function* () {
          const answer = yield* ask(at, { method, key: shown })
          assert.strictEqual(refusedWith(answer, 401), "unauthorized", `${method} ${at}`)
          assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
        })
      for (const [method, at] of everyPath) yield* refused(method, at, null)
      for (const wrong of ["wrong", key.slice(0, -1), `${key}x`, key.toUpperCase()])
        yield* refused("GET", "/api/status", wrong)
      // The control: with the key none of these is a 401.
      for (const [method, at] of everyPath.filter(([, path]) => path !== "/api/events"))
        assert.notStrictEqual((yield* ask(at, { method })).status, 401, `${method} ${at}`)
    })
  )

  it.effect("tells a wrong path from a wrong method", () =>
    Effect.gen(function* () {
      assert.strictEqual(refusedWith(yield* ask("/there/is/nothing"), 404), "not_found")
      const wrong = yield* ask("/api/sessions", { method: "DELETE" })
      assert.strictEqual(refusedWith(wrong, 405), "method_not_allowed")
      assert.strictEqual(refusedWith(yield* rawAsk({ path: "/api/sessions/%zz" }), 400), "bad_path")
      // A name that nothing has is not a path that cannot be read.
      const long = "%F0%9F%91%8D".repeat(200)
      assert.strictEqual(refusedWith(yield* rawAsk({ path: `/api/sessions/${long}` }), 404), "not_found")
      assert.strictEqual(refusedWith(yield* rawAsk({ path: `/api/explain/${long}` }), 404), "not_found")
      assert.strictEqual(refusedWith(yield* rawAsk({ path: `/api/sessions/${"x".repeat(4_500)}` }), 400), "bad_path")
      assert.strictEqual(wrong.headers.get("allow"), "GET, POST")
      assert.strictEqual(refusedWith(yield* ask("/health", { method: "POST", body: {} }), 405), "method_not_allowed")
    })
  )

  it.effect("answers to the names of this machine only", () =>
    Effect.gen(function* () {
      const { port } = yield* ApiServer
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`, "127.0.0.2"])
        assert.strictEqual((yield* rawAsk({ headers: { host } })).status, 200, host)
      for (const host of [
        "evil.example",
        `evil.example:${port}`,
        "127.0.0.1.evil.example",
        "0.0.0.0",
        "a b",
        "localhost@evil"
      ])
        for (const path of ["/health", "/", "/api/status"])
          assert.strictEqual(refusedWith(yield* rawAsk({ path, headers: { host } }), 403), "host_not_allowed", host)
    })
  )

  it.effect("refuses other pages, and takes its own", () =>
    Effect.gen(function* () {
      const { port } = yield* ApiServer
      const host = `127.0.0.1:${port}`
      const from = (origin: string) => rawAsk({ path: "/api/status", headers: { host, origin } })
      assert.strictEqual((yield* from(`http://${host}`)).status, 200)
      for (const origin of [
        "http://evil.example",
        "http://127.0.0.1:1",
        `http://localhost:${port}`,
        "null",
        "garbage",
        ""
      ])
        if (origin !== "") assert.strictEqual(refusedWith(yield* from(origin), 403), "origin_not_allowed", origin)
    })
  )

  it.effect("exchanges the key for a cookie that scripts and other pages cannot use", () =>
    Effect.gen(function* () {
      const { port } = yield* ApiServer
      const answer = yield* ask("/api/session/exchange", { method: "POST" })
      assert.strictEqual(answer.status, 200, answer.text)
      const cookie = answer.headers.get("set-cookie") ?? ""
      assert.match(cookie, new RegExp(`^hermes_${port}=`))
      assert.include(cookie, "HttpOnly")
      assert.include(cookie, "SameSite=Strict")
      assert.notInclude(cookie, key)
      const value = cookie.split(";")[0] ?? ""
      const withCookie = (headers: Record<string, string> = {}) =>
        ask("/api/status", { key: null, headers: { cookie: value, ...headers } })
      assert.strictEqual((yield* withCookie()).status, 200)
      assert.strictEqual((yield* withCookie({ "sec-fetch-site": "same-origin" })).status, 200)
      assert.strictEqual(refusedWith(yield* withCookie({ "sec-fetch-site": "same-site" }), 403), "origin_not_allowed")
      for (const forged of [
        `${value}x`,
        value.replace(/=(.)/, "=z$1"),
        `hermes_${port}=zzzzzzzzz.abc`,
        `hermes_${port}=`
      ])
        assert.strictEqual(
          refusedWith(yield* ask("/api/status", { key: null, headers: { cookie: forged } }), 401),
          "unauthorized",
          forged
        )
      assert.strictEqual((yield* ask("/docs", { key: null, headers: { cookie: value } })).status, 200)
      // A person without it is shown where the key is asked for; a program is told.
      const sent = yield* ask("/docs", { key: null, headers: { accept: "text/html" } })
      assert.deepStrictEqual([sent.status, sent.text], [200, (yield* ask("/", { key: null })).text])
      assert.strictEqual((yield* ask("/docs", { key: null })).status, 401)
    })
  )

  it.effect("says what is wrong with a body", () =>
    Effect.gen(function* () {
      const post = (raw: string | Uint8Array<ArrayBuffer>) => ask("/api/send", { raw })
      assert.strictEqual(refusedWith(yield* post("{"), 400), "invalid_json")
      assert.strictEqual(refusedWith(yield* post(new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22])), 400), "invalid_utf8")
      const incomplete = yield* post('{"target": 5}')
      assert.strictEqual(refusedWith(incomplete, 400), "invalid_request")
      const { error } = Schema.decodeUnknownSync(ErrorBody)(incomplete.json)
      assert.deepStrictEqual(error.issues?.map((issue) => issue.path).sort(), ["target"])
      assert.include(error.message, "target")
      for (const odd of ["null", "[]", "5", '""', "[[[[[[]]]]]]", '{"__proto__": {"target": "x"}}', ""])
        assert.strictEqual(refusedWith(yield* post(odd), 400), "invalid_request", odd)
    })
  )

  it.effect("refuses more than 10 MB, announced or not, and goes on", () =>
    Effect.gen(function* () {
      const text = "x".repeat(10_000_000)
      const big = JSON.stringify({ target: "telegram", text })
      const before = (yield* ask("/health")).status
      assert.strictEqual(refusedWith(yield* ask("/api/send", { raw: big }), 413), "too_large")
      const piece = "y".repeat(1_000_000)
      const unannounced = yield* rawAsk({
        method: "POST",
        path: "/api/send",
        headers: { "transfer-encoding": "chunked" },
        chunks: ["{", ...Array.from({ length: 12 }, () => piece)]
      })
      assert.strictEqual(refusedWith(unannounced, 413), "too_large")
      // The control: a large body below the limit is read whole.
      const largest = JSON.stringify({ target: "telegram:1", text: "z".repeat(9_000_000) })
      assert.notStrictEqual((yield* ask("/api/send", { raw: largest })).status, 413)
      assert.strictEqual((yield* ask("/health")).status, before)
    })
  )

  it.effect("answers to what is no HTTP in the same shape", () =>
    Effect.gen(function* () {
      const garbage = yield* wire("\u0000\u0001garbage\r\n\r\n")
      assert.match(garbage, /^HTTP\/1\.1 400 /)
      assert.include(garbage, '{"error":{"code":"bad_request"')
      const fat = yield* wire(`GET /health HTTP/1.1\r\nhost: localhost\r\nx: ${"a".repeat(40_000)}\r\n\r\n`)
      assert.match(fat, /^HTTP\/1\.1 431 /)
      const hostless = yield* wire("GET /health HTTP/1.0\r\nconnection: close\r\n\r\n")
      assert.match(hostless, /^HTTP\/1\.1 400 /)
      assert.include(hostless, "host_missing")
    })
  )

  it.effect("says nothing of its insides when it breaks", () =>
    Effect.gen(function* () {
      const play = yield* Play
      // A defect in a service: the list is none.
      play.open = undefined as never
      const broken = yield* ask("/api/approvals")
      assert.strictEqual(refusedWith(broken, 500), "internal")
      assert.notMatch(broken.text, /TypeError|undefined|\.ts/)
      play.open = []
      assert.strictEqual((yield* ask("/api/approvals")).status, 200)
    })
  )

  it.effect("takes an answer that does not fit its Schema for its own fault and not for the caller's", () =>
    Effect.gen(function* () {
      const play = yield* Play
      play.open = [{ sessionKey: "a secret of nobody's" } as never]
      const broken = yield* ask("/api/approvals")
      assert.strictEqual(refusedWith(broken, 500), "internal")
      assert.notMatch(broken.text, /Expected|secret|sessionKey/)
      play.open = []
      const mistaken = yield* ask("/api/approvals?limit=x")
      assert.strictEqual(refusedWith(mistaken, 400), "invalid_request")
      assert.include(mistaken.text, '"path":"limit"')
    })
  )

  it.effect("handles every request as nobody", () =>
    Effect.gen(function* () {
      const play = yield* Play
      const created = (yield* ask("/api/sessions", { body: {} })).json as { readonly id: string }
      yield* ask(`/api/sessions/${created.id}/chat`, { body: { text: "who am I?" } })
      const facts = play.accepted.at(-1)?.facts
      assert.strictEqual(facts?.identity.sessionId._tag, "Unset")
      assert.strictEqual(facts?.marker._tag, "Unset")
      assert.strictEqual(facts?.origin._tag, "Unset")
    })
  )
})

describe("Server's life", () => {
  it.scopedLive("keeps the turn that it was built in away from its requests", () =>
    Effect.gen(function* () {
      const context = yield* AdmissionTurn.enter(turn("leak"))(Layer.build(server()))
      yield* Effect.gen(function* () {
        const play = yield* Play
        const created = (yield* ask("/api/sessions", { body: {} })).json as { readonly id: string }
        yield* ask(`/api/sessions/${created.id}/chat`, { body: { text: "who am I?" } })
        assert.strictEqual(play.accepted[0]?.facts.identity.chatId._tag, "Unset")
        assert.strictEqual(play.accepted[0]?.facts.origin._tag, "Unset")
        // The control: the fiber that built it did carry a turn.
        assert.strictEqual((yield* AdmissionTurn.enter(turn("leak"))(Turn.peek)).identity.chatId._tag, "Value")
      }).pipe(Effect.provide(context))
    })
  )

  it.scopedLive("names the port that is taken, and what to do", () =>
    Effect.gen(function* () {
      const other = yield* Effect.acquireRelease(
        Effect.async<net.Server>((resume) => {
          const made = net.createServer().listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
        }),
        (made) => Effect.sync(() => made.close())
      )
      const taken = (other.address() as net.AddressInfo).port
      const exit = yield* Effect.exit(Layer.build(server({ port: taken })))
      assert.isTrue(Exit.isFailure(exit))
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : null
      assert.include(error, { _tag: "PortTaken", port: taken, host: "127.0.0.1" })
      assert.include(String((error as Error).message), "--port")
    })
  )

  it.scopedLive("does not open to other machines without knowing its names", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Layer.build(server({ host: "0.0.0.0" })))
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : null
      assert.include(error, { _tag: "HostsUnnamed" })
      const named = withServer({ host: "0.0.0.0", allowedHosts: ["hermes.example"] })
      yield* named(
        Effect.gen(function* () {
          assert.strictEqual((yield* rawAsk({ headers: { host: "hermes.example" } })).status, 200)
          assert.strictEqual((yield* rawAsk({ headers: { host: "other.example" } })).status, 403)
          assert.strictEqual((yield* rawAsk({ headers: { host: "0.0.0.0" } })).status, 403)
        })
      )
    })
  )

  it.scopedLive("is shut by nobody who opens connections and says nothing", () =>
    withServer()(
      Effect.gen(function* () {
        const { url, port } = yield* ApiServer
        const activity = yield* Activity
        const response = yield* Effect.promise(() => fetching(`${url}/api/events`, {}))
        const sockets = Array.from({ length: 600 }, () => {
          const socket = net.connect(port, "127.0.0.1").on("error", () => undefined)
          socket.write("GET /health HTTP/1.1\r\nHo")
          return socket
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
        yield* Effect.forEach(
          sockets,
          (socket) =>
            Effect.async<void>((resume) => {
              if (!socket.connecting) resume(Effect.void)
              else socket.once("connect", () => resume(Effect.void)).once("close", () => resume(Effect.void))
            }),
          { concurrency: "unbounded" }
        )
        assert.strictEqual((yield* rawAsk({})).status, 200)
        assert.strictEqual((yield* rawAsk({ path: "/api/status" })).status, 200)
        // who showed the key is not thrown out for those who did not
        const seen = readEvents(response, (lines) => lines.length > 0)
        yield* activity.publish({ _tag: "gateway.state", at: 1, state: "running" })
        assert.strictEqual((yield* Effect.promise(() => seen)).length, 1)
      })
    )
  )

  it.scopedLive("leaves a connection that sent no request, whether its other end does or not", () =>
    withServer()(
      Effect.gen(function* () {
        const { port } = yield* ApiServer
        const gone = yield* Effect.async<string>((resume) => {
          const socket = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => socket.write("no\r\n\r\n"))
          socket.resume()
          // the first is what tells us that nobody is there, the second hears it
          socket.on("end", () => {
            for (const millis of [1_300, 1_400]) setTimeout(() => socket.write("more"), millis)
          })
          socket.on("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code ?? "")))
        }).pipe(Effect.timeoutOption("5 seconds"))
        assert.include(["ECONNRESET", "EPIPE"], Option.getOrNull(gone))
      })
    )
  )

  it.scopedLive("listens before it can answer: /health says so, and what else is asked waits in its order", () =>
    Effect.gen(function* () {
      const settled = Layer.succeed(Settings, settingsWith({}))
      const context = yield* Layer.build(Listening.layer.pipe(Layer.provide(settled)))
      const [{ url }, { open, server }] = [Context.get(context, ApiServer), Context.get(context, Listening.Listening)]
      const arrived = (count: number) =>
        Effect.async<void>((resume) => {
          let seen = 0
          const heard = (): void => {
            if (++seen === count) resume(Effect.void)
          }
          server.on("request", heard)
          return Effect.sync(() => void server.off("request", heard))
        })
      const leaving = new AbortController()
      const answered: Array<string> = []
      const text = async (at: string, init: RequestInit = {}) => {
        const answer = await (await fetch(url + at, init)).text()
        answered.push(at)
        return answer
      }
      const asking = Promise.all([
        text("/left", { signal: leaving.signal }).catch(() => "gone"),
        text("/first"),
        text("/second", { method: "POST", body: "the whole of it" })
      ])
      yield* arrived(3)
      leaving.abort()
      const health = yield* ask("/health?now", { key: null }).pipe(Effect.provide(context))
      assert.deepInclude(Schema.decodeUnknownSync(HealthBrief, { onExcessProperty: "error" })(health.json), {
        status: "starting",
        version
      })
      assert.strictEqual(health.headers.get("x-content-type-options"), "nosniff")
      assert.deepStrictEqual(answered, [])
      const foreign = rawAsk({ headers: { host: "evil.example" } }).pipe(Effect.provide(context))
      const handled: Array<string> = []
      const [, refused] = yield* Effect.all(
        [
          Effect.zipRight(
            arrived(1),
            open((request, response) => {
              handled.push(request.url ?? "")
              request.pipe(response.writeHead(403))
            })
          ),
          foreign
        ],
        { concurrency: 2 }
      )
      assert.deepStrictEqual(yield* Effect.promise(() => asking), ["gone", "", "the whole of it"])
      assert.sameMembers(handled, ["/first", "/second", "/health"])
      assert.strictEqual(refused.status, 403)
    })
  )

  it.scopedLive("ends its streams and its connections when it is closed", () =>
    Effect.gen(function* () {
      const { ended, port } = yield* withServer()(
        Effect.gen(function* () {
          const { url, port } = yield* ApiServer
          const activity = yield* Activity
          const response = yield* Effect.promise(() => fetching(`${url}/api/events`, {}))
          const told = yield* Deferred.make<void>()
          const ended = readEvents(response, (seen) => {
            if (seen.length > 0) Deferred.unsafeDone(told, Effect.void)
            return false
          })
          yield* activity.publish({ _tag: "gateway.state", at: 1, state: "running" })
          yield* Deferred.await(told)
          return { ended, port }
        })
      ).pipe(Effect.scoped)
      assert.deepStrictEqual(yield* Effect.promise(() => ended), ['{"_tag":"gateway.state","at":1,"state":"running"}'])
      const refused = yield* Effect.async<string>((resume) => {
        http
          .get({ host: "127.0.0.1", port, path: "/health" }, () => resume(Effect.succeed("answered")))
          .on("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error.code ?? "")))
      })
      assert.strictEqual(refused, "ECONNREFUSED")
    })
  )
})
