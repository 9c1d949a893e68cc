import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import * as PresenceLayer from "../../../src/layers/operation/Presence.js"
import * as GatewayAddressRow from "../../../src/layers/sqlite/GatewayAddress.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import { ApiServer } from "../../../src/services/api/ApiServer.js"
import { GatewayAddress, GatewayAddresses } from "../../../src/services/operation/GatewayAddress.js"
import { Presence } from "../../../src/services/operation/Presence.js"

const url = "http://127.0.0.1:4711"
const port = Layer.succeed(ApiServer, { host: "127.0.0.1", port: 4711, url })
const presence = PresenceLayer.layer.pipe(Layer.provide(port))
const addresses = GatewayAddressRow.layer.pipe(Layer.provide(SqliteDatabase.layerMemory))

/** Of the database in this file, opened for it and closed again. */
const within = <A, E>(file: string, self: Effect.Effect<A, E, GatewayAddresses>) =>
  Effect.provide(self, GatewayAddressRow.layer.pipe(Layer.provide(SqliteDatabase.layer({ file }))))

const died = new GatewayAddress({
  pid: process.pid + 1,
  url: "http://127.0.0.1:1",
  version: "0.0.1",
  startedAt: 5,
  state: "running"
})

const current = Effect.flatMap(GatewayAddresses, (all) => all.current)

describe("Presence", () => {
  it.effect("is found while it starts, and knows whether the one before ended by itself", () =>
    Effect.gen(function* () {
      const first = yield* Presence
      assert.isFalse(first.unclean)
      assert.deepInclude(yield* current, { pid: process.pid, url, state: "starting" })
      const address = yield* first.begin
      assert.deepInclude(address, { pid: process.pid, url, state: "running" })
      assert.deepStrictEqual(yield* current, address)
      const second = yield* Effect.scoped(Effect.provide(Presence, Layer.fresh(presence)))
      assert.isTrue(second.unclean)
    }).pipe(Effect.provide(presence), Effect.provide(addresses))
  )

  it.effect("leaves what it found when the start fails, and what is the end's to withdraw when it did not", () =>
    Effect.gen(function* () {
      const start = <A, E>(self: Effect.Effect<A, E, Presence>) =>
        Effect.exit(Effect.scoped(Effect.provide(self, Layer.fresh(presence))))
      assert.isTrue(Exit.isFailure(yield* start(Effect.zipRight(Presence, Effect.fail("no token")))))
      assert.isNull(yield* current)
      yield* Effect.flatMap(GatewayAddresses, (all) => all.publish(died))
      assert.isTrue(Exit.isFailure(yield* start(Effect.zipRight(Presence, Effect.fail("no token")))))
      assert.deepStrictEqual(yield* current, died)
      yield* start(Effect.flatMap(Presence, ({ begin }) => begin))
      assert.deepInclude(yield* current, { pid: process.pid, state: "running" })
    }).pipe(Effect.provide(addresses))
  )

  it.live("is of its own home: a copied one has no gateway", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(path.join(tmpdir(), "presence-"))
      const [file, copy] = [path.join(folder, "state.db"), path.join(folder, "copy.db")]
      yield* within(
        file,
        Effect.flatMap(GatewayAddresses, (all) => all.publish(died))
      )
      copyFileSync(file, copy)
      assert.deepStrictEqual(yield* within(file, current), died)
      assert.isNull(yield* within(copy, current))
      rmSync(folder, { recursive: true })
    })
  )
})
