import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"
import * as RedactorLayer from "../../../../src/layers/delivery/Redactor.js"
import * as AccessTokensLayer from "../../../../src/layers/models/oauth/AccessTokens.js"
import { AccessTokens, type TokenUnavailable } from "../../../../src/services/credential/AccessTokens.js"
import { CredentialStore } from "../../../../src/services/credential/CredentialStore.js"
import type { OAuthLogin } from "../../../../src/services/credential/OAuthLogin.js"
import { Redactor } from "../../../../src/services/delivery/Redactor.js"
import { scaled } from "../../../scale.js"
import * as Logins from "../../../../src/layers/models/oauth/Logins.js"
import * as OAuthServer from "./OAuthServer.js"
import { entries, expire, home, loginOf, machineOf, processOf, storeOf, write } from "./fixture.js"

const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))

const token = (login: OAuthLogin, refused: string | null = null, id: string | null = null) =>
  Effect.flatMap(AccessTokens, (tokens) =>
    Effect.map(tokens.token(login, id, refused === null ? null : Redacted.make(refused)), Redacted.value)
  )

/** A home with one login, whose token is over, and a process on it. */
const logged = (options: OAuthServer.Options = {}, expiresAt: number | null = 1_000) =>
  Effect.gen(function* () {
    const server = yield* OAuthServer.make(options)
    const directory = yield* home
    const login = loginOf(server)
    const issued = server.grant()
    write(directory, { login, issued, expiresAt })
    const process = yield* Layer.build(processOf(directory))
    return { server, directory, login, issued, process }
  })

/** A process that keeps to no lock: each change stands alone. */
const heedless = (directory: string) =>
  AccessTokensLayer.layer.pipe(
    Layer.provide(
      Layer.effect(
        CredentialStore,
        Effect.map(CredentialStore, (store) =>
          CredentialStore.of({
            read: store.read,
            held: (use) => use({ read: store.read, write: (all) => store.held((file) => file.write(all)) })
          })
        )
      ).pipe(Layer.provide(storeOf(directory)))
    ),
    Layer.provide(RedactorLayer.layer),
    Layer.provide(machineOf(directory))
  )

describe("a token whose time is over", () => {
  const rounds = scaled(100, 6)

  it.scopedLive(
    `is renewed once, however many of two processes ask for it at the same instant (${rounds} rounds)`,
    () =>
      Effect.gen(function* () {
        const { directory, issued, login, process, server } = yield* logged({ delay: 5 })
        const other = yield* Layer.build(processOf(directory))
        let before = issued.access
        for (let round = 1; round <= rounds; round++) {
          const asked = [process, other, process, other, process, other].map((one) => Effect.provide(token(login), one))
          const got = yield* Effect.all(asked, { concurrency: "unbounded" })
          assert.strictEqual(new Set(got).size, 1)
          assert.notStrictEqual(got[0], before)
          assert.isTrue(server.isGood(got[0] ?? ""))
          assert.strictEqual(server.renewals(), round)
          before = got[0] ?? ""
          expire(directory)
        }
        assert.strictEqual(server.reuses(), 0)
      }).pipe(quiet)
  )

  it.scopedLive("without the lock the server sees a spent token, and ends the login of both", () =>
    Effect.gen(function* () {
      const { directory, login, server } = yield* logged({ delay: 100 })
      const both = [yield* Layer.build(heedless(directory)), yield* Layer.build(heedless(directory))]
      yield* Effect.forEach(both, (one) => Effect.exit(Effect.provide(token(login), one)), {
        concurrency: "unbounded"
      })
      assert.isAtLeast(server.reuses(), 1)
    }).pipe(quiet)
  )

  it.scopedLive("is renewed a minute ahead, and when a server refuses it before its time", () =>
    Effect.gen(function* () {
      const { directory, issued, login, process, server } = yield* logged({}, Date.now() + 50_000)
      const early = yield* Effect.provide(token(login), process)
      assert.notStrictEqual(early, issued.access)
      assert.strictEqual(yield* Effect.provide(token(login), process), early)
      const next = yield* Effect.provide(token(login, early), process)
      assert.notStrictEqual(next, early)
      // Who was refused the one before that takes the present one.
      assert.strictEqual(yield* Effect.provide(token(login, early), process), next)
      assert.strictEqual(server.renewals(), 2)
      assert.strictEqual(entries(directory)[0]?.access_token, next)
    }).pipe(quiet)
  )

  it.scopedLive("whose server does not say when it is over is kept until it is refused", () =>
    Effect.gen(function* () {
      const { issued, login, process, server } = yield* logged({}, null)
      assert.strictEqual(yield* Effect.provide(token(login), process), issued.access)
      assert.strictEqual(server.asked(), 0)
      assert.notStrictEqual(yield* Effect.provide(token(login, issued.access), process), issued.access)
    }).pipe(quiet)
  )

  it.scopedLive("a server that gives no new refresh token leaves the old one good", () =>
    Effect.gen(function* () {
      const instead = () => ({ status: 200, body: { access_token: "another-access-token", expires_in: "3600" } })
      const { directory, issued, login, process, server } = yield* logged({ instead })
      assert.strictEqual(yield* Effect.provide(token(login), process), "another-access-token")
      assert.strictEqual(entries(directory)[0]?.refresh_token, issued.refresh)
      assert.deepInclude(server.last(), {
        grant_type: "refresh_token",
        refresh_token: issued.refresh,
        client_id: "hermes"
      })
    }).pipe(quiet)
  )

  it.scopedLive("what stands beside a good token and makes no sense does not lose it", () =>
    Effect.gen(function* () {
      for (const odd of [{ expires_in: -1 }, { expires_in: "soon" }, { refresh_token: "" }, { scope: ["a", "b"] }]) {
        const instead = () => ({ status: 200, body: { access_token: "another-access-token", ...odd } })
        const { directory, issued, login, process } = yield* logged({ instead })
        assert.strictEqual(yield* Effect.provide(token(login), process), "another-access-token")
        assert.deepInclude(entries(directory)[0], {
          access_token: "another-access-token",
          refresh_token: issued.refresh,
          renewing_since: null
        })
      }
      // The control: without a token in it, an answer is none.
      const none = yield* logged({ instead: () => ({ status: 200, body: { access_token: "", expires_in: 60 } }) })
      assert.strictEqual((yield* Effect.flip(Effect.provide(token(none.login), none.process)))._tag, "TokenUnavailable")
    }).pipe(quiet)
  )

  it.scopedLive("whose place on the disk is in the way for a moment is written when it is not", () =>
    Effect.gen(function* () {
      let directory = ""
      const made = yield* logged({
        spent: () => {
          const file = path.join(directory, "auth.json")
          const text = readFileSync(file, "utf8")
          rmSync(file)
          mkdirSync(file)
          setTimeout(() => {
            rmSync(file, { recursive: true })
            writeFileSync(file, text)
          }, 150)
          return Promise.resolve()
        }
      })
      directory = made.directory
      const got = yield* Effect.provide(token(made.login), made.process)
      assert.isTrue(made.server.isGood(got))
      assert.strictEqual(entries(directory)[0]?.access_token, got)
    }).pipe(quiet)
  )

  it.scopedLive("who is interrupted leaves the renewal to its end, because the token is spent", () =>
    Effect.gen(function* () {
      let arrived: () => void = () => undefined
      const spent = new Promise<void>((resolve) => (arrived = resolve))
      const { directory, issued, login, process, server } = yield* logged({
        delay: 200,
        spent: () => Promise.resolve(arrived())
      })
      const asking = yield* Effect.fork(Effect.provide(token(login), process))
      yield* Effect.promise(() => spent)
      yield* Fiber.interrupt(asking)
      assert.strictEqual(entries(directory)[0]?.access_token, issued.access)
      const got = yield* Effect.provide(token(login), process)
      assert.isTrue(server.isGood(got))
      assert.deepStrictEqual([server.renewals(), server.reuses()], [1, 0])
    }).pipe(quiet)
  )
})

describe("a renewal that is refused", () => {
  for (const code of [
    "invalid_grant",
    "refresh_token_reused",
    "token_revoked",
    "token_invalidated",
    "invalid_token",
    "unauthorized_client"
  ])
    it.scopedLive(`${code}: the login is given up, says what to do, and is never asked with again`, () =>
      Effect.gen(function* () {
        const { directory, issued, login, process, server } = yield* logged({
          instead: ({ refresh_token }) => ({
            status: 400,
            body: { error: code, error_description: `no more ${refresh_token}` }
          })
        })
        for (let times = 0; times < 2; times++) {
          const error = yield* Effect.flip(Effect.provide(token(login), process))
          assert.strictEqual(error._tag, "LoginNeeded")
          assert.include(error.message, "hermes auth login portal")
          assert.include(error.message, code)
          assert.notInclude(JSON.stringify(error) + error.message, issued.refresh)
        }
        assert.strictEqual(server.asked(), 1)
        assert.strictEqual(entries(directory)[0]?.dead?.reason, code)
        assert.notInclude(entries(directory)[0]?.dead?.detail ?? "", issued.refresh)
        // It was the mark that kept it from being asked.
        yield* Effect.provide(Logins.revive({ login: login.name, label: null }), process)
        yield* Effect.flip(Effect.provide(token(login), process))
        assert.strictEqual(server.asked(), 2)
      }).pipe(quiet)
    )

  it.scopedLive("by a server that is away, busy or confused is tried again: nothing is given up", () =>
    Effect.gen(function* () {
      const kinds: ReadonlyArray<readonly [OAuthServer.Answer | "drop", TokenUnavailable["reason"], boolean]> = [
        ["drop", "silent", true],
        [{ status: 503, body: "upstream" }, "failing", true],
        [{ status: 200, body: "<html>" }, "failing", true],
        [{ status: 429, body: { error: "slow_down" }, headers: { "retry-after": "7" } }, "limited", false],
        [{ status: 401, body: { error: "invalid_client" } }, "refused", false],
        [{ status: 302, body: "", headers: { location: "http://127.0.0.1:1/token" } }, "refused", false]
      ]
      for (const [answer, reason, unsure] of kinds) {
        let away = true
        const { directory, login, process, server } = yield* logged({ instead: () => (away ? answer : null) })
        const error = yield* Effect.flip(Effect.provide(token(login), process))
        assert.deepInclude(error, { _tag: "TokenUnavailable", reason })
        if (reason === "limited") assert.deepInclude(error, { retryAfterMillis: 7_000 })
        // Where the token may have been spent, it is written down that it may.
        assert.strictEqual(entries(directory)[0]?.renewing_since !== null, unsure)
        away = false
        assert.isTrue(server.isGood(yield* Effect.provide(token(login), process)))
        assert.isNull(entries(directory)[0]?.renewing_since)
      }
      const { login, process } = yield* logged()
      const gone = loginOf(yield* Effect.scoped(OAuthServer.make()))
      const directory = yield* home
      write(directory, {
        login: gone,
        issued: { access: "a-token-of-nobody", refresh: "r-token-of-nobody" },
        expiresAt: 1
      })
      const error = yield* Effect.flip(Effect.provide(token(gone), yield* Layer.build(processOf(directory))))
      assert.deepInclude(error, { _tag: "TokenUnavailable", reason: "unreachable" })
      assert.isTrue((yield* Effect.exit(Effect.provide(token(login), process)))._tag === "Success")
    }).pipe(quiet)
  )

  it.scopedLive("ahead of its time leaves the token that is good yet", () =>
    Effect.gen(function* () {
      const { issued, login, process } = yield* logged({ instead: () => "drop" }, Date.now() + 30_000)
      assert.strictEqual(yield* Effect.provide(token(login), process), issued.access)
    }).pipe(quiet)
  )

  it.scopedLive("because another program was faster: what that one got is taken", () =>
    Effect.gen(function* () {
      let directory = ""
      const given: { server: OAuthServer.OAuthServer | null; login: OAuthLogin | null } = { server: null, login: null }
      const made = yield* logged({
        instead: () => {
          const { login, server } = given
          if (login !== null && server !== null)
            write(directory, { login, issued: server.grant(), expiresAt: Date.now() + 3_600_000 })
          return { status: 400, body: { error: "refresh_token_reused" } }
        }
      })
      directory = made.directory
      Object.assign(given, made)
      const got = yield* Effect.provide(token(made.login), made.process)
      assert.isTrue(made.server.isGood(got))
      assert.isNull(entries(directory)[0]?.dead)
    }).pipe(quiet)
  )
})

describe("a renewal that was cut off by a kill", () => {
  it.scopedLive("before the server heard of it goes on; behind it the loss is told as what it is", () =>
    Effect.gen(function* () {
      const { directory, issued, login, process, server } = yield* logged()
      write(directory, { login, issued, expiresAt: 1_000, renewingSince: 2_000 })
      const got = yield* Effect.provide(token(login), process)
      assert.isTrue(server.isGood(got))

      // The server has spent this one, and its answer was written nowhere.
      write(directory, { login, issued, expiresAt: 1_000, renewingSince: 2_000 })
      const error = yield* Effect.flip(Effect.provide(token(login), process))
      assert.include(error.message, "cut off")
      assert.include(error.message, "hermes auth login portal")
      assert.strictEqual(entries(directory)[0]?.dead?.reason, "renewal_cut_off")
    }).pipe(quiet)
  )

  it.scopedLive("is not tried ahead of time: the token that is left is used to its end", () =>
    Effect.gen(function* () {
      const { directory, issued, login, process, server } = yield* logged()
      write(directory, { login, issued, expiresAt: Date.now() + 30_000, renewingSince: 2_000 })
      assert.strictEqual(yield* Effect.provide(token(login), process), issued.access)
      assert.strictEqual(server.asked(), 0)
    }).pipe(quiet)
  )
})

describe("whose token it is", () => {
  it.scopedLive("one that was made for another host goes nowhere, also where the name only looks alike", () =>
    Effect.gen(function* () {
      const { directory, issued, process, server } = yield* logged()
      const made = loginOf(server, { baseUrl: "https://api.portal.example/v1" })
      write(directory, { login: made, issued, expiresAt: Date.now() + 3_600_000 })
      assert.strictEqual(yield* Effect.provide(token(made), process), issued.access)
      for (const baseUrl of [
        "https://api.portal.example.evil.example/v1",
        "https://api.portal.example@evil.example/v1",
        "http://api.portal.example/v1",
        "https://api.portal.example:8443/v1",
        "https://api.portal.examp1e/v1",
        null
      ]) {
        const error = yield* Effect.flip(Effect.provide(token({ ...made, baseUrl }), process))
        assert.strictEqual(error._tag, "LoginNeeded", String(baseUrl))
      }
    }).pipe(quiet)
  )

  it.scopedLive("what was got by it is taken out of every text; nobody logged in is said as such", () =>
    Effect.gen(function* () {
      const { login, process, server } = yield* logged()
      const got = yield* Effect.provide(token(login), process)
      const said = Context.get(process, Redactor).text(`it is ${got} and no other`)
      assert.strictEqual(said, "it is [redacted] and no other")
      const error = yield* Effect.flip(Effect.provide(token(loginOf(server, { name: "other" })), process))
      assert.match(error.message, /hermes auth login other.*Nobody is logged in with other/)
    }).pipe(quiet)
  )
})
