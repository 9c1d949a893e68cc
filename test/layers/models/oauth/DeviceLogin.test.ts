import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
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
