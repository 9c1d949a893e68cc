import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Option, TestClock } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdirSync, statSync } from "node:fs"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as GatewayLease from "../../../src/layers/sqlite/GatewayLease.js"
import * as ProcessTable from "../../../src/layers/node/process/ProcessTable.js"
import { GatewayLease as Service } from "../../../src/services/operation/GatewayLease.js"
import { GatewayLock, HomeInUse } from "../../../src/services/operation/GatewayLock.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { settle } from "../delivery/support.js"
import { folder } from "./temporary.js"

const lock = (home: string) => Layer.succeed(GatewayLock, { home, holdToken: () => Effect.void })

const taking = (home: string) => Effect.scoped(Layer.build(GatewayLease.layer.pipe(Layer.provide(lock(home)))))

const sleeper = Effect.acquireRelease(
  Effect.sync(() => spawn("sleep", ["300"], { stdio: "ignore" })),
  (child) => Effect.sync(() => void child.kill("SIGKILL"))
)

/** The row as it is while `layer` lives, with the process put into it that is meant. */
const leaving = (home: string, pid: number, began: string) =>
  Effect.gen(function* () {
    const database = yield* Database
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* Layer.build(GatewayLease.layer.pipe(Layer.provide(lock(home))))
        const rows = yield* database.read("test", (sql) => sql`SELECT owner FROM leases WHERE name = 'home'`)
        const owner = JSON.parse(String(rows[0]?.["owner"])) as object
        yield* database.write(
          "test",
          Effect.flatMap(
            Transaction,
            (sql) => sql`UPDATE leases SET owner = ${JSON.stringify({ ...owner, pid, began })} WHERE name = 'home'`
          )
        )
      })
    )
  })

const withHome = <A, E>(test: (home: string) => Effect.Effect<A, E, Database>) =>
  Effect.gen(function* () {
    const home = path.join(yield* folder, "home")
    mkdirSync(home)
    return yield* test(home).pipe(Effect.provide(SqliteDatabase.layer({ file: path.join(home, "state.db") })))
  })

describe("GatewayLease", () => {
  it.scopedLive("a home whose gateway lives is refused, and free at once when that was killed", () =>
    Effect.gen(function* () {
      const child = yield* sleeper
      const pid = child.pid ?? 0
      const began = (yield* ProcessTable.find(pid))?.startedAt ?? ""
      yield* withHome((home) =>
        Effect.gen(function* () {
          yield* leaving(home, pid, began)
          assert.strictEqual(yield* GatewayLease.holder(home), pid)
          const exit = yield* Effect.exit(taking(home))
          assert.isTrue(Exit.isFailure(exit) && exit.cause._tag === "Fail" && exit.cause.error instanceof HomeInUse)
          child.kill("SIGKILL")
          yield* Effect.promise(() => once(child, "exit"))
          assert.isNull(yield* GatewayLease.holder(home))
          yield* taking(home)
          assert.isNull(yield* GatewayLease.holder(home))
        })
      )
    })
  )

  it.scopedLive("a pid that is another process's by now holds nothing, nor does the row in a copy of the home", () =>
    Effect.gen(function* () {
      const child = yield* sleeper
      const pid = child.pid ?? 0
      const began = (yield* ProcessTable.find(pid))?.startedAt ?? ""
      yield* withHome((home) =>
        Effect.gen(function* () {
          yield* leaving(home, pid, `${began}0`)
          assert.isNull(yield* GatewayLease.holder(home))
          yield* leaving(home, pid, began)
          const copy = `${home}-copy`
          cpSync(home, copy, { recursive: true })
          assert.notStrictEqual(statSync(copy).ino, statSync(home).ino)
          assert.isNull(yield* GatewayLease.holder(copy))
          assert.strictEqual(yield* GatewayLease.holder(home), pid)
        })
      )
    })
  )

  it.scoped("who had it sees within a minute that another has taken it, also when that one has gone since", () =>
    Effect.forEach([`UPDATE leases SET owner = '{}'`, "DELETE FROM leases"], (taken) =>
      withHome((home) =>
        Effect.gen(function* () {
          const database = yield* Database
          const lease = yield* Service
          const watching = yield* Effect.fork(lease.lost)
          const minutes = (count: number) =>
            Effect.repeatN(Effect.zipRight(TestClock.adjust("1 minutes"), settle), count - 1)
          yield* minutes(5)
          assert.isTrue(Option.isNone(yield* Fiber.poll(watching)))
          yield* database.write(
            "test",
            Effect.flatMap(Transaction, (sql) => sql.unsafe(`${taken} WHERE name = 'home'`))
          )
          yield* minutes(1)
          assert.isTrue(Option.isSome(yield* Fiber.poll(watching)))
        }).pipe(Effect.provide(GatewayLease.layer.pipe(Layer.provide(lock(home)))))
      )
    )
  )
})
