/** What every layer that provides `TurnStore`, `ToolCallStore` and `DelegationStore` does. */
import { assert, describe, layer as suiteLayer } from "@effect/vitest"
import { Effect, Exit, type Layer } from "effect"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../src/fibers/DeliveryOrigin.js"
import { ToolCallStore } from "../../src/services/agent/ToolCallStore.js"
import { TurnRefused, TurnStore } from "../../src/services/conversation/TurnStore.js"
import { DelegationStore } from "../../src/services/delegation/DelegationStore.js"
import { Database, type Transaction } from "../../src/services/state/Database.js"
import { turn } from "./turns.js"

const write = <A, E>(step: Effect.Effect<A, E, Transaction>) =>
  Effect.flatMap(Database, (database) => database.write("test", step))

const at = (chatId: string, threadId: string | null = null, anchor: string | null = null, platform = "telegram") =>
  DeliveryOrigin.address({ platform, chatId, threadId, anchor })

export const markers = {
  unset: CronMarker.unset,
  notCron: CronMarker.notCron,
  cron: CronMarker.cron({ job: "j", run: "r" }),
  otherRun: CronMarker.cron({ job: "j", run: "s" }),
  otherJob: CronMarker.cron({ job: "k", run: "r" }),
  found: CronMarker.cron({ job: null, run: null }),
  created: CronMarker.cron({ job: "j", run: "r", createdBy: { platform: "telegram", userId: "u" } }),
  createdByOther: CronMarker.cron({ job: "j", run: "r", createdBy: { platform: "telegram", userId: "v" } })
}

export const origins = {
  unset: DeliveryOrigin.unset,
  cleared: DeliveryOrigin.cleared,
  live: DeliveryOrigin.live(at("1")),
  liveAnchored: DeliveryOrigin.live(at("1", null, "m9")),
  liveThread: DeliveryOrigin.live(at("1", "7")),
  liveOther: DeliveryOrigin.live(at("2")),
  livePlatform: DeliveryOrigin.live(at("1", null, null, "slack")),
  routing: DeliveryOrigin.routing(at("1")),
  routingThread: DeliveryOrigin.routing(at("1", "7")),
  targets: DeliveryOrigin.targets([at("1"), at("2")]),
  targetsAnchored: DeliveryOrigin.targets([at("1", null, "m9"), at("2")]),
  targetsSwapped: DeliveryOrigin.targets([at("2"), at("1")]),
  targetsOne: DeliveryOrigin.targets([at("1")]),
  targetsThread: DeliveryOrigin.targets([at("1", "7"), at("2")])
}

export const suite = (name: string, stores: Layer.Layer<Database | TurnStore | ToolCallStore | DelegationStore>) =>
  describe(`TurnStore ${name}`, () => {
    suiteLayer(stores)((it) => {
      it.effect("a turn comes back as it was, whatever its facts", () =>
        Effect.gen(function* () {
          const store = yield* TurnStore
          let number = 0
          for (const marker of Object.values(markers))
            for (const origin of Object.values(origins)) {
              const made = turn({
                id: `kept-${(number += 1)}`,
                marker,
                origin,
                asyncDelivery: [true, false, null][number % 3]!
              })
              yield* write(store.begin(made, number % 2 === 0 ? null : `evt-${number}`))
              const row = yield* store.get(made.id)
              assert.deepStrictEqual(row?.turn.identity, made.identity)
              assert.isTrue(CronMarker.same(row!.turn.marker, marker))
              assert.deepStrictEqual({ ...row?.turn }, { ...made })
              assert.strictEqual(row?.inboxId, number % 2 === 0 ? null : `evt-${number}`)
              yield* write(store.end(made.id, "answered"))
            }
          assert.isNull(yield* store.get("none"))
        })
      )

      it.effect("a child is refused exactly when its marker or origin is not its parent's (decision 8)", () =>
        Effect.gen(function* () {
          const store = yield* TurnStore
          let number = 0
          const check = (
            parent: { marker: CronMarker.CronMarker; origin: DeliveryOrigin.DeliveryOrigin },
            child: { marker: CronMarker.CronMarker; origin: DeliveryOrigin.DeliveryOrigin }
          ) =>
            Effect.gen(function* () {
              number += 1
              const [parentId, childId] = [`parent-${number}`, `child-${number}`]
              yield* write(store.begin(turn({ id: parentId, ...parent }), null))
              const exit = yield* Effect.exit(
                write(store.begin(turn({ id: childId, parent: parentId, ...child }), null))
              )
              const same =
                CronMarker.same(parent.marker, child.marker) && DeliveryOrigin.continues(parent.origin, child.origin)
              assert.strictEqual(Exit.isSuccess(exit), same, JSON.stringify({ parent, child }))
              if (!same) assert.instanceOf(yield* Effect.flip(exit), TurnRefused)
              assert.strictEqual((yield* store.get(childId)) !== null, same)
            })
          for (const parent of Object.values(markers))
            for (const child of Object.values(markers))
              yield* check({ marker: parent, origin: origins.live }, { marker: child, origin: origins.routing })
          for (const parent of Object.values(origins))
            for (const child of Object.values(origins))
              yield* check({ marker: markers.cron, origin: parent }, { marker: markers.cron, origin: child })
        })
      )

      it.effect("an orphan and a second turn of the same id are refused, and take nothing with them", () =>
        Effect.gen(function* () {
          const store = yield* TurnStore
          const orphan = yield* Effect.flip(write(store.begin(turn({ id: "orphan", parent: "nobody" }), null)))
          assert.instanceOf(orphan, TurnRefused)
          yield* write(store.begin(turn({ id: "twice", chatId: "1" }), null))
          assert.instanceOf(
            yield* Effect.flip(write(store.begin(turn({ id: "twice", chatId: "2" }), null))),
            TurnRefused
          )
          const kept = yield* store.get("twice")
          assert.deepStrictEqual(kept?.turn.identity, turn({ id: "twice", chatId: "1" }).identity)
          yield* write(store.end("twice", "failed"))
        })
      )

      it.effect("a turn runs, answers and ends once; its strikes are counted while it is open", () =>
        Effect.gen(function* () {
          const store = yield* TurnStore
          const before = (yield* store.open).length
          yield* write(store.begin(turn({ id: "life" }), "evt"))
          assert.strictEqual((yield* store.get("life"))?.state, "running")
          yield* write(store.answering("life"))
          assert.strictEqual((yield* store.get("life"))?.state, "answering")
          assert.strictEqual((yield* store.open).length, before + 1)
          assert.strictEqual(yield* write(store.strike("life")), 1)
          assert.strictEqual(yield* write(store.strike("life")), 2)
          yield* write(store.end("life", "interrupted"))
          yield* write(store.end("life", "answered"))
          yield* write(store.answering("life"))
          const ended = yield* store.get("life")
          assert.deepStrictEqual([ended?.state, ended?.outcome, ended?.strikes], ["ended", "interrupted", 2])
          assert.isNotNull(ended?.endedAt)
          assert.strictEqual(yield* write(store.strike("life")), 0)
          assert.strictEqual((yield* store.open).length, before)
        })
      )

      it.effect("tool calls keep their order over answers, and a settled one stays settled", () =>
        Effect.gen(function* () {
          const calls = yield* ToolCallStore
          yield* write(
            calls.record("turn-a", [
              { callId: "1", tool: "terminal" },
              { callId: "2", tool: "read_file" }
            ])
          )
          yield* write(calls.record("turn-a", []))
          yield* write(calls.record("turn-a", [{ callId: "3", tool: "terminal" }]))
          yield* write(calls.record("turn-b", [{ callId: "1", tool: "terminal" }]))
          yield* write(calls.advance("turn-a", "1", "waiting"))
          yield* write(calls.advance("turn-a", "2", "settled"))
          yield* write(calls.advance("turn-a", "2", "started"))
          assert.deepStrictEqual(
            (yield* calls.ofTurn("turn-a")).map(({ callId, position, state }) => [callId, position, state]),
            [
              ["1", 0, "waiting"],
              ["2", 1, "settled"],
              ["3", 2, "recorded"]
            ]
          )
          assert.strictEqual((yield* calls.ofTurn("turn-b")).length, 1)
          assert.isTrue(Exit.isFailure(yield* Effect.exit(write(calls.record("turn-a", [{ callId: "1", tool: "x" }])))))
        })
      )

      it.effect("a delegation has one outcome, and a dead parent's are abandoned", () =>
        Effect.gen(function* () {
          const delegations = yield* DelegationStore
          const insert = (id: string, parentTurnId: string) =>
            write(
              delegations.insert({
                id,
                parentTurnId,
                childTurnId: `c-${id}`,
                childSessionId: `s-${id}`,
                callId: "1",
                goal: id
              })
            )
          yield* Effect.all([insert("d1", "p1"), insert("d2", "p1"), insert("d3", "p2")])
          yield* write(delegations.settle("d1", "completed", "done"))
          yield* write(delegations.settle("d1", "failed", "no"))
          assert.strictEqual(yield* write(delegations.abandon("p1")), 1)
          assert.strictEqual(yield* write(delegations.abandon("p1")), 0)
          assert.deepStrictEqual(
            (yield* delegations.running).map((one) => [one.id, one.goal, one.childSessionId]),
            [["d3", "d3", "s-d3"]]
          )
        })
      )
    })
  })
