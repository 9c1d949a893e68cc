import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import * as Testing from "../../../src/testing/Settings.js"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as Retention from "../../../src/layers/sqlite/Retention.js"
import * as SessionStoreLayer from "../../../src/layers/sqlite/SessionStore.js"
import { Ids as IdService } from "../../../src/services/operation/Ids.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { layerMemory } from "./temporary.js"

const day = 86_400_000

const state = SessionStoreLayer.layer.pipe(
  Layer.provideMerge(Layer.merge(layerMemory, Ids.layer)),
  Layer.provideMerge(
    Layer.succeed(Settings, Testing.settings("/nowhere", { database: { journalMode: "wal", retentionDays: 90 } }))
  )
)

/** A conversation with all that was done for it, at this moment; answers its id. */
const lived = (options: { readonly pinned?: boolean; readonly open?: boolean } = {}) =>
  Effect.gen(function* () {
    const ids = yield* IdService
    const database = yield* Database
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const id = yield* ids.next("session")
    const [event, turn, child, delivery, again, approval, question] = [
      yield* ids.next("event"),
      yield* ids.next("turn"),
      yield* ids.next("turn"),
      yield* ids.next("delivery"),
      yield* ids.next("delivery"),
      yield* ids.next("approval"),
      yield* ids.next("call")
    ]
    const ended = options.open === true ? null : now
    yield* database.write(
      "test",
      Effect.gen(function* () {
        const sql = yield* Transaction
        yield* sql`INSERT INTO sessions (id, source, started_at, last_activity_at, ended_at, pinned)
          VALUES (${id}, 'telegram', ${now}, ${now}, ${ended}, ${options.pinned === true ? 1 : 0})`
        yield* sql`INSERT INTO messages (session_id, turn_id, at, role, text) VALUES (${id}, ${turn}, ${now}, 'user', 'hello')`
        yield* sql`INSERT INTO inbound_events (id, session_key, platform, bot_id, chat_id, message_id, event, arrival, accepted_at, state)
          VALUES (${event}, 'k', 'telegram', 'b', '1', ${event}, '{}', '{}', ${now}, ${ended === null ? "running" : "answered"})`
        for (const [one, parent] of [
          [turn, null],
          [child, turn]
        ] as const)
          yield* sql`INSERT INTO turns (id, parent_id, depth, identity, marker, origin, presence, state, started_at, ended_at)
            VALUES (${one}, ${parent}, 0, '{}', '{"_tag":"NotCron"}', '{"_tag":"Cleared"}', '{}', ${ended === null ? "running" : "ended"}, ${now}, ${ended})`
        yield* sql`INSERT INTO tool_calls (turn_id, position, call_id, tool, state) VALUES (${turn}, 0, 'c', 'terminal', 'settled')`
        yield* sql`INSERT INTO approvals (id, session_key, turn_id, call_id, tool, subject, reasons, state, asked_at, expires_at)
          VALUES (${approval}, 'k', ${turn}, 'c', 'terminal', 'x', '[]', ${ended === null ? "open" : "denied"}, ${now}, ${now})`
        yield* sql`INSERT INTO clarifications (id, session_key, turn_id, call_id, question, choices, several, state, asked_at, expires_at)
          VALUES (${question}, 'k', ${turn}, 'c', 'which?', '[]', 0, ${ended === null ? "open" : "expired"}, ${now}, ${now})`
        for (const [one, of] of [
          [delivery, null],
          [again, delivery]
        ] as const)
          yield* sql`INSERT INTO deliveries (id, cause_kind, cause_id, platform, chat_id, part, parts, text, via, state, resend_of, reply_to_person, is_cron, created_at, settled_at)
            VALUES (${one}, 'turn', ${turn}, 'telegram', '1', 0, 1, 'x', 'origin', ${ended === null ? "sending" : "sent"}, ${of}, 1, 0, ${now}, ${ended})`
      })
    )
    return { id, ids: [id, event, turn, child, delivery, again, approval, question] }
  })

const left = Effect.flatMap(Database, (database) =>
  database.read("test", (sql) =>
    Effect.map(
      sql<{ id: string }>`SELECT id FROM sessions UNION ALL SELECT id FROM inbound_events UNION ALL SELECT id FROM turns
        UNION ALL SELECT id FROM approvals UNION ALL SELECT id FROM deliveries
        UNION ALL SELECT id FROM clarifications`,
      (rows) => new Set(rows.map(({ id }) => id))
    )
  )
)

const pass = (millis: number) => TestClock.adjust(millis)

describe("what is old", () => {
  it.effect("is forgotten after 90 days with all that was done for it; what is pinned, open or younger stays", () =>
    Effect.gen(function* () {
      yield* pass(1_000 * day)
      const old = yield* Effect.forEach(Array.from({ length: 13 }), () => lived())
      const database = yield* Database
      // 411 and 391 days old in the end.
      for (const at of [680, 700])
        yield* database.write(
          "test",
          Effect.flatMap(
            Transaction,
            (sql) => sql`INSERT INTO usage (day, session_id, provider, model)
              VALUES (${new Date(at * day).toISOString().slice(0, 10)}, ${`of day ${at}`}, 'p', 'm')`
          )
        )
      const pinned = yield* lived({ pinned: true })
      const open = yield* lived({ open: true })
      yield* pass(60 * day)
      const young = yield* lived()
      yield* pass(31 * day)
      const running = yield* Effect.fork(Effect.scoped(Effect.zipRight(Layer.build(Retention.layer), Effect.never)))
      yield* pass(5 * 60_000)
      assert.isTrue((yield* left).has(old[0]?.id ?? ""))
      for (let i = 0; i < 60; i++) yield* pass(i === 0 ? 6 * 60_000 : 20)
      const there = yield* left
      for (const { ids } of old)
        assert.deepStrictEqual(
          ids.filter((id) => there.has(id)),
          []
        )
      for (const { ids } of [open, young])
        assert.deepStrictEqual(
          ids.filter((id) => !there.has(id)),
          []
        )
      assert.isTrue(there.has(pinned.id))
      const calls = yield* Effect.flatMap(Database, (database) =>
        database.read("test", (sql) => sql`SELECT turn_id FROM tool_calls`)
      )
      assert.strictEqual(calls.length, 2)
      assert.deepStrictEqual(yield* database.read("test", (sql) => sql`SELECT session_id FROM usage`), [
        { session_id: "of day 700" }
      ])
      running.unsafeInterruptAsFork(running.id())
    }).pipe(Effect.provide(state))
  )

  it.effect("is looked for once a day, also by a gateway that is started often", () =>
    Effect.gen(function* () {
      yield* pass(1_000 * day)
      const gateway = Effect.scoped(
        Effect.zipRight(
          Layer.build(Retention.layer),
          Effect.forEach(Array.from({ length: 12 }), () => pass(60_000), { discard: true })
        )
      )
      yield* gateway
      const first = yield* lived()
      yield* pass(91 * day - 23 * 3_600_000)
      yield* Effect.flatMap(Database, (database) =>
        database.write(
          "test",
          Effect.flatMap(Transaction, (sql) => sql`UPDATE meta SET value = ${String(1_091 * day - 23 * 3_600_000)}`)
        )
      )
      yield* gateway
      assert.isTrue((yield* left).has(first.id))
      yield* pass(24 * 3_600_000)
      yield* gateway
      assert.isFalse((yield* left).has(first.id))
    }).pipe(Effect.provide(state))
  )
})
