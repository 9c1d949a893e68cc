import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Redacted } from "effect"
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import path from "node:path"
import * as SqliteGatewayAddress from "../../../src/layers/sqlite/GatewayAddress.js"
import * as SqliteGatewayLock from "../../../src/layers/sqlite/GatewayLock.js"
import { GatewayAddress, GatewayAddresses } from "../../../src/services/operation/GatewayAddress.js"
import { GatewayLock, HomeInUse, LockUnusable, TokenInUse } from "../../../src/services/operation/GatewayLock.js"
import { start } from "./processes.js"
import { folder, layerMemory } from "./temporary.js"

const lock = (home: string, lockDirectory = path.join(home, "locks")) =>
  Effect.map(
    Layer.build(SqliteGatewayLock.layer({ home, lockDirectory })),
    (context) => context.unsafeMap.get(GatewayLock.key) as typeof GatewayLock.Service
  )

const token = Redacted.make("123:secret")

const failureOf = <E>(exit: Exit.Exit<unknown, E>): E | null =>
  Exit.isFailure(exit) && exit.cause._tag === "Fail" ? exit.cause.error : null

describe("GatewayLock", () => {
  it.scopedLive("a home has one gateway, until its scope closes", () =>
    Effect.gen(function* () {
      const home = path.join(yield* folder, "home")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* lock(home)
          const [waited, exit] = yield* Effect.timed(Effect.exit(Effect.scoped(lock(home))))
          assert.instanceOf(failureOf(exit), HomeInUse)
          assert.isAtLeast(Duration.toMillis(waited), 1_900)
        })
      )
      yield* Effect.scoped(lock(home))
      assert.strictEqual((statSync(path.join(home, "gateway.lock")).mode & 0o777).toString(8), "600")
    })
  )

  it.scopedLive("one that lets go within two seconds is waited for", () =>
    Effect.gen(function* () {
      const home = path.join(yield* folder, "home")
      const first = yield* Effect.fork(Effect.scoped(Effect.zipRight(lock(home), Effect.sleep(500))))
      yield* Effect.sleep(50)
      yield* Effect.scoped(lock(home))
      yield* first.await
    })
  )

  it.scopedLive("a token has one gateway on the machine, and only its hash is written", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const locks = path.join(made, "locks")
      const one = yield* lock(path.join(made, "one"), locks)
      const other = yield* lock(path.join(made, "other"), locks)
      yield* one.holdToken("telegram", token)
      assert.instanceOf(failureOf(yield* Effect.exit(Effect.scoped(other.holdToken("telegram", token)))), TokenInUse)
      yield* other.holdToken("telegram", Redacted.make("456:other"))
      yield* other.holdToken("discord", token)
      const names = readdirSync(locks)
      assert.strictEqual(names.length, 3)
      for (const name of names) {
        assert.match(name, /^(telegram|discord)-[0-9a-f]{16}\.lock$/)
        assert.strictEqual(statSync(path.join(locks, name)).size, 0)
      }
    })
  )

  it.scopedLive("it is free at once after kill -9 of its holder", () =>
    Effect.gen(function* () {
      const home = path.join(yield* folder, "home")
      const child = yield* start(path.join(home, "state.db"), "lock")
      assert.deepStrictEqual(child.lines(), ["ready"])
      const refused = yield* Effect.exit(Effect.scoped(lock(home)))
      assert.instanceOf(failureOf(refused), HomeInUse)
      yield* child.kill
      const [waited, held] = yield* Effect.timed(lock(home))
      yield* held.holdToken("telegram", token)
      assert.isBelow(Duration.toMillis(waited), 1_900)
    })
  )

  it.scopedLive("a lock file that was deleted is made anew by its holder, and refuses the next as before", () =>
    Effect.gen(function* () {
      const home = path.join(yield* folder, "home")
      const file = path.join(home, "gateway.lock")
      yield* lock(home)
      rmSync(file)
      yield* Effect.sync(() => existsSync(file)).pipe(
        Effect.zipLeft(Effect.sleep("20 millis")),
        Effect.repeat({ until: (there) => there }),
        Effect.timeout("20 seconds")
      )
      assert.instanceOf(failureOf(yield* Effect.exit(Effect.scoped(lock(home)))), HomeInUse)
    })
  )

  it.scopedLive("a lock file that cannot be used is told apart from one that is held", () =>
    Effect.gen(function* () {
      const made = yield* folder
      writeFileSync(path.join(made, "gateway.lock"), "x".repeat(4_096))
      const error = failureOf(yield* Effect.exit(Effect.scoped(lock(made))))
      assert.instanceOf(error, LockUnusable)
    })
  )
})

describe("GatewayAddresses", () => {
  it.effect("the last gateway's address stands until it takes it away itself", () =>
    Effect.gen(function* () {
      const addresses = yield* GatewayAddresses
      assert.isNull(yield* addresses.current)
      const address = (pid: number, state: "starting" | "running") =>
        new GatewayAddress({ pid, url: "http://127.0.0.1:8642", version: "1.0.0", startedAt: 5, state })
      yield* addresses.publish(address(1, "starting"))
      yield* addresses.publish(address(2, "running"))
      yield* addresses.withdraw(1)
      assert.deepStrictEqual(yield* addresses.current, address(2, "running"))
      yield* addresses.withdraw(2)
      assert.isNull(yield* addresses.current)
    }).pipe(Effect.provide(Layer.provide(SqliteGatewayAddress.layer, layerMemory)))
  )
})
