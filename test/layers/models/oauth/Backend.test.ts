/** Models that are asked with the tokens of logins, over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import * as Cooldowns from "../../../../src/layers/models/Cooldowns.js"
import * as Route from "../../../../src/layers/models/Route.js"
import { ModelRoute, ofTurn, type RouteOfTurn } from "../../../../src/services/agent/ModelRoute.js"
import * as ModelProblem from "../../../../src/services/agent/ModelProblem.js"
import { type ModelBackend, Settings } from "../../../../src/services/operation/Settings.js"
import * as Server from "../../../../src/testing/ModelServer.js"
import * as Testing from "../../../../src/testing/Settings.js"
import { ask, backendOf, collect, textOf } from "../fixture.js"
import * as OAuthServer from "./OAuthServer.js"
import { entries, home, loginOf, processOf, write } from "./fixture.js"

const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))
const soon = Date.now() + 3_600_000

const bearer = (request: Server.ModelServerRequest): string =>
  (request.headers["authorization"] ?? "").replace("Bearer ", "")

/** A model that knows the tokens of a login, and whoever has logged in there. */
const stage = (reply: (request: Server.ModelServerRequest) => Server.ModelServerReply | null = () => null) =>
  Effect.gen(function* () {
    const oauth = yield* OAuthServer.make()
    const model = yield* Server.make(
      (request) =>
        reply(request) ??
        (oauth.isGood(bearer(request))
          ? Server.says("with the login")
          : Server.refuses(401, { message: `no ${bearer(request)}` }))
    )
    const login = loginOf(oauth, { baseUrl: model.baseUrl })
    const backend = backendOf(model.baseUrl, { apiKey: null, login })
    return { oauth, model, login, backend, directory: yield* home }
  })

const routed = <A, E>(
  self: Effect.Effect<A, E, ModelRoute>,
  directory: string,
  model: ModelBackend,
  fallbacks: ReadonlyArray<ModelBackend> = []
) =>
  self.pipe(
    Effect.provide(
      Route.layer.pipe(
        Layer.provide(Cooldowns.layerMemory),
        Layer.provide(
          Layer.succeed(Settings, Testing.settings("/nowhere", { model, fallbacks, agent: { apiMaxRetries: 0 } }))
        ),
        Layer.provide(processOf(directory))
      )
    ),
    quiet
  )

const streamed = Effect.flatMap(ModelRoute, (route) => Effect.map(collect(route, ask("a")), textOf))

const spoken = Effect.flatMap(ModelRoute, (route) => {
  let text = ""
  const speak: RouteOfTurn["speak"] | undefined = route.speak
  if (speak === undefined) return Effect.dieMessage("a route speaks")
  return Effect.as(
    speak(ask("a"), (part) => Effect.sync(() => void (text += part._tag === "Text" ? part.delta : ""))),
    null
  ).pipe(Effect.map(() => text))
})

describe("a model that is asked with a login", () => {
  for (const [way, say] of [
    ["streamed", streamed],
    ["spoken", spoken]
  ] as const)
    it.scopedLive(`a token that is refused before its time is renewed, and nobody notices (${way})`, () =>
      Effect.gen(function* () {
        const { backend, directory, login, model, oauth } = yield* stage()
        const issued = oauth.grant()
        write(directory, { login, issued, expiresAt: soon })
        oauth.spoil(issued.access)
        const both = Effect.all([say, say])
        assert.deepStrictEqual(yield* routed(both, directory, backend), ["with the login", "with the login"])
        const now = entries(directory)[0]?.access_token ?? ""
        assert.deepStrictEqual((yield* model.requests).map(bearer), [issued.access, now, now])
        assert.strictEqual(oauth.renewals(), 1)
      })
    )

  it.scopedLive("one that is given up is told with what to do, and neither it nor a key is sent anywhere", () =>
    Effect.gen(function* () {
      const { backend, directory, login, model, oauth } = yield* stage()
      const issued = oauth.grant()
      write(directory, { login, issued: { ...issued, refresh: "a-token-of-nobody" }, expiresAt: 1 })
      const keyed = { ...backend, apiKey: Redacted.make("sk-somebody-pays-for-this") }
      const both = Effect.all([Effect.flip(streamed), Effect.flip(spoken)])
      for (const error of yield* routed(both, directory, keyed)) {
        assert.strictEqual(error.reason, "auth_permanent")
        const { kind, next } = ModelProblem.describe(error, 1)
        assert.strictEqual(kind, "auth")
        assert.include(next, "hermes auth login portal")
        assert.notInclude(JSON.stringify(error), "a-token-of-nobody")
      }
      assert.deepStrictEqual(yield* model.requests, [])
      assert.strictEqual(oauth.asked(), 1)
    })
  )

  it.scopedLive("with fallbacks the walk goes on: after a login that is given up, and where nobody has logged in", () =>
    Effect.gen(function* () {
      const { backend, directory, login, model } = yield* stage()
      const spare = yield* Server.make([Server.says("with the fallback")])
      const fallbacks = [backendOf(spare.baseUrl)]
      assert.strictEqual(yield* routed(spoken, directory, backend, fallbacks), "with the fallback")
      write(directory, { login, issued: { access: "an-access-token", refresh: "a-token-of-nobody" }, expiresAt: 1 })
      assert.strictEqual(yield* routed(spoken, directory, backend, fallbacks), "with the fallback")
      assert.deepStrictEqual(yield* model.requests, [])
      const none = yield* Effect.flip(routed(spoken, yield* home, backend))
      assert.include(none.detail, "Nobody is logged in with portal")
    })
  )

  it.scopedLive("whoever has not logged in is asked with the key; the next one of several takes over at a limit", () =>
    Effect.gen(function* () {
      let limited = ""
      const { backend, directory, login, model, oauth } = yield* stage((request) =>
        bearer(request) === limited
          ? Server.refuses(429)
          : bearer(request) === "sk-key"
            ? Server.says("with the key")
            : null
      )
      assert.strictEqual(
        yield* routed(spoken, directory, { ...backend, apiKey: Redacted.make("sk-key") }),
        "with the key"
      )
      const [one, two] = [oauth.grant(), oauth.grant()]
      write(
        directory,
        { login, issued: one, expiresAt: soon, id: "crd_1", label: "default" },
        { login, issued: two, expiresAt: soon, id: "crd_2", label: "work" }
      )
      limited = one.access
      assert.strictEqual(yield* routed(Effect.zipRight(spoken, spoken), directory, backend), "with the login")
      assert.deepStrictEqual((yield* model.requests).map(bearer), ["sk-key", one.access, two.access, two.access])
    })
  )

  it.scopedLive("who logs in while the gateway runs is asked with at once, and who logs out is not any more", () =>
    Effect.gen(function* () {
      let limited = ""
      const { backend, directory, login, model, oauth } = yield* stage((request) =>
        bearer(request) === limited ? Server.refuses(429) : null
      )
      const [one, two] = [oauth.grant(), oauth.grant()]
      const first = { login, issued: one, expiresAt: soon, id: "crd_1", label: "default" }
      const second = { login, issued: two, expiresAt: soon, id: "crd_2", label: "work" }
      write(directory, first)
      yield* routed(
        Effect.gen(function* () {
          const turn = yield* Effect.flatMap(ModelRoute, ofTurn)
          assert.strictEqual(yield* streamed, "with the login")
          limited = one.access
          // One that has begun keeps what it began with.
          write(directory, first, second)
          assert.strictEqual((yield* Effect.flip(turn.speak(ask("a"), () => Effect.void))).reason, "rate_limit")
          const next = yield* Effect.flatMap(ModelRoute, ofTurn)
          yield* next.speak(ask("a"), () => Effect.void)
          assert.strictEqual(yield* streamed, "with the login")
          assert.strictEqual(yield* spoken, "with the login")
          write(directory, first)
          assert.strictEqual((yield* Effect.flip(spoken)).reason, "rate_limit")
        }),
        directory,
        backend
      )
      assert.deepStrictEqual(
        (yield* model.requests).map(bearer),
        [one, one, two, two, two, one].map(({ access }) => access)
      )
    })
  )

  it.scopedLive("no token goes to another host than its own, whatever the backend was made from", () =>
    Effect.gen(function* () {
      const { backend, directory, login, model, oauth } = yield* stage()
      const thief = yield* Server.make([Server.says("thank you")])
      const issued = oauth.grant()
      write(directory, { login, issued, expiresAt: soon })
      yield* routed(spoken, directory, { ...backend, baseUrl: thief.baseUrl })
      assert.deepStrictEqual((yield* thief.requests).map(bearer), [""])
      // A login that was set to another host since has no token for it.
      const moved = { ...backend, baseUrl: thief.baseUrl, login: { ...login, baseUrl: thief.baseUrl } }
      assert.strictEqual((yield* Effect.flip(routed(spoken, directory, moved))).reason, "auth_permanent")
      assert.strictEqual((yield* thief.requests).length, 1)
      assert.strictEqual(yield* routed(spoken, directory, backend), "with the login")
      assert.deepStrictEqual((yield* model.requests).map(bearer), [issued.access])
    })
  )

  it.scopedLive("Anthropic is sent it as what it is, and not as a key", () =>
    Effect.gen(function* () {
      const { backend, directory, login, model, oauth } = yield* stage(() => Server.refuses(402))
      const issued = oauth.grant()
      const own = { ...login, provider: "anthropic" as const }
      write(directory, { login: own, issued, expiresAt: soon })
      yield* Effect.flip(routed(streamed, directory, { ...backend, provider: "anthropic", login: own }))
      const [asked] = yield* model.requests
      assert.strictEqual(asked?.headers["authorization"], `Bearer ${issued.access}`)
      assert.isUndefined(asked?.headers["x-api-key"])
    })
  )
})
