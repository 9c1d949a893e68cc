/**
 * The live transcript beside a list in memory: whatever is appended, compacted, taken back, branched, resumed and
 * broken off by a death of the process, the two stay equal; and nothing that was said is ever deleted.
 */
import { expect, it } from "@effect/vitest"
import { Array as Arr, Effect, Exit, FastCheck as fc, Layer, Scope } from "effect"
import { describe } from "vitest"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as CompactionStoreLayer from "../../../src/layers/sqlite/CompactionStore.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as SessionStoreLayer from "../../../src/layers/sqlite/SessionStore.js"
import * as TranscriptLayer from "../../../src/layers/sqlite/Transcript.js"
import * as CompactionPlan from "../../../src/services/session/CompactionPlan.js"
import { CompactionStore } from "../../../src/services/session/CompactionStore.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { type Message, Transcript } from "../../../src/services/session/Transcript.js"
import { Database, Transaction as SqlTransaction } from "../../../src/services/state/Database.js"
import { key, source } from "../../contract/sources.js"
import { scaled } from "../../scale.js"
import { folder } from "./temporary.js"

type Operation =
  | { readonly op: "say"; readonly answers: number; readonly tools: number }
  | { readonly op: "mirror" }
  | { readonly op: "compact"; readonly first: number; readonly last: number; readonly during: number }
  | { readonly op: "rewind"; readonly turns: number }
  | { readonly op: "branch" }
  | { readonly op: "resume"; readonly which: number }
  | { readonly op: "crash"; readonly compacting: boolean }

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant("say" as const), answers: fc.nat(2), tools: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.constant({ op: "mirror" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("compact" as const),
      first: fc.nat(3),
      last: fc.integer({ min: 1, max: 6 }),
      during: fc.nat(3)
    })
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("rewind" as const), turns: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("branch" as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("resume" as const), which: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("crash" as const), compacting: fc.boolean() }) }
)

const user = (text: string, mirrored = false): Message => ({ _tag: "user", text, platformMessageId: null, mirrored })
const assistant = (text: string, calls: ReadonlyArray<string> = []): Message => ({
  _tag: "assistant",
  text,
  reasoning: null,
  toolCalls: calls.map((id) => ({ id, name: "probe", arguments: "{}" })),
  finishReason: "stop"
})
const tool = (callId: string): Message => ({ _tag: "tool", callId, tool: "probe", text: callId, disposition: "ok" })

/** What the model keeps of a row: what was said by others is no person's. */
const told = (message: Message | { readonly _tag: "summary"; readonly text: string }): string =>
  `${message._tag === "user" && message.mirrored === true ? "mirrored" : message._tag}:${message.text}`

interface Modelled {
  rows: ReadonlyArray<string>
  /** Everything ever appended to the session, the rows of its branches' copies with it. */
  readonly said: Set<string>
}

const stores = (file: string) =>
  Layer.mergeAll(SessionStoreLayer.layer, TranscriptLayer.layer, CompactionStoreLayer.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(SqliteDatabase.layer({ file }), Ids.layer))
  )

const run = (operations: ReadonlyArray<Operation>) =>
  Effect.gen(function* () {
    const file = `${yield* folder}/state.db`
    let scope = yield* Scope.make()
    const open = Effect.suspend(() => Layer.buildWithScope(stores(file), scope))
    let services = yield* open
    const models = new Map<string, Modelled>()
    const order: Array<string> = []
    let counter = 0
    const place = key("model")

    const perform = (operation: Operation) =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const transcript = yield* Transcript
        const compactions = yield* CompactionStore
        const database = yield* Database
        const session = yield* sessions.resolve(place, source())
        if (!models.has(session.id)) {
          models.set(session.id, { rows: [], said: new Set() })
          order.push(session.id)
        }
        const model = models.get(session.id) ?? { rows: [], said: new Set<string>() }

        const append = (messages: ReadonlyArray<Message>) =>
          Effect.tap(database.write("test", transcript.append(session.id, null, messages)), () =>
            Effect.sync(() => {
              model.rows = [...model.rows, ...messages.map(told)]
              for (const message of messages) model.said.add(`${message._tag}:${message.text}`)
            })
          )

        const say = (answers: number, tools: number) =>
          Effect.gen(function* () {
            yield* append([user(`q${++counter}`)])
            for (let i = 0; i < answers; i++) {
              const calls = Arr.makeBy(tools, (index) => `c${++counter}-${index}`)
              yield* append([assistant(`a${++counter}`, calls)])
              for (const call of calls) yield* append([tool(call)])
            }
          })

        switch (operation.op) {
          case "say":
            return yield* say(operation.answers, operation.tools)
          case "mirror":
            return yield* append([user(`m${++counter}`, true)])
          case "compact": {
            const lease = yield* Effect.flatten(compactions.acquire(session.id))
            const plan = CompactionPlan.plan(yield* transcript.load(session.id), 200_000, {
              threshold: 0.5,
              thresholdTokens: 1,
              protectFirst: operation.first,
              protectLast: operation.last
            })
            for (let i = 0; i < operation.during; i++) yield* say(1, 0)
            if (plan !== null) {
              const summary = `s${++counter}`
              const gone = plan.compacted.map(({ message }) => told(message))
              yield* compactions.commit(lease, {
                rows: plan.compacted.map((row) => row.id),
                position: plan.position,
                summary,
                effective: true
              })
              // In the model: the summary before the newest message of a person at the time, or where the run ended.
              const at = model.rows.findIndex((row) => gone.includes(row))
              const left = model.rows.filter((row) => !gone.includes(row))
              const before = model.rows.slice(0, at).length
              model.rows = [...left.slice(0, before), `summary:${summary}`, ...left.slice(before)]
              const kept = plan.compacted.length
              expect(kept).toBeGreaterThanOrEqual(4)
            }
            return yield* compactions.release(lease)
          }
          case "rewind": {
            const taken = yield* Effect.either(database.write("test", transcript.rewind(session.id, operation.turns)))
            const floor = model.rows.findLastIndex((row) => row.startsWith("summary:"))
            const persons = model.rows.flatMap((row, index) =>
              row.startsWith("user:") && index > floor ? [index] : []
            )
            const from = persons.at(-Math.min(operation.turns, persons.length))
            expect(taken._tag).toBe(persons.length === 0 ? "Left" : "Right")
            if (persons.length > 0) model.rows = model.rows.slice(0, from)
            return
          }
          case "branch": {
            const branch = yield* sessions.branch(place, source(), null)
            models.set(branch.id, { rows: model.rows, said: new Set() })
            order.push(branch.id)
            return
          }
          case "resume": {
            const wanted = order[operation.which % order.length] ?? session.id
            const owner = { platform: "telegram", chatId: source().chatId, userId: null }
            yield* sessions.resume(place, wanted, owner)
            return
          }
          case "crash":
            // A death in the middle of a summary leaves its lease behind, and nothing else.
            if (operation.compacting) yield* compactions.acquire(session.id)
            return
        }
      })

    const check = Effect.gen(function* () {
      const transcript = yield* Transcript
      const database = yield* Database
      for (const [id, model] of models) {
        const session = yield* Effect.flatMap(SessionStore, (sessions) => sessions.get(id))
        if (session === null) return yield* Effect.dieMessage(`${id} is gone`)
        expect((yield* transcript.load(session.id)).map(({ message }) => told(message))).toEqual(model.rows)
        const stored = new Set(
          (yield* database.read(
            "test",
            (sql) =>
              sql<{ readonly told: string }>`SELECT role || ':' || text AS told FROM messages WHERE session_id = ${id}`
          )).map((row) => row.told)
        )
        for (const said of model.said) expect(stored.has(said)).toBe(true)
      }
    })

    for (const operation of operations) {
      yield* Effect.provide(perform(operation), services)
      if (operation.op === "crash") {
        yield* Scope.close(scope, Exit.void)
        scope = yield* Scope.make()
        services = yield* open
        if (operation.compacting)
          // The lease runs out; here it is taken away so that no test waits a minute.
          yield* Effect.provide(
            Effect.flatMap(Database, (database) => database.write("test", releaseAll)),
            services
          )
      }
      yield* Effect.provide(check, services)
    }
    yield* Scope.close(scope, Exit.void)
  })

const releaseAll = Effect.flatMap(SqlTransaction, (sql) => Effect.asVoid(sql`DELETE FROM leases`))

describe("a transcript", () => {
  it.scopedLive.prop(
    "equals a list, whatever is done to it",
    { operations: fc.array(operation, { minLength: 1, maxLength: 30 }) },
    ({ operations }) => Effect.scoped(run(operations)),
    { fastCheck: { numRuns: scaled(100, 10) } }
  )
})
