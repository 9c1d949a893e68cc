/** What every layer that provides `Database` does. */
import { assert, describe, layer as suiteLayer } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Layer, Option, Ref, Schema } from "effect"
import * as Synchronous from "../../src/fibers/Synchronous.js"
import * as Turn from "../../src/fibers/Turn.js"
import { Database, Transaction } from "../../src/services/state/Database.js"
import { StateRowUnreadable, StateUnknown } from "../../src/services/state/StateError.js"
import * as turns from "../contract/turns.js"

class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

const put = (key: string, value = "v") =>
  Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, ${value})`))

const keys = (prefix: string) =>
  Effect.flatMap(Database, (database) =>
    Effect.map(
      database.read(
        "test",
        (sql) => sql<{ key: string }>`SELECT key FROM meta WHERE key LIKE ${`${prefix}%`} ORDER BY key`
      ),
      (rows) => rows.map((row) => row.key)
    )
  )

/** Each step as a fiber that has reached the queue: they share a commit. */
const together = <A, E>(writes: ReadonlyArray<Effect.Effect<A, E, Database>>) =>
  Effect.forEach(writes, (write) => Effect.exit(write), { concurrency: "unbounded" })

export const suite = (name: string, database: Layer.Layer<Database>) =>
  describe(`Database ${name}`, () => {
    suiteLayer(database)((it) => {
      it.effect("answers what the step answers, and it can be read", () =>
        Effect.gen(function* () {
          const db = yield* Database
          assert.strictEqual(yield* db.write("test", Effect.as(put("answer-1"), 42)), 42)
          assert.deepStrictEqual(yield* keys("answer-"), ["answer-1"])
        })
      )

      it.effect("a step that fails takes no other with it, and leaves nothing", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const exits = yield* together([
            db.write("test", put("fail-1")),
            db.write("test", Effect.zipRight(put("fail-2"), Effect.fail(new Refused()))),
            db.write("test", put("fail-3")),
            db.write("test", Effect.zipRight(put("fail-4"), put("fail-4"))),
            db.write("test", Effect.zipRight(put("fail-5"), Effect.dieMessage("a bug"))),
            db.write("test", put("fail-6"))
          ])
          assert.deepStrictEqual(yield* keys("fail-"), ["fail-1", "fail-3", "fail-6"])
          assert.deepStrictEqual(
            exits.map((exit) => Exit.isSuccess(exit)),
            [true, false, true, false, false, true]
          )
          assert.deepStrictEqual(exits[1], Exit.fail(new Refused()))
          const constraint = Exit.isFailure(exits[3]!) ? Cause.failureOption(exits[3].cause) : Option.none()
          assert.instanceOf(Option.getOrThrow(constraint), StateUnknown)
          assert.isTrue(Exit.isFailure(exits[4]!) && Cause.isDie(exits[4].cause))
        })
      )

      it.effect("a lone step that fails leaves nothing either", () =>
        Effect.gen(function* () {
          const db = yield* Database
          yield* Effect.exit(db.write("test", Effect.zipRight(put("alone-1"), Effect.fail(new Refused()))))
          yield* db.write("test", put("alone-2"))
          assert.deepStrictEqual(yield* keys("alone-"), ["alone-2"])
        })
      )

      it.effect("a step that waits is a defect, is undone and harms nobody, not even later", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const later = yield* Deferred.make<void>()
          const waits: ReadonlyArray<Effect.Effect<unknown>> = [
            Effect.sleep("1 second"),
            Deferred.await(later),
            Effect.promise(() => Promise.resolve()),
            Effect.uninterruptible(Deferred.await(later)),
            db.write("inner", put("wait-inner")).pipe(Effect.orDie)
          ]
          const exits = yield* together([
            db.write("test", put("wait-before")),
            ...waits.map((wait, index) =>
              db.write("test", Effect.zipRight(Effect.zipRight(put(`wait-${index}`), wait), put(`wait-late-${index}`)))
            ),
            db.write("test", put("wait-after"))
          ])
          yield* Deferred.succeed(later, undefined)
          yield* db.write("test", put("wait-next"))
          yield* Effect.yieldNow()
          yield* db.write("test", put("wait-next-2"))
          const found = yield* keys("wait-")
          assert.deepStrictEqual(
            found.filter((key) => key !== "wait-inner"),
            ["wait-after", "wait-before", "wait-next", "wait-next-2"]
          )
          for (const exit of exits.slice(1, -1))
            assert.instanceOf(Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit, Synchronous.Suspended)
        })
      )

      it.effect("a statement of a step that is over is refused", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const sql = yield* db.write("test", Transaction)
          const exit = yield* Effect.exit(sql`INSERT INTO meta (key, value) VALUES ('smuggled', '')`)
          assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
          const nested = yield* Effect.exit(
            db.write(
              "test",
              Effect.flatMap(Transaction, (tx) => tx.withTransaction(put("nested")))
            )
          )
          assert.isTrue(Exit.isFailure(nested) && Cause.isDie(nested.cause))
          assert.deepStrictEqual(yield* keys("smuggled"), [])
        })
      )

      it.effect(
        "a write that still waits can be interrupted away; one that was run is kept, and told to who cannot be interrupted",
        () =>
          Effect.gen(function* () {
            const db = yield* Database
            const ran = yield* Ref.make(0)
            const counted = (key: string) =>
              db.write(
                "test",
                Effect.zipRight(
                  Ref.update(ran, (n) => n + 1),
                  put(key)
                )
              )
            const queued = yield* Effect.fork(counted("interrupt-queued"))
            yield* Effect.yieldNow()
            assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(queued)))
            assert.strictEqual(yield* Ref.get(ran), 0)

            // The step itself interrupts its caller: the interruption is there before the answer is.
            const interrupting = (key: string, self: Deferred.Deferred<Fiber.RuntimeFiber<unknown, unknown>>) =>
              db.write(
                "test",
                Effect.gen(function* () {
                  yield* put(key)
                  const fiber = yield* Deferred.await(self)
                  yield* Fiber.interruptAsFork(fiber, fiber.id())
                })
              )
            const start = (key: string, region: <A, E>(self: Effect.Effect<A, E>) => Effect.Effect<A, E>) =>
              Effect.gen(function* () {
                const self = yield* Deferred.make<Fiber.RuntimeFiber<unknown, unknown>>()
                const learned = yield* Ref.make<Exit.Exit<unknown, unknown> | null>(null)
                const fiber = yield* Effect.fork(
                  region(Effect.onExit(interrupting(key, self), (exit) => Ref.set(learned, exit)))
                )
                yield* Deferred.succeed(self, fiber)
                yield* Fiber.await(fiber)
                return yield* Ref.get(learned)
              })
            assert.deepStrictEqual(yield* start("interrupt-told", Effect.uninterruptible), Exit.void)
            assert.isTrue(Exit.isInterrupted((yield* start("interrupt-kept", (self) => self)) ?? Exit.void))
            assert.deepStrictEqual(yield* keys("interrupt-"), ["interrupt-kept", "interrupt-told"])
          })
      )

      it.effect("steps run in the order in which they were asked for, and are answered in it", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const ran: Array<number> = []
          const answered: Array<number> = []
          yield* Effect.forEach(
            Array.from({ length: 3_000 }, (_, index) => index),
            (index) =>
              Effect.tap(
                db.write(
                  "test",
                  Effect.zipRight(
                    put(`order-${index}`),
                    Effect.sync(() => ran.push(index))
                  )
                ),
                () => Effect.sync(() => answered.push(index))
              ),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(ran, answered)
          assert.deepStrictEqual(
            ran,
            ran.toSorted((a, b) => a - b)
          )
        })
      )

      it.effect("a step runs with the facts of the fiber that asked, and the worker keeps none of them", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const seen = db.write(
            "test",
            Effect.map(Turn.peek, (facts) => facts.identity)
          )
          const [a, b, nobody] = yield* Effect.all(
            [
              Turn.enter(turns.turn({ id: "a", chatId: "A" }))(seen),
              Turn.enter(turns.turn({ id: "b", chatId: "B" }))(seen),
              seen
            ],
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            [a, b].map((identity) => identity.chatId),
            [turns.turn({ id: "a", chatId: "A" }).identity.chatId, turns.turn({ id: "b", chatId: "B" }).identity.chatId]
          )
          assert.strictEqual(nobody.chatId._tag, "Unset")
        })
      )

      it.effect("a row that the schema does not know is an error with its path", () =>
        Effect.gen(function* () {
          const db = yield* Database
          const decode = Schema.decodeUnknown(Schema.Struct({ value: Schema.Number }))
          const error = yield* Effect.flip(
            db.read("test", (sql) => Effect.flatMap(sql`SELECT 'x' AS value`, ([row]) => decode(row)))
          )
          assert.instanceOf(error, StateRowUnreadable)
          assert.include(error.message, "value")
        })
      )

      it.effect("text of every kind comes back as it was", () =>
        Effect.gen(function* () {
          const db = yield* Database
          for (const [index, text] of ["", "a\u0000b", "é👩‍👩‍👧 \u{10FFFF}", "x".repeat(2_000_000)].entries()) {
            yield* db.write("test", put(`text-${index}`, text))
            const rows = yield* db.read("test", (sql) => sql`SELECT value FROM meta WHERE key = ${`text-${index}`}`)
            assert.deepStrictEqual(rows, [{ value: text }])
          }
          // A lone surrogate is no text: it becomes the replacement character instead of failing the turn.
          yield* db.write("test", put("text-lone", "a\uD800b"))
          assert.deepStrictEqual(yield* db.read("test", (sql) => sql`SELECT value FROM meta WHERE key = 'text-lone'`), [
            { value: "a\uFFFDb" }
          ])
        })
      )
    })

    suiteLayer(Layer.empty)((it) => {
      it.effect("what waits when it closes is written or answered; later writes are told", () =>
        Effect.gen(function* () {
          const [exits, late] = yield* Effect.gen(function* () {
            const db = yield* Database
            const fibers = yield* Effect.forEach(
              Array.from({ length: 20 }, (_, index) => index),
              (index) => Effect.forkDaemon(db.write("test", put(`closing-${index}`)))
            )
            yield* Effect.yieldNow()
            return [fibers, db] as const
          }).pipe(Effect.provide(Layer.fresh(database)))
          const settled = yield* Effect.forEach(exits, Fiber.await).pipe(Effect.timeout(Duration.seconds(5)))
          assert.strictEqual(settled.filter(Exit.isSuccess).length, 20)
          const error = yield* Effect.flip(late.write("test", put("too-late")))
          assert.instanceOf(error, StateUnknown)
          assert.include(error.message, "closed")
        })
      )
    })
  })
