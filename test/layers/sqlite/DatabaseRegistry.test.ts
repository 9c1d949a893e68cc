import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import path from "node:path"
import { DatabaseRegistry, layer, shared } from "../../../src/layers/sqlite/DatabaseRegistry.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as Turn from "../../../src/fibers/Turn.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as turns from "../../contract/turns.js"
import { folder } from "./temporary.js"

const put = (key: string) =>
  Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, '')`))

const keys = (database: typeof Database.Service) =>
  Effect.map(
    database.read("test", (sql) => sql<{ key: string }>`SELECT key FROM meta ORDER BY key`),
    (rows) => rows.map(({ key }) => key)
  )

/** A holder that lets go on demand. */
const held = (file: string) =>
  Effect.gen(function* () {
    const registry = yield* DatabaseRegistry
    const scope = yield* Scope.make()
    const database = yield* Scope.extend(registry.acquire({ file }), scope)
    return { database, letGo: Scope.close(scope, Exit.void) }
  })

const standing = Effect.flatMap(DatabaseRegistry, (registry) => registry.standing)

const replace = (file: string): void => {
  copyFileSync(file, `${file}.other`)
  renameSync(`${file}.other`, file)
  for (const name of ["-wal", "-shm"]) rmSync(`${file}${name}`, { force: true })
}

const withRegistry = <A, E>(use: (file: string, home: string) => Effect.Effect<A, E, DatabaseRegistry | Scope.Scope>) =>
  Effect.flatMap(folder, (made) => use(path.join(made, "home", "state.db"), path.join(made, "home"))).pipe(
    Effect.provide(layer),
    Effect.provide(Logger.remove(Logger.defaultLogger))
  )

describe("the registry of open databases", () => {
  it.scoped("gives the same file to everybody, whichever way leads to it, and closes it with the last", () =>
    withRegistry((file, home) =>
      Effect.gen(function* () {
        const one = yield* held(file)
        symlinkSync(home, `${home}-link`)
        symlinkSync(file, path.join(home, "link.db"))
        const others = [
          yield* held(path.join(`${home}-link`, "state.db")),
          yield* held(path.join(home, "link.db")),
          yield* held(path.join(home, "..", "home", "state.db"))
        ]
        for (const other of others) assert.strictEqual(other.database, one.database)
        assert.deepStrictEqual(yield* standing, { live: 1, retired: 0, holders: 4 })
        for (const other of others) yield* other.letGo
        yield* one.database.write("test", put("still open"))
        yield* one.letGo
        assert.deepStrictEqual(yield* standing, { live: 0, retired: 0, holders: 0 })
        const error = yield* Effect.flip(one.database.write("test", put("closed")))
        assert.include(error.message, "closed")
        const again = yield* held(file)
        assert.notStrictEqual(again.database, one.database)
        assert.deepStrictEqual(yield* keys(again.database), ["still open"])
        yield* again.letGo
      })
    )
  )

  it.scoped("who asks while it is being opened waits for that opening", () =>
    withRegistry((file) =>
      Effect.gen(function* () {
        const all = yield* Effect.all(
          Array.from({ length: 20 }, () => held(file)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(new Set(all.map(({ database }) => database)).size, 1)
        assert.deepStrictEqual(yield* standing, { live: 1, retired: 0, holders: 20 })
        yield* Effect.forEach(all, ({ letGo }) => letGo, { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* standing, { live: 0, retired: 0, holders: 0 })
      })
    )
  )

  it.scoped(
    "a replaced file retires the old generation: its holders keep it and may not write, the next has the new one",
    () =>
      withRegistry((file) =>
        Effect.gen(function* () {
          const old = yield* held(file)
          const second = yield* held(file)
          yield* old.database.write("test", put("old"))
          replace(file)
          const fresh = yield* held(file)
          assert.notStrictEqual(fresh.database, old.database)
          assert.deepStrictEqual(yield* standing, { live: 1, retired: 1, holders: 3 })
          assert.strictEqual((yield* Effect.flip(old.database.write("test", put("lost"))))._tag, "StateDbReplaced")
          assert.strictEqual((yield* Effect.flip(second.database.write("test", put("lost"))))._tag, "StateDbReplaced")
          assert.deepStrictEqual(yield* keys(old.database), ["old"])
          yield* fresh.database.write("test", put("new"))
          yield* old.letGo
          assert.deepStrictEqual(yield* standing, { live: 1, retired: 1, holders: 2 })
          yield* second.letGo
          assert.deepStrictEqual(yield* standing, { live: 1, retired: 0, holders: 1 })
          assert.include(yield* keys(fresh.database), "new")
          yield* fresh.letGo
        })
      )
  )

  it.scoped("a failed opening leaves nothing behind: the next one opens anew", () =>
    withRegistry((file, home) =>
      Effect.gen(function* () {
        mkdirSync(home)
        writeFileSync(file, "no database ".repeat(1_000))
        for (let i = 0; i < 3; i++) assert.strictEqual((yield* Effect.flip(held(file)))._tag, "StateUnopened")
        assert.deepStrictEqual(yield* standing, { live: 0, retired: 0, holders: 0 })
        rmSync(file)
        const found = yield* held(file)
        yield* found.database.write("test", put("fine"))
        yield* found.letGo
      })
    )
  )

  it.scoped("who gives up while it is opened takes it from nobody", () =>
    withRegistry((file) =>
      Effect.gen(function* () {
        const hasty = yield* Effect.fork(held(file))
        const patient = yield* Effect.fork(held(file))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(hasty)
        const found = yield* Fiber.join(patient)
        yield* found.database.write("test", put("fine"))
        yield* found.letGo
        const left = yield* standing
        assert.isAtMost(left.holders, 1)
      })
    )
  )

  it.scoped("the end closes live and retired ones and says how many; letting go afterwards does nothing", () =>
    withRegistry((file, home) =>
      Effect.gen(function* () {
        const registry = yield* DatabaseRegistry
        const old = yield* held(file)
        replace(file)
        const fresh = yield* held(file)
        const other = yield* held(path.join(home, "other.db"))
        assert.strictEqual(yield* registry.closeAll, 3)
        assert.deepStrictEqual(yield* standing, { live: 0, retired: 0, holders: 0 })
        for (const { database, letGo } of [old, fresh, other]) {
          assert.strictEqual((yield* Effect.flip(database.write("test", put("late"))))._tag, "StateUnknown")
          yield* letGo
        }
        assert.strictEqual(yield* registry.closeAll, 0)
      })
    )
  )

  it.scoped("opened inside a turn, it carries nothing of the turn", () =>
    withRegistry((file) =>
      Effect.gen(function* () {
        const facts = yield* Turn.enter(turns.turn({ id: "first", chatId: "A" }))(held(file))
        const seen = yield* facts.database.write(
          "test",
          Effect.map(Turn.peek, ({ identity }) => identity.chatId)
        )
        assert.strictEqual(seen._tag, "Unset")
        yield* facts.letGo
      })
    )
  )

  it.scoped("as a layer it is shared by all who are built on one registry", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "home", "state.db")
      const database = yield* Effect.gen(function* () {
        const [one, other] = yield* Effect.all([
          Effect.scoped(Effect.map(Layer.build(shared({ file })), () => null)),
          Effect.provide(Database, shared({ file }))
        ])
        assert.isNull(one)
        return other
      }).pipe(Effect.provide(layer))
      assert.strictEqual((yield* Effect.flip(database.write("test", put("late"))))._tag, "StateUnknown")
      yield* Effect.scoped(SqliteDatabase.open({ file }))
    })
  )
})
