/** A message that the owner has sent once more: which may be, what its copy says, and that it is sent once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { SendRefused, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import { type DeliveryRow, DeliveryState } from "../../../src/services/delivery/Outbox.js"
import { refusal } from "../../../src/services/delivery/Resend.js"
import { durable, life, outgoing, platform } from "./support.js"

const mark = Notice.replyRecovered().text
const uncertain = new SendUncertain({ platform: "telegram", detail: "read timeout" })
const refused = new SendRefused({ platform: "telegram", detail: "chat not found", code: "chat_gone" })

describe("sending once more by hand", () => {
  for (const { error, state, says } of [
    { error: uncertain, state: "unknown", says: `${mark}\n\nthe news` },
    { error: refused, state: "failed", says: "the news" }
  ])
    it.scoped(`what is ${state} goes out once, as a row of its own`, () =>
      Effect.gen(function* () {
        const chat = platform()
        const { delivery, outbox } = yield* life([chat])
        chat.onSend = () => error
        const sent = yield* delivery.deliver(outgoing("1", "the news", { replyToPerson: false }))
        const id = sent.deliveries[0]?.id ?? ""
        assert.strictEqual((yield* outbox.get(id))?.state, state)
        assert.lengthOf(chat.posted, 0)

        chat.onSend = (_message, arrives) => arrives
        const [first, second] = yield* Effect.all(
          [Effect.either(delivery.resend(id)), Effect.either(delivery.resend(id))],
          {
            concurrency: 2
          }
        )
        assert.deepStrictEqual(
          chat.posted.map(({ text }) => text),
          [says]
        )
        for (const answered of [first, second])
          if (answered._tag === "Left") assert.strictEqual(answered.left._tag, "ResendRefused")
          else assert.deepInclude({ ...answered.right.deliveries[0] }, { resendOf: id, state: "sent" })

        const again = yield* Effect.flip(delivery.resend(id))
        assert.match(again.message, /sent once more already, as dlv_/)
        const rows = yield* outbox.list({ limit: 10 })
        const copy = rows.find(({ resendOf }) => resendOf === id)
        assert.match((yield* Effect.flip(delivery.resend(copy?.id ?? ""))).message, /itself the copy/)
        assert.strictEqual((yield* outbox.get(id))?.state, state)
        assert.lengthOf(chat.posted, 1)
      }).pipe(Effect.provide(durable))
    )

  it.scoped("with its platform away the copy waits, and goes out when it is back", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      chat.onSend = () => refused
      const sent = yield* first.delivery.deliver(outgoing("1", "the news"))
      yield* first.stop
      const away = yield* life([])
      const waits = yield* away.delivery.resend(sent.deliveries[0]?.id ?? "")
      assert.deepInclude({ ...waits.deliveries[0] }, { state: "pending" })
      yield* away.stop
      chat.onSend = (_message, arrives) => arrives
      yield* TestClock.adjust("2 seconds")
      const back = yield* life([chat])
      yield* back.delivery.recover
      assert.isTrue(chat.posted.some(({ text }) => text === "the news"))
    }).pipe(Effect.provide(durable))
  )

  it.scoped("nothing else is: neither what has arrived nor what nobody knows", () =>
    Effect.gen(function* () {
      const chat = platform()
      const { delivery } = yield* life([chat])
      const sent = yield* delivery.deliver(outgoing("1", "the news"))
      const row = sent.deliveries[0]
      assert.match((yield* Effect.flip(delivery.resend(row?.id ?? ""))).message, /it has arrived/)
      assert.strictEqual((yield* Effect.flip(delivery.resend("dlv_none")))._tag, "DeliveryNotFound")
      const may = DeliveryState.literals.filter(
        (state) => row !== undefined && refusal({ ...row, state } satisfies DeliveryRow, []) === null
      )
      assert.deepStrictEqual(may, ["failed", "unknown"])
      assert.lengthOf(chat.posted, 1)
    }).pipe(Effect.provide(durable))
  )
})
