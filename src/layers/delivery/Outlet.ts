/** A message that somebody sends by hand, and the places to pick from: the same over the API and without a gateway. */
import { Effect } from "effect"
import { deliveryView, type SendResult, targetViews } from "../../services/api/Deliveries.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { type Delivered, Delivery } from "../../services/delivery/Delivery.js"
import type { DeliveryRow } from "../../services/delivery/Outbox.js"
import { TargetResolver } from "../../services/delivery/TargetResolver.js"
import { Ids } from "../../services/operation/Ids.js"

export const make = Effect.gen(function* () {
  const registry = yield* AdapterRegistry
  const resolver = yield* TargetResolver
  const delivery = yield* Delivery
  const ids = yield* Ids

  /** An adapter that has given up sends nothing that waits. */
  const obstacleOf = Effect.fnUntraced(function* (rows: ReadonlyArray<DeliveryRow>) {
    const waiting = rows.find(({ state }) => state === "pending")
    const adapter = waiting === undefined ? null : yield* registry.get(waiting.address.platform)
    const state = adapter === null ? null : yield* adapter.state
    return state?._tag === "Failed" ? `${state.error}; ${state.remedy}` : null
  })

  /** As the API answers it; null where nothing was there to send. */
  const resultOf = Effect.fnUntraced(function* ({ deliveries, left, ok, problem }: Delivered) {
    const [first, ...rest] = deliveries.map(deliveryView)
    const said = problem ?? (left.length === 0 ? null : left.join("; "))
    if (first === undefined) return null
    const result: typeof SendResult.Type = {
      delivery: first,
      deliveries: [first, ...rest],
      ok,
      problem: said,
      obstacle: yield* obstacleOf(deliveries)
    }
    return result
  })

  return {
    /** What became of it; the reason alone where there was nothing to send. */
    send: (target: string, text: string) =>
      Effect.gen(function* () {
        const resolved = yield* resolver.resolve(target)
        const sent = yield* delivery.deliver({
          cause: { kind: "send_message", id: yield* ids.next("call") },
          address: resolved.address,
          text,
          via: resolved.via,
          transcriptId: null,
          replyToPerson: false
        })
        return (yield* resultOf(sent)) ?? sent.problem ?? "the message had nothing in it to send"
      }),
    /** One more time what failed or is in doubt. */
    resend: (id: string) =>
      Effect.flatMap(delivery.resend(id), (sent) =>
        Effect.filterOrDieMessage(
          resultOf(sent),
          (result) => result !== null,
          `delivery ${id} was sent again without a row`
        )
      ),
    /** Home channels, the chats that this home has met, and its Bot Chat where there is one. */
    targets: Effect.map(resolver.choices, targetViews)
  }
})
