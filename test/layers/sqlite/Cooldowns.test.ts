/** What a process has learned about keys is known to the next one and to those beside it. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, TestClock } from "effect"
import { readFileSync, readdirSync } from "node:fs"
import path from "node:path"
import * as Memory from "../../../src/layers/models/Cooldowns.js"
import * as AccessTokens from "../../../src/layers/models/oauth/AccessTokens.js"
import * as Route from "../../../src/layers/models/Route.js"
import { seatOf } from "../../../src/layers/models/Seats.js"
import * as Stored from "../../../src/layers/sqlite/Cooldowns.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import { Cooldowns, nameOf, type Seat } from "../../../src/services/agent/Cooldowns.js"
import { ModelRoute } from "../../../src/services/agent/ModelRoute.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as Server from "../../../src/testing/ModelServer.js"
import * as Testing from "../../../src/testing/Settings.js"
import { ask, backendOf, collect, edges, textOf } from "../models/fixture.js"
import { folder } from "./temporary.js"

const [one, two] = ["sk-key-number-one-111111", "sk-key-number-two-222222"] as const

const seat = (credential: string): Seat => ({ provider: "openai", model: "m", baseUrl: null, credential })

const home = Effect.map(folder, (made) => path.join(made, "home", "state.db"))

/** What a process of its own would have of this file. */
const processOf = (file: string) => Stored.layer.pipe(Layer.provideMerge(Layer.orDie(SqliteDatabase.layer({ file }))))

const until = (who: string) =>
  Effect.flatMap(Cooldowns, ({ current }) => Effect.map(current, (all) => all.get(nameOf(seat(who)))))

const begun = (who: string, millis: number) =>
  Effect.flatMap(Cooldowns, ({ begin }) => begin(seat(who), millis, "rate_limit"))

/** Which keys a process asks with, whose first key is at its limit. */
const keysAskedWith = (cooldowns: Layer.Layer<Cooldowns>) =>
  Effect.gen(function* () {
    const server = yield* Server.make((request) =>
      request.headers["authorization"] === `Bearer ${one}` ? Server.refuses(429) : Server.says("ok")
    )
    const model = backendOf("http://model.invalid/v1", { apiKey: Redacted.make(one), spareKeys: [Redacted.make(two)] })
    const settings = Testing.settings("/nowhere", {
      model: { ...model, baseUrl: server.baseUrl },
      agent: { apiMaxRetries: 0 }
    })
    const life = Effect.flatMap(ModelRoute, (route) => collect(route, ask("a"))).pipe(
      Effect.provide(
        Route.layer.pipe(
          Layer.provide([
            Layer.mergeAll(edges, NodeFileSystem.layer, AccessTokens.layerNone),
            cooldowns,
            Layer.succeed(Settings, settings)
          ])
        )
      )
    )
    assert.strictEqual(textOf(yield* life), "ok")
    assert.strictEqual(textOf(yield* life), "ok")
    return (yield* server.requests).map(({ headers }) => (headers["authorization"] ?? "").replace("Bearer ", ""))
  }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))

describe("cooldowns in the home", () => {
  it.scopedLive(
    "the next process asks with the key that is not at its limit; one without a home asks with both again",
    () =>
      Effect.gen(function* () {
        const file = yield* home
        assert.deepStrictEqual(yield* keysAskedWith(processOf(file)), [one, two, two])
        assert.deepStrictEqual(yield* keysAskedWith(Memory.layerMemory), [one, two, one, two])
        const written = readdirSync(path.dirname(file)).map((name) =>
          readFileSync(path.join(path.dirname(file), name), "latin1")
        )
        assert.include(written.join(""), "openai-compatible")
        assert.notInclude(written.join(""), "sk-key")
      })
  )

  it.scoped("two processes hear of each other at once; the longer one counts; what is over is gone", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000)
      const file = yield* home
      const [here, there] = [yield* Layer.build(processOf(file)), yield* Layer.build(processOf(file))]
      yield* Effect.provide(begun("a", 60_000), here)
      assert.strictEqual(yield* Effect.provide(until("a"), there), 1_060_000)
      yield* Effect.provide(begun("a", 3_600_000), there)
      yield* Effect.provide(begun("a", 1_000), here)
      for (const process of [here, there]) assert.strictEqual(yield* Effect.provide(until("a"), process), 4_600_000)
      yield* TestClock.adjust("1 hour")
      for (const process of [here, there]) assert.isUndefined(yield* Effect.provide(until("a"), process))
      yield* Effect.provide(begun("b", 1_000), here)
      const rows = Effect.flatMap(Database, (db) => db.read("test", (sql) => sql`SELECT seat FROM cooldowns`))
      assert.strictEqual((yield* Effect.provide(rows, here)).length, 1)
    })
  )

  it.scoped("one that is lifted is lifted for those that read the home; what it failed with is told", () =>
    Effect.gen(function* () {
      const file = yield* home
      const [here, there] = [yield* Layer.build(processOf(file)), yield* Layer.build(processOf(file))]
      yield* Effect.provide(begun("a", 60_000), here)
      yield* Effect.provide(begun("b", 60_000), here)
      const [first] = yield* Effect.provide(
        Effect.flatMap(Cooldowns, ({ list }) => list),
        there
      )
      assert.deepInclude(first, { seat: seat("a"), reason: "rate_limit" })
      const lift = Effect.flatMap(Cooldowns, ({ lift }) => lift(({ credential }) => credential === "a"))
      assert.strictEqual(yield* Effect.provide(lift, here), 1)
      assert.isUndefined(yield* Effect.provide(until("a"), here))
      assert.isNumber(yield* Effect.provide(until("b"), there))
      assert.strictEqual(yield* Effect.provide(lift, here), 0)
    })
  )

  it.scoped("a row of a clock that was ahead keeps nobody waiting, and one that makes no sense hides no other", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000_000)
      const here = yield* Layer.build(processOf(yield* home))
      yield* Effect.provide(begun("a", 60_000), here)
      const row = (name: string, since: number) =>
        Effect.flatMap(Database, (db) =>
          db.write(
            "test",
            Effect.flatMap(
              Transaction,
              (sql) => sql`INSERT INTO cooldowns VALUES (${name}, ${since}, 9999999999999, 'auth')`
            )
          )
        ).pipe(Effect.provide(here))
      yield* row(nameOf(seat("ahead")), 5_000_000_000)
      yield* row("no seat", 0)
      yield* row(nameOf(seat("behind")), 0)
      assert.isUndefined(yield* Effect.provide(until("ahead"), here))
      assert.isNumber(yield* Effect.provide(until("behind"), here))
      assert.isNumber(yield* Effect.provide(until("a"), here))
    }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it.scopedLive("a database that cannot be written keeps it in this process", () =>
    Effect.gen(function* () {
      const file = yield* home
      const here = yield* Layer.build(processOf(file))
      yield* Effect.provide(
        Effect.flatMap(Database, (db) =>
          db.write(
            "test",
            Effect.flatMap(Transaction, (sql) => sql`DROP TABLE cooldowns`)
          )
        ),
        here
      )
      yield* Effect.provide(begun("a", 60_000), here)
      assert.isNumber(yield* Effect.provide(until("a"), here))
    }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it("a seat holds nothing of a key, nor of what an address may hold", () => {
    const backend = backendOf("https://me:hunter2@models.example/v1/?key=abc", { apiKey: Redacted.make(one) })
    assert.deepStrictEqual(Object.keys(seatOf(backend)), ["provider", "model", "baseUrl", "credential"])
    assert.strictEqual(seatOf(backend).baseUrl, "https://models.example/v1")
    assert.match(seatOf(backend).credential ?? "", /^key:[0-9a-f]{12}$/)
    assert.notStrictEqual(seatOf(backend).credential, seatOf({ ...backend, apiKey: Redacted.make(two) }).credential)
    assert.isNull(seatOf({ ...backend, apiKey: null }).credential)
  })
})
