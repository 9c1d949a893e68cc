/** Callbacks of foreign libraries, runtimes and loggers. */
import { EventEmitter } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, ManagedRuntime, Option, Runtime, Schema, Stream } from "effect"
import { Parcel } from "../../../src/fibers/Parcel.js"
import * as Synchronous from "../../../src/fibers/Synchronous.js"
import * as Turn from "../../../src/fibers/Turn.js"
import { A, B, chatOf, marked, noTraces, traces, turn } from "../support/turns.js"

const inA = Turn.enter(A)
const inB = Turn.enter(B)
const chat = Effect.map(Turn.peek, chatOf)
const asked = Effect.zipRight(Turn.current, chat)

class Service extends Context.Tag("test/Service")<Service, string>() {}

describe("a callback inside of a turn", () => {
  it.live("door: Turn.runner has the turn and the services of who asked", () =>
    Effect.gen(function* () {
      const seen = yield* inA(
        Effect.gen(function* () {
          const runner = yield* Turn.runner<Service>()
          return yield* Effect.async<readonly [string | null, string]>((resume) => {
            setImmediate(() => {
              void runner.exit(Effect.zip(asked, Service)).then((exit) => resume(exit))
            })
          })
        })
      )
      assert.deepStrictEqual(seen, ["A-chatId", "service"])
    }).pipe(Effect.provideService(Service, "service"))
  )

  it.live("raw: runFork, runPromise, runSync and a ManagedRuntime have lost it (negative control)", () =>
    Effect.gen(function* () {
      const managed = ManagedRuntime.make(Layer.succeed(Service, "service"))
      const seen = yield* inA(
        Effect.promise(async () => [
          await Effect.runPromise(chat),
          await new Promise((resolve) => setImmediate(() => resolve(Effect.runSync(chat)))),
          await managed.runPromise(chat)
        ])
      )
      assert.deepStrictEqual(seen, [null, null, null])
      assert.strictEqual(yield* inA(Effect.provide(chat, managed)), "A-chatId", "provided, its services do not drop it")
      yield* Effect.promise(() => managed.dispose())
    })
  )
})

/** Something foreign that was subscribed to once, in A, and calls back for everybody. */
const emitter = Effect.acquireRelease(
  Effect.sync(() => new EventEmitter()),
  (events) => Effect.sync(() => events.removeAllListeners())
)

const emitted = (events: EventEmitter, message: unknown) =>
  Effect.async<unknown>((resume) => {
    events.emit("message", message, (answer: unknown) => resume(Effect.succeed(answer)))
  })

describe("a callback that outlives the turn it was registered in", () => {
  const Note = Schema.parseJson(Parcel.schema(Schema.String))

  it.scopedLive("door: Turn.workerRunner carries nobody, and each parcel brings its own turn", () =>
    Effect.gen(function* () {
      const events = yield* emitter
      yield* marked(A)(
        Effect.gen(function* () {
          const runner = yield* Turn.workerRunner()
          events.on("message", (message: string, reply: (answer: unknown) => void) => {
            const handled = Effect.gen(function* () {
              const around = yield* traces
              const parcel = yield* Schema.decode(Note)(message)
              return [around, yield* Parcel.open(parcel, () => asked)] as const
            })
            void runner.exit(Effect.orDie(handled)).then((exit) => reply(exit._tag === "Success" ? exit.value : exit))
          })
        })
      )
      for (const [of, expected] of [
        [B, "B"],
        [A, "A-chatId"],
        [turn("C"), "C"]
      ] as const) {
        const message = yield* Turn.enter(of)(Effect.flatMap(Parcel.pack("note"), Schema.encode(Note)))
        assert.deepStrictEqual(yield* emitted(events, message), [noTraces, expected])
        assert.deepStrictEqual(yield* Turn.enter(B)(emitted(events, message)), [noTraces, expected])
      }
    })
  )

  it.scopedLive("raw: a runtime captured in A answers B as A (negative control)", () =>
    Effect.gen(function* () {
      const events = yield* emitter
      yield* inA(
        Effect.gen(function* () {
          const runtime = yield* Effect.runtime<Turn.CurrentTurn>()
          events.on("message", (_: string, reply: (answer: unknown) => void) => {
            void Runtime.runPromise(runtime)(asked).then(reply)
          })
        })
      )
      assert.strictEqual(yield* inB(emitted(events, "of B")), "A-chatId")
    })
  )
})

describe("streams for foreign readers", () => {
  const chunks = Stream.mapEffect(Stream.make(1, 2), () => Effect.map(chat, String))
  const read = (stream: ReadableStream<string>) =>
    Effect.promise(async () => {
      const seen: Array<string> = []
      for await (const chunk of stream) seen.push(chunk)
      return seen
    })
  const iterate = (iterable: AsyncIterable<string>) =>
    Effect.promise(async () => {
      const seen: Array<string> = []
      for await (const chunk of iterable) seen.push(chunk)
      return seen
    })

  it.live("the effectful variants carry the turn of who makes them", () =>
    Effect.gen(function* () {
      const readable = yield* inA(Stream.toReadableStreamEffect(chunks))
      assert.deepStrictEqual(yield* inB(read(readable)), ["A-chatId", "A-chatId"])
      const iterable = yield* inA(Stream.toAsyncIterableEffect(chunks))
      assert.deepStrictEqual(yield* inB(iterate(iterable)), ["A-chatId", "A-chatId"])
    })
  )

  it.live("raw: the others drop it (negative control)", () =>
    inA(
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* read(Stream.toReadableStream(chunks)), ["null", "null"])
        assert.deepStrictEqual(yield* iterate(Stream.toAsyncIterable(chunks)), ["null", "null"])
      })
    )
  )
})

describe("a logger is told the facts of the fiber that logs", () => {
  it.live("door: Turn.peekIn, for turns that log at once", () =>
    Effect.gen(function* () {
      const lines: Array<readonly [unknown, string | null]> = []
      const logger = Logger.make<unknown, void>(({ context, message }) => {
        lines.push([Array.isArray(message) ? message[0] : message, chatOf(Turn.peekIn(context))])
      })
      const turns = Array.from({ length: 20 }, (_, index) => turn(`chat-${index}`))
      yield* Effect.forEach(
        turns,
        (of) => Turn.enter(of)(Effect.yieldNow().pipe(Effect.zipRight(Effect.log(of.id)), Effect.repeatN(2))),
        { concurrency: "unbounded" }
      ).pipe(Effect.zipRight(Effect.log("outside")), Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      assert.strictEqual(lines.length, 61)
      for (const [message, seen] of lines) {
        assert.strictEqual(message, seen === null ? "outside" : `turn-${seen}`)
      }
    })
  )
})

/** Fixes a step, with the services of who makes it. */
const capture = <X, E, R>(self: Effect.Effect<X, E, R>) =>
  Effect.flatMap(Effect.context<R>(), (services) => Synchronous.capture(services)(self))

describe("a step that another fiber runs", () => {
  it.scopedLive("door: Synchronous.capture fixes it to the turn that made it; its runner stays nobody", () =>
    Effect.gen(function* () {
      const ofB = yield* inB(capture(asked))
      const ofA = yield* inA(capture(asked))
      const worker = yield* inA(
        Turn.forkWorker(Effect.map(traces, (before) => [before, ofB(), ofA()] as const).pipe(Effect.zip(traces)))
      )
      const [[before, first, second], after] = yield* Turn.result(worker)
      assert.deepStrictEqual(
        [first, second].map((exit) => (exit._tag === "Success" ? exit.value : exit)),
        ["B", "A-chatId"]
      )
      assert.deepStrictEqual([before, after], [noTraces, noTraces])
    })
  )

  it.live("a step that waits is stopped and dies instead of running on", () =>
    Effect.gen(function* () {
      let ran = false
      const step = yield* inA(
        capture(
          Effect.zipRight(
            Effect.sleep("1 millis"),
            Effect.sync(() => (ran = true))
          )
        )
      )
      const exit = step()
      assert.isTrue(exit._tag === "Failure")
      const defect = yield* Effect.option(Effect.flip(Effect.sandbox(exit)))
      assert.include(String(Option.getOrNull(defect)), "a step that has to end at once")
      yield* Effect.sleep("10 millis")
      assert.isFalse(ran)
    })
  )
})
