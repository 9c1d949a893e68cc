/** A reply that Telegram may have taken, while the gateway lives: once more, marked, and only what a person waits for. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import type { Outgoing } from "../../../src/services/delivery/Delivery.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import { Faults } from "../../../src/testing/TelegramServer.js"
import { durable, life, outgoing, platform } from "../delivery/support.js"
import { connect } from "./connected.js"
import { settle, until } from "./until.js"

const faults = [
  ["a connection lost before it was taken", Faults.drop, false],
  ["a connection lost after it was taken", Faults.drop, true],
  ["a proxy that gave up", Faults.page(502), true]
] as const

/** What stands in the chat after `fault` struck the answer and time went by, in this life and the next. */
const told = (fault: Faults.Fault, accepted: boolean, changes: Partial<Outgoing> = {}) =>
  Effect.gen(function* () {
    const { adapter, server } = yield* connect()
    const chat = server.dm(server.user(1))
    const telegram = { ...platform(), adapter }
    const gateway = yield* life([telegram])
    yield* gateway.delivery.recover
    yield* server.fault("sendMessage", fault, { accepted })
    const { deliveries } = yield* gateway.delivery.deliver(outgoing(String(chat.id), "the answer", changes))
    assert.strictEqual(deliveries[0]?.state, "unknown")
    yield* settle
    yield* TestClock.adjust("6 seconds")
    yield* until("nothing waits", gateway.outbox.inState(["pending", "sending"], 10), (rows) => rows.length === 0)
    yield* gateway.stop
    const next = yield* life([telegram])
    yield* next.delivery.recover
    yield* settle
    const posted = yield* server.posted(chat)
    return posted.flatMap(({ from, text }) => (from.is_bot ? [text] : []))
  }).pipe(Effect.scoped, Effect.provide(durable))

const copy = `${Notice.replyRecovered().text}\n\nthe answer`

describe("a reply in doubt", () => {
  for (const [what, fault, accepted] of faults)
    it.scoped(`comes once more, marked, after ${what}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* told(fault, accepted), accepted ? ["the answer", copy] : [copy])
        assert.deepStrictEqual(
          yield* told(fault, accepted, { replyToPerson: false }),
          accepted ? ["the answer"] : [],
          "what no person waits for"
        )
      })
    )
})
