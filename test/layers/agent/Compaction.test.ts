/** Compaction as the agent and a person use it: what stays, what a message meanwhile meets, what a failure leaves. */
import { describe, expect, layer as suiteLayer } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, FastCheck as fc, Fiber, Layer, Ref, TestClock } from "effect"
import * as Compactions from "../../../src/layers/agent/Compaction.js"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as Activity from "../../../src/layers/operation/Activity.js"
import * as UsageLayer from "../../../src/layers/sqlite/Usage.js"
import * as CompactionStoreLayer from "../../../src/layers/sqlite/CompactionStore.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as SessionStoreLayer from "../../../src/layers/sqlite/SessionStore.js"
import * as TodoStoreLayer from "../../../src/layers/sqlite/TodoStore.js"
import * as TranscriptLayer from "../../../src/layers/sqlite/Transcript.js"
import { ModelError, type ModelErrorReason, ModelRoute } from "../../../src/services/agent/ModelRoute.js"
import { TodoStore } from "../../../src/services/agent/TodoStore.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import { Compaction, type CompactionTrigger } from "../../../src/services/session/Compaction.js"
import { CompactionStore } from "../../../src/services/session/CompactionStore.js"
import type { SessionId } from "../../../src/services/session/Session.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { type Message, Transcript } from "../../../src/services/session/Transcript.js"
import { Database, Transaction as SqlTransaction } from "../../../src/services/state/Database.js"
import * as Script from "../../../src/layers/models/scripted/Script.js"
import * as Backend from "../../../src/layers/models/scripted/Backend.js"
import * as Testing from "../../../src/testing/Settings.js"
import { scaled } from "../../scale.js"

/** What the model of a test answers next. */
class Author extends Context.Tag("test/Author")<Author, Ref.Ref<Script.StepInput>>() {}

const model = Layer.unwrapEffect(
  Effect.map(Author, (author) => {
    const name = { provider: "scripted", model: "author" }
    return Layer.succeed(ModelRoute, {
      primary: name,
      ...Backend.make(name, 200_000, () => Ref.get(author)),
      contextWindow: 200_000,
      trouble: Effect.succeed(null)
    })
  })
)

const settings = Layer.succeed(
  Settings,
  Testing.settings("/tmp", {
    compression: {
      enabled: true,
      threshold: 0.5,
      thresholdTokens: 256_000,
      protectFirst: 1,
      protectLast: 4,
      abortOnSummaryFailure: false
    }
  })
)

const services = Compactions.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      SessionStoreLayer.layer,
      TranscriptLayer.layer,
      CompactionStoreLayer.layer,
      TodoStoreLayer.layer,
      UsageLayer.layer
    )
  ),
  Layer.provideMerge(model),
  Layer.provideMerge(
    Layer.mergeAll(
      Layer.orDie(SqliteDatabase.layerMemory),
      Ids.layer,
      Activity.layer,
      settings,
      Layer.effect(Author, Ref.make<Script.StepInput>("a summary"))
    )
  )
)

const user = (text: string): Message => ({ _tag: "user", text, platformMessageId: null })
const assistant = (text: string): Message => ({
  _tag: "assistant",
  text,
  reasoning: null,
  toolCalls: [],
  finishReason: "stop"
})

const fresh = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const database = yield* Database
  return yield* database.write(
    "test",
    sessions.create({ key: null, source: "cli", origin: null, parentId: null, hidden: false, model: null })
  )
})

const append = (id: SessionId, messages: ReadonlyArray<Message>) =>
  Effect.gen(function* () {
    const transcript = yield* Transcript
    const database = yield* Database
    const appended = yield* database.write("test", transcript.append(id, null, messages))
    return appended.map((row) => row.id)
  })

/** `turns` questions with their answers, each about so many characters long. */
const talk = (id: SessionId, turns: number, length = 200) =>
  append(
    id,
    Array.from({ length: turns }, (_, turn) => [
      user(`q${turn} ${"x".repeat(length)}`),
      assistant(`a${turn} ${"y".repeat(length)}`)
    ]).flat()
  )

const live = (id: SessionId) =>
  Effect.flatMap(Transcript, (transcript) =>
    Effect.map(transcript.load(id), (rows) =>
      rows.map(({ message }) => `${message._tag}:${message.text.split(" ")[0]}`)
    )
  )

const compact = (sessionId: SessionId, trigger: CompactionTrigger = "person") =>
  Effect.flatMap(Compaction, (compaction) => compaction.run({ sessionId, sessionKey: "k", trigger }))

const says = (step: Script.StepInput) => Effect.flatMap(Author, (author) => Ref.set(author, step))

const problem = (reason: ModelErrorReason) =>
  new ModelError({ reason, provider: "scripted", detail: "as told", status: null, retryAfterMillis: null })

const failing = (reason: ModelErrorReason): Script.Step => ({
  _tag: "Parts",
  parts: [],
  every: null,
  then: problem(reason)
})

describe("compaction", () => {
  suiteLayer(services)((it) => {
    it.effect("puts a summary between the first rows and the last, and keeps all rows for people", () =>
      Effect.gen(function* () {
        yield* says("what was said")
        const { id } = yield* fresh
        yield* talk(id, 6)
        expect(yield* compact(id)).toMatchObject({ _tag: "Compacted", rows: 7, by: "model" })
        expect(yield* live(id)).toEqual([
          "user:q0",
          "summary:what",
          "user:q4",
          "assistant:a4",
          "user:q5",
          "assistant:a5"
        ])
        const page = yield* Effect.flatMap(Transcript, (transcript) => transcript.page(id, { limit: 100 }))
        expect(page.filter(({ message }) => message._tag !== "summary")).toHaveLength(12)
        // The next one takes the first summary in: there is one of them at any time.
        yield* talk(id, 4)
        yield* says("all of it")
        expect(yield* compact(id)).toMatchObject({ _tag: "Compacted" })
        expect((yield* live(id)).filter((row) => row.startsWith("summary"))).toEqual(["summary:all"])
        const usage = yield* Effect.flatMap(Database, (database) =>
          database.read("test", (sql) => sql`SELECT task, calls FROM usage WHERE session_id = ${id}`)
        )
        expect(usage).toEqual([])
      })
    )

    it.effect("puts the open items of the todo list back, as they are now and once", () =>
      Effect.gen(function* () {
        yield* says("what was said")
        const todos = yield* TodoStore
        const database = yield* Database
        const transcript = yield* Transcript
        const { id } = yield* fresh
        const summaryOf = Effect.map(
          transcript.load(id),
          (rows) => rows.find(({ message }) => message._tag === "summary")?.message.text ?? ""
        )
        yield* talk(id, 6)
        yield* database.write("test", todos.put(id, 0, [{ id: "1", content: "dig", status: "in_progress" }]))
        yield* compact(id)
        expect(yield* summaryOf).toContain("- 1 (in_progress): dig")
        yield* talk(id, 6)
        yield* database.write(
          "test",
          todos.put(id, 1, [
            { id: "1", content: "dig", status: "completed" },
            { id: "2", content: "fill", status: "pending" }
          ])
        )
        yield* compact(id)
        expect(yield* summaryOf).toBe(
          "what was said\n\n[Open items of your todo list at this point:\n- 2 (pending): fill\n]"
        )
      })
    )

    it.effect.prop(
      "a message that arrives at any point of it keeps its place, whether it succeeds, fails or is stopped",
      {
        turns: fc.integer({ min: 3, max: 8 }),
        parts: fc.integer({ min: 1, max: 6 }),
        ending: fc.constantFrom("finish", "transport", "empty", "stopped" as const),
        arrivals: fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 6 }),
        rewindAt: fc.option(fc.integer({ min: 0, max: 900 }))
      },
      ({ turns, parts, ending, arrivals, rewindAt }) =>
        Effect.gen(function* () {
          const { id } = yield* fresh
          yield* talk(id, turns)
          const before = yield* live(id)
          yield* says({
            _tag: "Parts",
            parts: Array.from({ length: ending === "empty" ? 0 : parts }, () => ({
              _tag: "Text" as const,
              delta: "s"
            })),
            every: "100 millis",
            then: ending === "transport" ? problem("transport") : "finish"
          })
          const order = yield* Ref.make<ReadonlyArray<string>>([])
          const running = yield* Effect.fork(compact(id))
          // It has read what is there: what comes from now on is not in its summary.
          yield* settled
          const speakers = yield* Effect.forEach(arrivals, (at, index) =>
            Effect.fork(
              Effect.sleep(at).pipe(
                Effect.zipRight(append(id, [user(`m${index}`)])),
                Effect.zipRight(Ref.update(order, (all) => [...all, `user:m${index}`]))
              )
            )
          )
          const takenBack = yield* Ref.make(0)
          if (rewindAt !== null)
            speakers.push(
              yield* Effect.fork(
                Effect.sleep(rewindAt).pipe(
                  Effect.zipRight(
                    Effect.flatMap(Transcript, (transcript) =>
                      Effect.flatMap(Database, (database) => database.write("test", transcript.rewind(id, 1)))
                    )
                  ),
                  Effect.matchEffect({
                    // Refused while the summary is being made: it would take rows from under it.
                    onFailure: () => Effect.void,
                    onSuccess: ({ rows }) => Ref.update(takenBack, (all) => all + rows)
                  })
                )
              )
            )
          for (let at = 0; at < 1_000; at += 100) {
            if (ending === "stopped" && at === 200) yield* Fiber.interrupt(running)
            yield* TestClock.adjust(100)
            yield* settled
          }
          const exit = yield* Fiber.await(running)
          yield* Effect.forEach(speakers, Fiber.await)
          const after = yield* live(id)
          const arrived = yield* Ref.get(order)
          const lost = yield* Ref.get(takenBack)
          const came = new Set(arrived)
          const isCompacted = Exit.isSuccess(exit) && exit.value._tag === "Compacted"
          if (ending === "transport") expect(isCompacted).toBe(false)
          // What arrived stands behind everything that was there, in the order in which it was stored.
          const firstNew = after.findIndex((row) => came.has(row))
          if (lost === 0) {
            expect(after.filter((row) => came.has(row))).toEqual(arrived)
            if (firstNew >= 0) expect(after.slice(firstNew)).toEqual(arrived)
            const old = firstNew < 0 ? after : after.slice(0, firstNew)
            if (isCompacted) {
              expect(old.filter((row) => row.startsWith("summary"))).toHaveLength(1)
              const rest = old.filter((row) => !row.startsWith("summary"))
              expect(rest).toEqual(before.filter((row) => rest.includes(row)))
              expect(rest.slice(-4)).toEqual(before.slice(-4))
            } else expect(old).toEqual(before)
          }
          // Nobody holds the session any more.
          const lease = yield* Effect.flatMap(CompactionStore, (store) => store.acquire(id))
          expect(lease._tag).toBe("Some")
        }),
      { fastCheck: { numRuns: scaled(1_000, 50) } }
    )

    it.effect.each(["overloaded", "auth_permanent"] as const)(
      "a model that is away (%s) leaves the transcript alone, for longer each time; a person's word passes that",
      (reason) =>
        Effect.gen(function* () {
          const { id } = yield* fresh
          yield* talk(id, 6)
          const before = yield* live(id)
          yield* says(failing(reason))
          for (const seconds of [60, 300, 900, 900]) {
            expect(yield* compact(id, "share")).toMatchObject({ _tag: "Failed" })
            expect(yield* live(id)).toEqual(before)
            yield* TestClock.adjust(`${seconds - 1} seconds`)
            expect(yield* compact(id, "share")).toMatchObject({ _tag: "CoolingDown" })
            yield* TestClock.adjust("1 seconds")
          }
          expect(yield* compact(id, "share")).toMatchObject({ _tag: "Failed" })
          yield* says("there again")
          expect(yield* compact(id, "share")).toMatchObject({ _tag: "CoolingDown" })
          expect(yield* compact(id, "overflow")).toMatchObject({ _tag: "Compacted", by: "model" })
          // A success wipes the slate.
          expect(yield* Effect.flatMap(CompactionStore, (store) => store.history(id))).toMatchObject({ failures: 0 })
        })
    )

    it.effect("a model that cannot write one is replaced by an outline that says so", () =>
      Effect.gen(function* () {
        for (const step of [failing("content_policy_blocked"), Script.say("")]) {
          const { id } = yield* fresh
          yield* talk(id, 8, 2_000)
          yield* says(step)
          expect(yield* compact(id, "share")).toMatchObject({ _tag: "Compacted", by: "outline" })
          const rows = yield* Effect.flatMap(Transcript, (transcript) => transcript.load(id))
          const summary = rows.find(({ message }) => message._tag === "summary")?.message.text ?? ""
          expect(summary).toContain("outline made by rule")
          expect(summary).toContain("q3")
        }
      })
    )

    it.effect("two runs that save next to nothing are enough, until a person asks or half an hour is over", () =>
      Effect.gen(function* () {
        const { id } = yield* fresh
        yield* says("s")
        // The first row always stays, and it is nearly all there is.
        yield* append(id, [user("x".repeat(400_000))])
        for (let run = 0; run < 2; run++) {
          yield* talk(id, 6)
          expect(yield* compact(id, "share")).toMatchObject({ _tag: "Compacted" })
        }
        yield* talk(id, 6)
        expect(yield* compact(id, "share")).toEqual({ _tag: "Ineffective" })
        expect(yield* compact(id, "overflow")).toEqual({ _tag: "Ineffective" })
        yield* TestClock.adjust("30 minutes")
        expect(yield* compact(id, "share")).toMatchObject({ _tag: "Compacted" })
        yield* talk(id, 6)
        expect(yield* compact(id, "person")).toMatchObject({ _tag: "Compacted" })
      })
    )

    it.effect("rows that went away meanwhile make it void: nothing is changed", () =>
      Effect.gen(function* () {
        const { id } = yield* fresh
        const database = yield* Database
        const ids = yield* talk(id, 6)
        const before = yield* live(id)
        const drop = Effect.flatMap(
          SqlTransaction,
          (sql) => sql`UPDATE messages SET active = 0 WHERE id = ${ids[3] ?? 0}`
        )
        yield* says(Script.effect(Effect.as(Effect.orDie(database.write("test", drop)), Script.say("too late"))))
        expect(yield* compact(id)).toMatchObject({ _tag: "Failed" })
        expect(yield* live(id)).toEqual(before.filter((_, index) => index !== 3))
      })
    )

    it.effect("only one at a time: the other is told, and a lost lease changes nothing", () =>
      Effect.gen(function* () {
        const { id } = yield* fresh
        yield* talk(id, 6)
        const before = yield* live(id)
        const hold = yield* Deferred.make<void>()
        yield* says(Script.effect(Effect.as(Deferred.await(hold), Script.say("late"))))
        const running = yield* Effect.fork(compact(id))
        yield* settled
        expect(yield* Effect.flatMap(Compaction, (compaction) => compaction.isRunning(id))).toBe(true)
        expect(yield* compact(id)).toEqual({ _tag: "Busy" })
        // Somebody else took it over, as after a minute in which this process was stopped.
        yield* Effect.flatMap(Database, (database) =>
          database.write(
            "test",
            Effect.flatMap(SqlTransaction, (sql) => sql`UPDATE leases SET token = 'other' WHERE name LIKE ${`%${id}`}`)
          )
        )
        yield* Deferred.succeed(hold, undefined)
        expect(yield* Fiber.join(running)).toMatchObject({ _tag: "Failed" })
        expect(yield* live(id)).toEqual(before)
        expect(yield* Effect.flatMap(Compaction, (compaction) => compaction.isRunning(id))).toBe(false)
      })
    )
  })
})

/** What is ready has run: the database's writer waits for the event loop, which no test clock moves. */
const settled = Effect.async<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})
