/** Work of a process that is not the gateway is left alone while its lease lives, and is the gateway's afterwards. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope, TestClock } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DatabaseLayer from "../../../src/layers/sqlite/Database.js"
import * as DelegationStoreLayer from "../../../src/layers/sqlite/DelegationStore.js"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as InboxLayer from "../../../src/layers/sqlite/Inbox.js"
import * as InternalEventsLayer from "../../../src/layers/sqlite/InternalEvents.js"
import * as OwnerLease from "../../../src/layers/sqlite/OwnerLease.js"
import * as TurnStoreLayer from "../../../src/layers/sqlite/TurnStore.js"
import { Inbox } from "../../../src/services/conversation/Inbox.js"
import { InboundEvent, Source } from "../../../src/services/conversation/InboundEvent.js"
import { InternalEvents } from "../../../src/services/conversation/InternalEvents.js"
import { TurnStore } from "../../../src/services/conversation/TurnStore.js"
import { DelegationStore } from "../../../src/services/delegation/DelegationStore.js"
import { SessionKey } from "../../../src/services/session/SessionKey.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { turn } from "../../contract/turns.js"

const stores = Layer.mergeAll(InboxLayer.layer, TurnStoreLayer.layer, DelegationStoreLayer.layer)
const base = Layer.mergeAll(DatabaseLayer.layerMemory, Ids.layer)

const event = new InboundEvent({
  source: new Source({
    platform: "",
    surface: "cli",
    botId: null,
    chatId: "ses_1",
    chatName: null,
    chatType: "dm",
    threadId: null,
    parentChatId: null,
    scopeId: null,
    userId: null,
    userIdAlt: null,
    userName: null,
    isBot: false,
    profile: null,
    uiSessionId: null
  }),
  text: "hello",
  messageId: null,
  replyTo: null,
  media: [],
  sentAt: 0,
  sessionId: "ses_1",
  instructions: null
})
const arrival = { asyncDelivery: true, marker: CronMarker.unset, unattended: null, workingDirectory: null }

/** One event, one turn with a delegate running, as a process with these stores leaves them behind. */
const begin = (id: string) =>
  Effect.gen(function* () {
    const database = yield* Database
    const inbox = yield* Inbox
    const turns = yield* TurnStore
    const delegations = yield* DelegationStore
    yield* inbox.accept(SessionKey.make(`agent:main:local:dm:${id}`), event, arrival)
    yield* database.write("begin", turns.begin(turn({ id }), null))
    yield* database.write(
      "delegate",
      delegations.insert({
        id: `dlg_${id}`,
        parentTurnId: id,
        childTurnId: `${id}_child`,
        childSessionId: "ses_2",
        callId: "call_1",
        goal: "help"
      })
    )
  })

/** What a gateway that boots now would take over. */
const found = Effect.gen(function* () {
  const inbox = yield* Inbox
  const turns = yield* TurnStore
  const delegations = yield* DelegationStore
  return {
    events: (yield* inbox.unbegun).length,
    turns: (yield* turns.open).map((row) => row.turn.id as string),
    delegates: (yield* delegations.running).map((row) => row.parentTurnId)
  }
})

const leases = Effect.flatMap(Database, (database) => database.read("leases", (sql) => sql`SELECT name FROM leases`))

describe("the lease of a process without a gateway", () => {
  it.scoped("shields what the process began for as long as it lives, and no longer", () =>
    Effect.gen(function* () {
      const gateway = yield* Layer.build(stores)
      const scope = yield* Scope.make()
      const process = yield* Layer.buildWithScope(stores.pipe(Layer.provideMerge(OwnerLease.layer)), scope)

      yield* Effect.provide(begin("theirs"), process)
      yield* Effect.provide(begin("ours"), gateway)
      assert.deepStrictEqual(yield* Effect.provide(found, gateway), { events: 1, turns: ["ours"], delegates: ["ours"] })

      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual((yield* Effect.provide(found, gateway)).turns, ["ours"], "beats keep it alive")

      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* leases, [], "a clean end takes the row away")
      assert.deepStrictEqual(yield* Effect.provide(found, gateway), {
        events: 2,
        turns: ["ours", "theirs"],
        delegates: ["ours", "theirs"]
      })
    }).pipe(Effect.provide(base))
  )

  it.scoped("is why a gateway looks often for what a process leaves, and a process for what its gateway takes up", () =>
    Effect.gen(function* () {
      const events = InternalEventsLayer.layer
      const mayBeLeft = Effect.flatMap(InternalEvents, (one) => one.mayBeLeft)
      const gateway = yield* Layer.build(events)
      const isLooking = Effect.provide(mayBeLeft, gateway)
      assert.isFalse(yield* isLooking)
      const scope = yield* Scope.make()
      const process = yield* Layer.buildWithScope(events.pipe(Layer.provideMerge(OwnerLease.layer)), scope)
      assert.isTrue(yield* isLooking)
      assert.isTrue(yield* Effect.provide(mayBeLeft, process))
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(yield* isLooking)
    }).pipe(Effect.provide(base))
  )

  it.scoped("ends when it was not renewed in time, and says so", () =>
    Effect.gen(function* () {
      const gateway = yield* Layer.build(stores)
      const context = yield* Layer.build(stores.pipe(Layer.provideMerge(OwnerLease.layer)))
      yield* Effect.provide(begin("theirs"), context)
      const database = yield* Database
      // As after a process was stopped for longer than its lease: the row was not renewed.
      yield* database.write(
        "age",
        Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`UPDATE leases SET expires_at = 0`))
      )
      assert.deepStrictEqual((yield* Effect.provide(found, gateway)).turns, ["theirs"])
      yield* TestClock.adjust("15 seconds")
      yield* Effect.provide(
        Effect.flatMap(OwnerLease.OwnerLease, (lease) => lease.lost),
        context
      )
    }).pipe(Effect.provide(base))
  )
})
