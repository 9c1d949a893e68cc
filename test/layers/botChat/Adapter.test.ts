import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import * as BotChat from "../../../src/layers/botChat/Adapter.js"
import * as WebAdapter from "../../../src/layers/web/Adapter.js"
import { Delivery, type Outgoing } from "../../../src/services/delivery/Delivery.js"
import { Outbox } from "../../../src/services/delivery/Outbox.js"
import { TargetResolver } from "../../../src/services/delivery/TargetResolver.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { Transcript } from "../../../src/services/session/Transcript.js"
import { gateway } from "../../../src/testing/Gateway.js"

const home = Layer.mergeAll(BotChat.layer, WebAdapter.layer).pipe(
  Layer.provideMerge(gateway({ model: () => "I have noted it." }))
)

const to = (cause: Outgoing["cause"]): Outgoing => ({
  cause,
  address: address({ platform: "bot-chat", chatId: "bot-chat" }),
  text: "the nightly report",
  via: "explicit",
  transcriptId: null,
  replyToPerson: false
})

describe("the Bot Chat", () => {
  it.scopedLive("makes a job's words a turn of this home's own, once, and answers nowhere else", () =>
    Effect.gen(function* () {
      const activity = yield* Activity
      const delivery = yield* Delivery
      const ended = yield* activity.watch((event) => event._tag === "turn.ended")
      const sent = yield* delivery.deliver(to({ kind: "cron", id: "run_1" }))
      assert.isTrue(sent.ok, sent.problem ?? "")
      const [last] = yield* ended.take
      assert.include(last, { outcome: "answered", sessionId: "ses_bot_chat" })
      const rows = yield* Effect.flatMap(Transcript, (all) => all.load(SessionId.make("ses_bot_chat")))
      assert.deepStrictEqual(
        rows.map(({ message }) => message._tag),
        ["user", "assistant"]
      )
      assert.match(rows[0]?.message.text ?? "", /scheduled job.*not the person[^]*the nightly report/)
      // The same row again is the same message.
      const again = yield* delivery.dispatch(sent.deliveries)
      assert.strictEqual(again.deliveries[0]?.id, sent.deliveries[0]?.id)
      const all = yield* Effect.flatMap(Outbox, (outbox) => outbox.list({ limit: 10 }))
      assert.deepStrictEqual(all.map(({ address: at, state }) => [at.platform, state]).toSorted(), [
        ["bot-chat", "sent"],
        ["web", "sent"]
      ])
      const offered = yield* Effect.flatMap(TargetResolver, ({ choices }) => choices)
      assert.include(
        offered.map(({ target }) => target),
        "bot-chat"
      )
      const other = yield* Effect.flatMap(TargetResolver, ({ route }) => route("bot-chat:work", null))
      assert.strictEqual(other.problems[0]?.error._tag, "OtherProfile")
    }).pipe(Effect.provide(home))
  )
})
