/** Puts rows into a home's database as a gateway would have, through the stores. */
import { Effect, Layer } from "effect"
import path from "node:path"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as ApprovalStoreLayer from "../../../src/layers/sqlite/ApprovalStore.js"
import * as DatabaseLayer from "../../../src/layers/sqlite/Database.js"
import * as OutboxLayer from "../../../src/layers/sqlite/Outbox.js"
import * as PairingLayer from "../../../src/layers/sqlite/Pairing.js"
import * as TurnStoreLayer from "../../../src/layers/sqlite/TurnStore.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import { ApprovalRow } from "../../../src/services/approval/Approval.js"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.js"
import { TurnStore } from "../../../src/services/conversation/TurnStore.js"
import { Outbox } from "../../../src/services/delivery/Outbox.js"
import { Pairing } from "../../../src/services/conversation/Pairing.js"
import { Database } from "../../../src/services/state/Database.js"

const stores = (home: string) =>
  Layer.mergeAll(ApprovalStoreLayer.layer, OutboxLayer.layer, PairingLayer.layer, TurnStoreLayer.layer).pipe(
    Layer.provideMerge(Layer.merge(DatabaseLayer.layer({ file: path.join(home, "state.db") }), Ids.layer))
  )

type Stores = Layer.Layer.Success<ReturnType<typeof stores>>

export const within = <A, E>(home: string, effect: Effect.Effect<A, E, Stores>): Promise<A> =>
  Effect.runPromise(Effect.provide(effect, stores(home)))

/** The code that a stranger was shown. */
export const offered = (home: string, userId: string): Promise<string> =>
  within(
    home,
    Effect.flatMap(Pairing, (pairing) =>
      pairing.offer(DeliveryOrigin.address({ platform: "telegram", chatId: userId }), userId, "Mallory\u001b[31m")
    ).pipe(Effect.map((offer) => (offer._tag === "Offered" ? offer.code : "")))
  )

/** An open question of the agent. */
export const asked = (home: string, id: string): Promise<void> =>
  within(
    home,
    Effect.gen(function* () {
      const database = yield* Database
      const store = yield* ApprovalStore
      const now = Date.now()
      yield* database.write(
        "test.ask",
        store.insert(
          new ApprovalRow({
            id,
            sessionKey: "agent:main:telegram:dm:7",
            turnId: "trn_test",
            callId: "call_test",
            tool: "terminal",
            subject: "rm -r build",
            reasons: ["it deletes"],
            state: "open",
            askedAt: now,
            expiresAt: now + 300_000,
            answeredAt: null,
            answer: null,
            by: null
          })
        )
      )
    })
  )

/** A message that its platform refused; its id. */
export const undelivered = (home: string): Promise<string> =>
  within(
    home,
    Effect.gen(function* () {
      const database = yield* Database
      const outbox = yield* Outbox
      return yield* database.write(
        "test.undelivered",
        Effect.gen(function* () {
          const [row] = yield* outbox.insert([
            {
              cause: { kind: "command", id: "call_refused" },
              address: DeliveryOrigin.address({ platform: "telegram", chatId: "7" }),
              text: "the tea is ready",
              part: 1,
              parts: 1,
              transcriptId: null,
              via: "explicit",
              state: "sending",
              replyToPerson: false,
              resendOf: null,
              turnId: null,
              sessionKey: null,
              isCron: false
            }
          ])
          const id = row?.id ?? "none"
          yield* outbox.settle(id, { state: "failed", reason: "telegram refused the message (forbidden): blocked" })
          return id
        })
      )
    })
  )

/** Turns that nobody has ended. */
export const openTurns = (home: string): Promise<number> =>
  within(
    home,
    Effect.flatMap(TurnStore, (turns) => Effect.map(turns.open, (rows) => rows.length))
  )
