/**
 * The built program on a home whose model is asked with a login: two processes that need a renewal at the same instant, a
 * kill in the middle of one, and what of it is seen by whom. And what a restart knows of keys.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import { beforeAll } from "vitest"
import * as ModelServer from "../../src/testing/ModelServer.js"
import * as Login from "../layers/models/oauth/fixture.js"
import * as OAuthServer from "../layers/models/oauth/OAuthServer.js"
import { scaled } from "../scale.js"
import * as Command from "./support/Command.js"
import * as Gateway from "./support/Gateway.js"
import * as HomeDirectory from "./support/HomeDirectory.js"
import * as Loopback from "./support/Loopback.js"

const bearer = (request: ModelServer.ModelServerRequest): string =>
  (request.headers["authorization"] ?? "").replace("Bearer ", "")

/** A home without a gateway whose model knows the tokens of one login. */
const stage = (
  options: OAuthServer.Options,
  says: (request: ModelServer.ModelServerRequest) => ModelServer.ModelServerReply = () => ModelServer.says("answered")
) =>
  Effect.gen(function* () {
    const oauth = yield* OAuthServer.make(options)
    const model = yield* ModelServer.make((request) =>
      oauth.isGood(bearer(request)) ? says(request) : ModelServer.refuses(401, { message: "no such token" })
    )
    const login = Login.loginOf(oauth, { baseUrl: model.baseUrl })
    const home = yield* HomeDirectory.make({
      config: JSON.stringify({
        model: { provider: "openai-compatible", name: "loopback", base_url: model.baseUrl },
        approvals: { mode: "off" },
        agent: { api_max_retries: 0, auto_recovery_cycles: 0 },
        oauth: {
          portal: {
            base_url: model.baseUrl,
            client_id: "hermes",
            device_url: oauth.deviceUrl,
            token_url: oauth.tokenUrl
          }
        }
      }),
      env: { HERMES_MODEL_TITLES: "false" }
    })
    const run = (...args: ReadonlyArray<string>) => Command.run({ home, args })
    return { oauth, model, home, login, run, ask: run("chat", "-z", "hello") }
  })

/** Everything in the home and around it, but the file of logins itself. */
const written = (directory: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "auth.json")
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), "latin1"))
    .join("\n")

describe("a login of the built program", () => {
  beforeAll(Command.built, Command.buildMillis)

  const rounds = scaled(25, 2)

  it.scopedLive(
    `is renewed once by two processes that need it at the same instant (${rounds} rounds)`,
    () =>
      Effect.gen(function* () {
        const { ask, home, login, model, oauth } = yield* stage({ delay: 300 })
        const first = oauth.grant()
        Login.write(home.directory, { login, issued: first, expiresAt: 1_000 })
        for (let round = 1; round <= rounds; round++) {
          const both = yield* Effect.all([ask, ask], { concurrency: "unbounded" })
          for (const ended of both) expect([ended.code, ended.stdout.trim()]).toEqual([0, "answered"])
          expect(oauth.renewals()).toBe(round)
          Login.expire(home.directory)
        }
        expect(oauth.reuses()).toBe(0)
        expect((yield* model.requests).map(bearer)).not.toContain(first.access)
      }),
    600_000
  )

  it.scopedLive(
    "that was lost by a kill between the server's answer and the disk is told as lost, asked with no more, and made anew",
    () =>
      Effect.gen(function* () {
        let victim: Command.Process | null = null
        const { ask, home, login, model, oauth, run } = yield* stage({
          spent: async () => {
            if (victim === null) return
            process.kill(victim.pid, "SIGKILL")
            while (!victim.hasEnded()) await new Promise((resolve) => setTimeout(resolve, 5))
            victim = null
          }
        })
        const issued = oauth.grant()
        Login.write(home.directory, { login, issued, expiresAt: 1_000 })
        victim = yield* Command.start({ home, args: ["chat", "-z", "hello"] })
        expect((yield* victim.ended()).signal).toBe("SIGKILL")
        expect(Login.entries(home.directory)[0]).toMatchObject({ refresh_token: issued.refresh, dead: null })
        expect(Login.entries(home.directory)[0]?.renewing_since).not.toBeNull()

        const told = yield* ask
        expect(`${told.stdout}${told.stderr}`).toMatch(/hermes auth login portal.*cut off/s)
        expect(oauth.asked()).toBe(2)
        yield* ask
        expect(oauth.asked()).toBe(2)
        expect(yield* model.requests).toEqual([])

        const listed = JSON.parse((yield* run("auth", "list", "--json")).stdout)
        expect(listed.logins).toMatchObject([{ login: "portal", label: "default", state: "dead" }])
        const doctor = yield* run("doctor")
        expect(doctor.code).toBe(1)
        expect(doctor.stdout).toMatch(/login portal:.*good no more[^]*auth login portal/)
        expect(oauth.asked()).toBe(2)

        oauth.approve()
        expect(yield* run("auth", "login", "portal")).toMatchObject({ code: 0, stdout: "Logged in with portal.\n" })
        expect((yield* ask).stdout.trim()).toBe("answered")
      }),
    300_000
  )

  const kills = scaled(20, 2)

  it.scopedLive(
    `is good or told as lost after a kill at any moment, and its file is whole (${kills} kills)`,
    () =>
      Effect.gen(function* () {
        const { ask, home, login, oauth, run } = yield* stage({ delay: 100 })
        Login.write(home.directory, { login, issued: oauth.grant(), expiresAt: 1_000 })
        oauth.approve()
        // From its start to an answer it takes so long here.
        const { millis } = yield* ask
        let lost = 0
        for (let kill = 0; kill < kills; kill++) {
          Login.expire(home.directory)
          const victim = yield* Command.start({ home, args: ["chat", "-z", "hello"] })
          yield* Effect.sleep(millis * (0.3 + (0.7 * kill) / kills))
          yield* victim.signal("SIGKILL")
          yield* victim.ended()
          expect(Login.entries(home.directory).length).toBe(1)
          const after = yield* ask
          if (after.stdout.trim() === "answered") continue
          lost += 1
          expect(`${after.stdout}${after.stderr}`).toMatch(/hermes auth login portal.*cut off/s)
          expect((yield* run("auth", "login", "portal")).code).toBe(0)
        }
        expect(oauth.reuses()).toBe(lost)
      }),
    600_000
  )

  it.scopedLive(
    "is in its file alone: not in what the agent's commands are told, the log, the transcript or a word to anybody",
    () =>
      Effect.gen(function* () {
        let file = ""
        const { ask, home, login, model, oauth } = yield* stage({}, (request) => {
          const results = JSON.stringify(request.body).split('"role":"tool"').length - 1
          if (results === 0) return ModelServer.callsTools([{ name: "terminal", arguments: { command: "env | sort" } }])
          if (results === 1) return ModelServer.callsTools([{ name: "read_file", arguments: { path: file } }])
          if (results === 2)
            return ModelServer.callsTools([{ name: "terminal", arguments: { command: `cat ${file}` } }])
          return ModelServer.refuses(400, { message: `I do not like ${bearer(request)}` })
        })
        file = path.join(home.directory, "auth.json")
        const issued = oauth.grant()
        Login.write(home.directory, { login, issued, expiresAt: 1_000 })
        const ended = yield* ask
        expect(`${ended.stdout}${ended.stderr}`).toContain("I do not like")
        const bodies = (yield* model.requests).map(({ body }) => JSON.stringify(body))
        expect(bodies.length).toBe(4)
        expect(bodies.at(-1)).toContain("HERMES_SESSION_ID")
        const [now] = Login.entries(home.directory)
        const secrets = [issued.access, issued.refresh, now?.access_token ?? "", now?.refresh_token ?? ""]
        for (const secret of secrets) {
          expect(secret.length).toBeGreaterThan(20)
          for (const [where, text] of [
            ["the model", bodies.join("\n")],
            ["the home", written(home.owner)],
            ["what is said", `${ended.stdout}${ended.stderr}`]
          ] as const)
            expect(text.includes(secret), `${secret} in ${where}`).toBe(false)
        }
      }),
    300_000
  )
})

describe("a token that the model says", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "is taken out of what a chat gets, although it was got after the gateway had started",
    () =>
      Effect.gen(function* () {
        const oauth = yield* OAuthServer.make()
        const { home, model, person } = yield* Loopback.make((request) => ModelServer.says(`it is ${bearer(request)}.`))
        const login = Login.loginOf(oauth, { baseUrl: model.baseUrl })
        const { clientId, deviceUrl, tokenUrl } = login
        const config = readFileSync(path.join(home.directory, "config.yaml"), "utf8")
        const portal = { base_url: model.baseUrl, client_id: clientId, device_url: deviceUrl, token_url: tokenUrl }
        writeFileSync(path.join(home.directory, "config.yaml"), `${config}\noauth: ${JSON.stringify({ portal })}\n`)
        const gateway = yield* Gateway.start(home)
        yield* person(1).says("before")
        yield* person(1).hears(/cannot be asked until somebody logs in.*hermes auth login portal/s)
        expect(yield* model.requests).toEqual([])
        oauth.approve()
        expect((yield* Command.run({ home, args: ["auth", "login", "portal"] })).code).toBe(0)
        yield* person(1).says("what is it?")
        expect(yield* person(1).hears(/it is/)).toBe("it is [redacted].")
        const [asked] = yield* model.requests
        expect(oauth.isGood(asked === undefined ? "" : bearer(asked))).toBe(true)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    300_000
  )
})

describe("a key that is at its limit", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "is not asked with by the next gateway, nor by a command without one, until it is revived",
    () =>
      Effect.gen(function* () {
        const [one, two] = ["sk-primary-key-one-1111", "sk-primary-key-two-2222"]
        let limited = true
        const { home, model, person } = yield* Loopback.make(
          (request) =>
            limited && bearer(request) === one
              ? ModelServer.refuses(429, { retryAfterSeconds: 3_000 })
              : ModelServer.says(`heard ${request.text.split("\n").at(-1)}`),
          { env: { HERMES_MODEL_API_KEY: one, HERMES_MODEL_API_KEY_2: two } }
        )
        const asked = Effect.map(model.requests, (all) => all.map(bearer))
        const first = yield* Gateway.start(home)
        yield* person(1).says("first")
        yield* person(1).hears(/heard first/)
        expect(yield* asked).toEqual([one, two])
        expect((yield* Gateway.stop(first)).code).toBe(0)

        limited = false
        const second = yield* Gateway.start(home)
        yield* person(1).says("second")
        yield* person(1).hears(/heard second/)
        expect(yield* asked).toEqual([one, two, two])
        const shown = yield* Command.run({ home, args: ["model"] })
        expect(shown.stdout).toMatch(/Left alone for a while.*loopback +key 1 +rate_limit/s)
        expect(shown.stdout).not.toContain("sk-primary")

        const revived = yield* Command.run({ home, args: ["auth", "revive", "openai-compatible"] })
        expect(revived.code).toBe(0)
        yield* person(1).says("third")
        yield* person(1).hears(/heard third/)
        expect(yield* asked).toEqual([one, two, two, one])
        expect((yield* Gateway.stop(second)).code).toBe(0)
        expect(existsSync(path.join(home.directory, "auth.json"))).toBe(false)
        writeFileSync(path.join(home.directory, "auth.json"), "{")
        expect((yield* Command.run({ home, args: ["doctor"] })).stdout).toMatch(/logins:.*auth\.json: it is damaged/)
      }),
    300_000
  )
})
