import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, layer } from "@effect/vitest"
import { Chunk, Effect, Either, Fiber, Layer, Redacted, Stream } from "effect"
import * as Client from "../../../src/layers/http/Client.js"
import { ApiServer } from "../../../src/services/api/ApiServer.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { key, Play, server } from "./support.js"

const client = (environment: Record<string, string> = {}, shown = key) =>
  Effect.flatMap(ApiServer, ({ url }) => Client.make({ url, key: Redacted.make(shown), environment }))

layer(Layer.merge(server(), FetchHttpClient.layer), { excludeTestServices: true })("Client", (it) => {
  it.effect("calls what the definition names, with its types", () =>
    Effect.gen(function* () {
      const api = yield* client()
      const health = yield* api.liveness.health({})
      assert.strictEqual(health.version, "1.2.3")
      const session = yield* api.sessions.create({ payload: { title: "By the client", surface: "cli" } })
      assert.isNumber(session.startedAt)
      const listed = yield* api.sessions.list({ urlParams: { limit: 500 } })
      assert.include(
        listed.map((one) => one.id),
        session.id
      )
      const said = yield* api.sessions.chat({
        path: { id: session.id },
        payload: {
          text: "hello",
          surface: "cli",
          messageId: null,
          uiSessionId: null,
          once: true,
          workingDirectory: null,
          files: []
        }
      })
      assert.strictEqual(said.text, "You said: hello")
      const metrics = yield* api.operation.metrics({})
      assert.include(metrics, "hermes_info")
    })
  )

  it.effect(
    "leads nowhere else by a name that is an address's own: what it names is not there, and nothing is paused",
    () =>
      Effect.gen(function* () {
        const api = yield* client()
        for (const id of [".", ".."]) {
          for (const call of [
            api.jobs.pause({ path: { id }, payload: { reason: null } }),
            api.sessions.get({ path: { id } }),
            Stream.runDrain(api.chat(id, { text: "hello", surface: "cli" }))
          ]) {
            const refused = yield* Effect.either(call)
            assert.include(Either.isLeft(refused) ? refused.left : null, { _tag: "ApiError", code: "not_found" })
          }
        }
        const status = yield* api.operation.status({})
        assert.isFalse(status.paused)
        for (const name of ["...", ".x", "~.."]) {
          const refused = yield* Effect.either(api.jobs.get({ path: { id: name } }))
          assert.include(Either.isLeft(refused) ? refused.left.message : "", name)
        }
      })
  )

  it.effect("fails with the gateway's own error", () =>
    Effect.gen(function* () {
      const api = yield* client()
      const missing = yield* Effect.either(api.sessions.get({ path: { id: "no/such ☃" } }))
      assert.include(Either.isLeft(missing) ? missing.left : null, { _tag: "ApiError", status: 404, code: "not_found" })
      const stranger = yield* client({}, "wrong")
      const refused = yield* Effect.either(stranger.operation.status({}))
      assert.include(Either.isLeft(refused) ? refused.left : null, { _tag: "ApiError", status: 401 })
      const streamed = yield* Effect.either(Stream.runDrain(stranger.events()))
      assert.include(Either.isLeft(streamed) ? streamed.left : null, { _tag: "ApiError", status: 401 })
    })
  )

  it.effect("streams the events of a turn", () =>
    Effect.gen(function* () {
      const api = yield* client()
      const session = yield* api.sessions.create({ payload: { surface: "cli" } })
      const events = yield* Stream.runCollect(api.chat(session.id, { text: "çay ☕", surface: "cli" }))
      assert.deepStrictEqual(
        Chunk.toReadonlyArray(events).map((event) => event._tag),
        ["turn.started", "text.delta", "text.delta", "turn.ended"]
      )
      assert.deepInclude(Chunk.toReadonlyArray(events).at(-1), { text: "You said: çay ☕" })
    })
  )

  it.effect("hears what happens until it leaves", () =>
    Effect.gen(function* () {
      const api = yield* client()
      const activity = yield* Activity
      const listening = yield* Effect.fork(Stream.runCollect(Stream.take(api.events("s9"), 2)))
      const telling = yield* Effect.fork(
        Effect.forever(
          Effect.zipRight(
            activity.publish({ _tag: "session.changed", at: 1, sessionKey: "k", sessionId: "s9" }),
            Effect.sleep("5 millis")
          )
        )
      )
      const heard = yield* Fiber.join(listening)
      yield* Fiber.interrupt(telling)
      assert.strictEqual(Chunk.size(heard), 2)
    })
  )

  it.effect("forwards the turn that it was started in, and nothing else of the environment", () =>
    Effect.gen(function* () {
      const play = yield* Play
      play.answers.length = 0
      const inside = yield* client({
        HERMES_SESSION_CHAT_NAME: 'Çay "☕"',
        HERMES_SESSION_PLATFORM: "telegram",
        HERMES_CRON_SESSION: "1",
        PATH: "/bin",
        HERMES_HOME: "/h"
      })
      const session = yield* inside.sessions.create({ payload: { surface: "cli" } })
      yield* Stream.runDrain(inside.chat(session.id, { text: "?", surface: "cli" }))
      assert.strictEqual(play.accepted.at(-1)?.arrival.marker._tag, "Cron")
      const refused = yield* Effect.either(
        inside.approvals.answer({ path: { id: "x" }, payload: { approve: true, reason: null } })
      )
      assert.include(Either.isLeft(refused) ? refused.left : null, { _tag: "ApiError", status: 403 })
      const outside = yield* client({ PATH: "/bin", HERMES_HOME: "/h" })
      const missing = yield* Effect.either(
        outside.approvals.answer({ path: { id: "x" }, payload: { approve: true, reason: null } })
      )
      assert.include(Either.isLeft(missing) ? missing.left : null, { _tag: "ApiError", status: 404 })
    })
  )

  it.effect("puts events together however the connection cuts them", () =>
    Effect.gen(function* () {
      const text = ": beat\n\ndata: one\n\ndata: two ☕\n\n"
      for (let cut = 1; cut < text.length; cut++) {
        const pieces = Stream.make(text.slice(0, cut), text.slice(cut))
        const heard = yield* Stream.runCollect(Client.dataOf(pieces))
        assert.deepStrictEqual(Chunk.toReadonlyArray(heard), ["one", "two ☕"], `cut at ${cut}`)
      }
    })
  )
})
