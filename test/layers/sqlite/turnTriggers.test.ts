/** The turns table holds who, why and where of a turn even against a program that gets them wrong. */
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import * as TurnStoreLayer from "../../../src/layers/sqlite/TurnStore.js"
import { TurnStore } from "../../../src/services/conversation/TurnStore.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { markers, origins } from "../../contract/TurnStore.js"
import { turn } from "../../contract/turns.js"
import { layerMemory } from "./temporary.js"

const write = <A, E>(step: Effect.Effect<A, E, Transaction>) =>
  Effect.flatMap(Database, (database) => database.write("test", step))

const run = (statement: string) => write(Effect.flatMap(Transaction, (sql) => sql.unsafe(statement)))

const begin = (facts: Parameters<typeof turn>[0]) =>
  Effect.flatMap(TurnStore, (store) => Effect.exit(write(store.begin(turn(facts), null))))

/** Children that must not be, each with the one trigger that says no to it. */
const wrong = [
  { trigger: "turns_marker_inherited", child: { marker: markers.notCron, origin: origins.routing } },
  { trigger: "turns_marker_inherited", child: { marker: markers.otherRun, origin: origins.routing } },
  { trigger: "turns_origin_inherited", child: { marker: markers.cron, origin: origins.liveOther } },
  { trigger: "turns_origin_inherited", child: { marker: markers.cron, origin: origins.cleared } }
] as const

for (const { child, trigger } of wrong)
  layer(Layer.provideMerge(TurnStoreLayer.layer, layerMemory))((it) => {
    it.effect(`${trigger} refuses ${child.marker._tag} ${child.origin._tag}; without it the row is accepted`, () =>
      Effect.gen(function* () {
        yield* begin({ id: "parent", marker: markers.cron, origin: origins.live })
        assert.isTrue(Exit.isFailure(yield* begin({ id: "child", parent: "parent", ...child })))
        yield* run(`DROP TRIGGER ${trigger}`)
        assert.isTrue(Exit.isSuccess(yield* begin({ id: "child", parent: "parent", ...child })))
      })
    )
  })

layer(Layer.provideMerge(TurnStoreLayer.layer, layerMemory))((it) => {
  it.effect("no fact of a turn can be updated; without the trigger it can", () =>
    Effect.gen(function* () {
      yield* begin({ id: "fixed", marker: markers.cron, origin: origins.live })
      const updates = [
        "id",
        "depth",
        "identity",
        "marker",
        "origin",
        "presence",
        "async_delivery",
        "working_directory"
      ].map((column) => `UPDATE turns SET ${column} = '{}' WHERE id = 'fixed'`)
      for (const update of updates) assert.isTrue(Exit.isFailure(yield* Effect.exit(run(update))), update)
      yield* run(`UPDATE turns SET state = 'ended' WHERE id = 'fixed'`)
      yield* run("DROP TRIGGER turns_facts_fixed")
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(run(updates[3]!))))
    })
  )

  it.effect("a turn cannot be replaced by another of its id; without the trigger it can", () =>
    Effect.gen(function* () {
      yield* begin({ id: "replaced", origin: origins.live })
      const replace = `REPLACE INTO turns SELECT id, parent_id, depth, identity, '{"_tag":"Unset"}', origin, presence,
        async_delivery, working_directory, inbox_id, state, outcome, started_at, ended_at, strikes, owner
        FROM turns WHERE id = 'replaced'`
      assert.isTrue(Exit.isFailure(yield* Effect.exit(run(replace))))
      yield* run("DROP TRIGGER turns_never_replaced")
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(run(replace))))
    })
  )

  it.effect("a duplicate message is dropped by the index; without it there are two rows", () =>
    Effect.gen(function* () {
      const insert = (id: string) =>
        Effect.exit(
          run(`INSERT INTO inbound_events (id, session_key, platform, bot_id, chat_id, message_id, event, arrival, accepted_at, state)
            VALUES ('${id}', 'k', 'telegram', '', '1', 'm', '{}', '{}', 1, 'accepted')`)
        )
      assert.isTrue(Exit.isSuccess(yield* insert("one")))
      assert.isTrue(Exit.isFailure(yield* insert("two")))
      yield* run("DROP INDEX inbound_events_once")
      assert.isTrue(Exit.isSuccess(yield* insert("two")))
    })
  )
})
