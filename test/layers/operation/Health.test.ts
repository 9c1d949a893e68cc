import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import * as Registry from "../../../src/layers/adapter/AdapterRegistry.js"
import * as DrainLayer from "../../../src/layers/operation/Drain.js"
import * as HealthLayer from "../../../src/layers/operation/Health.js"
import { AdapterRegistry } from "../../../src/services/adapter/AdapterRegistry.js"
import { Conversations } from "../../../src/services/conversation/Conversations.js"
import { Drain } from "../../../src/services/operation/Drain.js"
import { Health } from "../../../src/services/operation/Health.js"
import { platform } from "../delivery/support.js"

const conversations = Layer.succeed(
  Conversations,
  Conversations.of({
    accept: () => Effect.succeed(null),
    offer: () => Effect.void,
    reserve: () => Effect.succeed(true),
    release: () => Effect.void,
    resume: () => Effect.void,
    stop: () => Effect.succeed(false),
    runningPlaces: Effect.succeed([]),
    views: Effect.succeed([{ sessionKey: "k", phase: "running", turnId: "t", startedAt: 5, queued: 2 }]),
    recover: () => Effect.succeed({ resumed: 0, begun: 0, suspended: 0 }),
    parkWaiting: Effect.never,
    interruptAll: Effect.void
  })
)

const health = HealthLayer.layer({
  database: Effect.succeed(null),
  timezone: "UTC",
  workingDirectory: null,
  command: { program: "hermes", options: "" },
  version: "9.9.9",
  jobs: Effect.succeed({ scheduled: 3, next: 60_000, failing: 1 }),
  questions: Effect.succeed(1),
  paused: Effect.succeed(true),
  model: Effect.succeed({ provider: "offline", name: "offline", trouble: null })
}).pipe(Layer.provideMerge(Layer.mergeAll(DrainLayer.layer, Registry.layer, conversations)))

describe("Health", () => {
  it.scoped("counts what runs, and says how each platform is", () =>
    Effect.gen(function* () {
      const drain = yield* Drain
      const registry = yield* AdapterRegistry
      const asked = yield* Health
      const telegram = platform("telegram")
      yield* registry.register(telegram.adapter)
      telegram.state = { _tag: "Failed", error: "bad token", remedy: "set TELEGRAM_BOT_TOKEN" }
      yield* drain.open("turn", "a")
      yield* drain.open("turn", "b")
      yield* drain.open("delegate", "c")
      yield* asked.announce("http://127.0.0.1:1")
      const status = yield* asked.status
      assert.deepStrictEqual(status.work, { turns: 2, cron: 0, api: 0, delegates: 1, processes: 0 })
      assert.deepStrictEqual(status.platforms, [
        { name: "telegram", state: "failed", error: "bad token: set TELEGRAM_BOT_TOKEN" }
      ])
      assert.deepInclude(status, { questions: 1, jobs: { scheduled: 3, next: 60_000, failing: 1 }, paused: true })
      assert.include(status.gateway, { url: "http://127.0.0.1:1", version: "9.9.9", running: true })
      assert.strictEqual((yield* asked.detail).conversations[0]?.queued, 2)
    }).pipe(Effect.provide(health))
  )

  it.scoped("tells its age, and that it drains", () =>
    Effect.gen(function* () {
      const asked = yield* Health
      yield* TestClock.adjust("90 seconds")
      assert.deepStrictEqual(yield* asked.brief, { status: "ok", version: "9.9.9", uptime: 90 })
      yield* (yield* Drain).begin({ restart: false })
      assert.strictEqual((yield* asked.brief).status, "draining")
    }).pipe(Effect.provide(health))
  )
})
