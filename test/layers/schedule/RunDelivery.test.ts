/** What a run's record says of its delivery, whatever became of it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as RunDelivery from "../../../src/layers/schedule/RunDelivery.js"
import { Continuation } from "../../../src/services/delivery/Continuation.js"
import { type Delivered, Delivery } from "../../../src/services/delivery/Delivery.js"
import { DeliveryRow, Outbox } from "../../../src/services/delivery/Outbox.js"
import { TargetResolver } from "../../../src/services/delivery/TargetResolver.js"
import { at } from "../delivery/support.js"

const row = (state: DeliveryRow["state"], reason: string | null): DeliveryRow =>
  new DeliveryRow({
    id: "dlv_1",
    cause: { kind: "cron", id: "run_1" },
    address: at("-100", "7"),
    part: 1,
    parts: 1,
    text: "news",
    transcriptId: null,
    via: "explicit",
    state,
    platformMessageId: state === "sent" ? "5" : null,
    attempts: 1,
    reason,
    resendOf: null,
    replyToPerson: false,
    turnId: null,
    sessionKey: null,
    isCron: true,
    createdAt: 0,
    settledAt: 1,
    notBefore: null
  })

const outcomeOf = (delivered: Delivered) =>
  Effect.flatMap(RunDelivery.make, (post) => post.send([delivered.deliveries], [])).pipe(
    Effect.provide(
      Layer.mergeAll(
        Layer.mock(Delivery, { dispatch: () => Effect.succeed(delivered) }),
        Layer.mock(TargetResolver, {}),
        Layer.mock(Continuation, {}),
        Layer.mock(Outbox, {})
      )
    )
  )

const made = RunDelivery.make.pipe(
  Effect.provide(
    Layer.mergeAll(
      Layer.mock(Delivery, {}),
      Layer.mock(TargetResolver, {}),
      Layer.mock(Continuation, {}),
      Layer.mock(Outbox, { get: () => Effect.succeed(null) })
    )
  )
)

describe("a run's delivery", () => {
  it.effect("beside a topic that is gone went well, and says where it arrived", () =>
    Effect.gen(function* () {
      const deliveries = [row("sent", "its topic is gone; sent to the chat itself")]
      assert.deepStrictEqual(yield* outcomeOf({ deliveries, ok: true, problem: null, left: [] }), {
        status: "ok",
        problem: null,
        note: "telegram:-100:7: its topic is gone; sent to the chat itself",
        isOut: true
      })
      const plain = yield* outcomeOf({ deliveries: [row("sent", null)], ok: true, problem: null, left: [] })
      assert.deepStrictEqual(plain, { status: "ok", problem: null, note: null, isOut: true })
    })
  )

  it.effect("of which nothing was there to send did not go well", () =>
    Effect.gen(function* () {
      const outcome = yield* outcomeOf({ deliveries: [], ok: false, problem: "there was nothing to send", left: [] })
      assert.deepInclude(outcome, { status: "delivery_failed", problem: "there was nothing to send", isOut: false })
    })
  )

  it.effect("is out once one target has it or will have it, and not while that is in doubt", () =>
    Effect.gen(function* () {
      const isOut = (...states: ReadonlyArray<DeliveryRow["state"]>) =>
        Effect.map(
          Effect.flatMap(made, (post) =>
            post.standing(
              states.map((state) => [row(state, null)]),
              []
            )
          ),
          (outcome) => outcome.isOut
        )
      assert.isTrue(yield* isOut())
      assert.isTrue(yield* isOut("failed", "sent"))
      assert.isTrue(yield* isOut("pending"))
      assert.isFalse(yield* isOut("failed"))
      assert.isFalse(yield* isOut("unknown", "sending"))
      assert.isFalse((yield* Effect.flatMap(made, (post) => post.standing([], ["telegram: no home"]))).isOut)
    })
  )
})
