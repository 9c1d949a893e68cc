import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Redacted } from "effect"
import * as DeviceLogin from "../../../../src/layers/models/oauth/DeviceLogin.js"
import type { OAuthLogin } from "../../../../src/services/credential/OAuthLogin.js"
import * as Logins from "../../../../src/layers/models/oauth/Logins.js"
import { home, loginOf, storeOf, write } from "./fixture.js"
import * as OAuthServer from "./OAuthServer.js"

const begun = (login: OAuthLogin) => Effect.provide(DeviceLogin.begin(login), FetchHttpClient.layer)

describe("a login from another device", () => {
  it.scopedLive("shows a code, waits for the person, and gets tokens", () =>
    Effect.gen(function* () {
      const server = yield* OAuthServer.make({ interval: 0.01 })
      const login = loginOf(server, { scope: "models", clientSecret: Redacted.make("the-secret-of-this-client") })
      const { invitation, tokens } = yield* begun(login)
      assert.deepInclude(invitation, { userCode: "WDJB-MJHT", wholeAddress: "http://127.0.0.1/say-yes?code=WDJB-MJHT" })
      const waiting = yield* Effect.fork(tokens)
      while (server.asked() < 3) yield* Effect.sleep(5)
      server.approve()
      const given = yield* waiting
      assert.isTrue(server.isGood(Redacted.value(given.access_token)))
      assert.strictEqual(given.expires_in, 3_600)
      assert.deepInclude(server.last(), {
        grant_type: "urn:ietf:params:oauth:grant-type:device_code",
        device_code: "the-device-code-of-loopback",
        client_id: "hermes",
        client_secret: "the-secret-of-this-client"
      })
      assert.notInclude(JSON.stringify(given), Redacted.value(given.access_token))
    })
  )

  it.scopedLive("a no of the person, or of the server, ends it with a word", () =>
    Effect.gen(function* () {
      const declined = yield* OAuthServer.make({ interval: 0.01 })
      declined.decline()
      const { tokens } = yield* begun(loginOf(declined))
      assert.include((yield* Effect.flip(tokens)).message, "declined in the browser")

      const strange = yield* OAuthServer.make({
        interval: 0.01,
        instead: () => ({ status: 401, body: { error: "invalid_client" } })
      })
      assert.include((yield* Effect.flip((yield* begun(loginOf(strange))).tokens)).message, "client_id")

      const away = loginOf(yield* Effect.scoped(OAuthServer.make()))
      assert.include((yield* Effect.flip(begun(away))).message, "refused")
      const page = yield* OAuthServer.make({ instead: () => ({ status: 200, body: "<html>Sign in</html>" }) })
      const lost = { ...loginOf(page), deviceUrl: page.tokenUrl }
      assert.include((yield* Effect.flip(begun(lost))).message, "something else than OAuth")
    })
  )

  it.scopedLive("an answer that is none ends it after a few, with what came and where to look", () =>
    Effect.gen(function* () {
      const said = (instead: OAuthServer.Answer) =>
        Effect.gen(function* () {
          const server = yield* OAuthServer.make({ interval: 0.01, instead: () => instead })
          const { message } = yield* Effect.flip((yield* begun(loginOf(server))).tokens)
          const device = { ...loginOf(server), deviceUrl: server.tokenUrl }
          const asked = server.asked()
          return { message, asked, first: (yield* Effect.flip(begun(device))).message }
        })
      const page = yield* said({ status: 200, body: "<!doctype html><title>Sign in</title>" })
      assert.include(page.message, "something else than OAuth: a web page; check token_url of the login")
      assert.include(page.first, "something else than OAuth: a web page; check device_url of the login")
      assert.strictEqual(page.asked, 3)
      const other = yield* said({ status: 200, body: { token: "secret-in-a-strange-place" } })
      assert.include(other.message, "JSON without access_token;")
      assert.include(other.first, "JSON without device_code;")
      assert.notInclude(JSON.stringify(other), "strange-place")
      const kind = yield* said({ status: 200, body: { access_token: "secret-of-a-kind", token_type: "mac" } })
      assert.include(kind.message, "JSON with a token_type that cannot be used;")
      assert.notInclude(JSON.stringify(kind), "secret-of-a-kind")
      assert.include((yield* said({ status: 200, body: "" })).message, "OAuth: nothing;")
      assert.include((yield* said({ status: 200, body: "ok" })).message, "OAuth: a text that is no JSON;")
      assert.include((yield* said({ status: 200, body: "7" })).message, "OAuth: JSON that is no object;")
    })
  )

  it.scopedLive("a refusal in another shape is told in the server's words, once", () =>
    Effect.gen(function* () {
      const said = (status: number, body: unknown) =>
        Effect.gen(function* () {
          const server = yield* OAuthServer.make({ interval: 0.01, instead: () => ({ status, body }) })
          const { message } = yield* Effect.flip((yield* begun(loginOf(server))).tokens)
          assert.strictEqual(server.asked(), 1)
          return message
        })
      assert.include(
        yield* said(404, "<html>Not found</html>"),
        "status 404 and a web page; check token_url of the login"
      )
      assert.include(yield* said(400, { error: { message: "no such client", code: 17 } }), "said 17: no such client")
      assert.include(yield* said(200, { error: { code: "access_denied" } }), "declined in the browser")
      assert.include(yield* said(400, { message: "the wrong door" }), "said the wrong door; check token_url")
      assert.include(yield* said(400, { error: "oops", error_description: null }), "said oops")
    })
  )

  it.scopedLive("a code that makes no sense is told, and numbers that make none are not needed", () =>
    Effect.gen(function* () {
      const code = { device_code: "the-device-code", user_code: "A", verification_uri: "https://example.org" }
      const given = (more: object) =>
        Effect.gen(function* () {
          const server = yield* OAuthServer.make({ instead: () => ({ status: 200, body: { ...code, ...more } }) })
          return yield* Effect.either(begun({ ...loginOf(server), deviceUrl: server.tokenUrl }))
        })
      const over = yield* given({ expires_in: -5 })
      assert.isTrue(over._tag === "Left" && over.left.message.includes("over already (expires_in -5)"))
      for (const odd of [{}, { expires_in: "soon" }, { expires_in: 1e300 }, { expires_in: "600", interval: -1 }]) {
        const fine = yield* given(odd)
        const left = fine._tag === "Right" ? fine.right.invitation.expiresAt - (yield* Clock.currentTimeMillis) : 0
        assert.isTrue(left > 500_000 && left <= 1_800_000, JSON.stringify(odd))
      }
    })
  )

  it.scopedLive("a server that always asks for patience gets it until the code is over, and no longer", () =>
    Effect.gen(function* () {
      const server = yield* OAuthServer.make({
        interval: 0.01,
        codeLives: 0.4,
        instead: () => ({ status: 400, body: { error: "slow_down" } })
      })
      const { tokens } = yield* begun(loginOf(server))
      const [waited, error] = yield* Effect.timed(Effect.flip(tokens))
      assert.include(error.message, "nobody said yes in time")
      assert.isBelow(Duration.toMillis(waited), 4_000)
    })
  )

  it.scopedLive("what passes is waited for: a server that is busy, and one that breaks off", () =>
    Effect.gen(function* () {
      const server = yield* OAuthServer.make({
        interval: 0.01,
        instead: (_fields, asked) =>
          asked === 1
            ? "drop"
            : asked === 2
              ? { status: 429, body: "" }
              : asked === 3
                ? { status: 502, body: "" }
                : null
      })
      server.approve()
      const { tokens } = yield* begun(loginOf(server))
      assert.isTrue(server.isGood(Redacted.value((yield* tokens).access_token)))
      assert.strictEqual(server.asked(), 4)
    })
  )
})

describe("the end of a login", () => {
  it.scopedLive("is told to the server that it was made at, and to no other", () =>
    Effect.gen(function* () {
      const server = yield* OAuthServer.make()
      const login = loginOf(server, { revokeUrl: server.revokeUrl })
      const ended = (of: OAuthLogin) =>
        Effect.gen(function* () {
          const directory = yield* home
          const issued = server.grant()
          write(directory, { login: of, issued, expiresAt: null })
          const [gone] = yield* Effect.provide(Logins.remove({ login: "portal", label: null }), storeOf(directory))
          if (gone === undefined) return yield* Effect.dieMessage("nobody was logged in")
          const told = yield* Effect.provide(Logins.ended(login, gone), FetchHttpClient.layer)
          return [told, server.isGood(issued.access)]
        })
      assert.deepStrictEqual(yield* ended(login), [true, false])
      assert.deepStrictEqual(yield* ended({ ...login, tokenUrl: "http://127.0.0.1:9/token" }), [false, true])
    })
  )
})
