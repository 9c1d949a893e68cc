/** A message that somebody sends by hand, and the places to pick from: the same over the API and without a gateway. */
import { Effect } from "effect"
import { deliveryView, type SendResult, targetViews } from "../../services/api/Deliveries.js"
import { type Delivered, Delivery } from "../../services/delivery/Delivery.js"
import { TargetResolver } from "../../services/delivery/TargetResolver.js"
import { Ids } from "../../services/operation/Ids.js"

/** As the API answers it; null where nothing was there to send. */
const resultOf = ({ deliveries, left, ok, problem }: Delivered): typeof SendResult.Type | null => {
  const [first, ...rest] = deliveries.map(deliveryView)
  const said = problem ?? (left.length === 0 ? null : left.join("; "))
  return first === undefined ? null : { delivery: first, deliveries: [first, ...rest], ok, problem: said }
}

export const make = Effect.gen(function* () {
  const resolver = yield* TargetResolver
  const delivery = yield* Delivery
  const ids = yield* Ids

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
        return resultOf(sent) ?? sent.problem ?? "the message had nothing in it to send"
      }),
    /** One more time what failed or is in doubt. */
    resend: (id: string) =>
      Effect.flatMap(delivery.resend(id), (sent) =>
        Effect.fromNullable(resultOf(sent)).pipe(
          Effect.orElse(() => Effect.dieMessage(`delivery ${id} was sent again without a row`))
        )
      ),
    /** Home channels, the chats that this home has met, and its Bot Chat where there is one. */
    targets: Effect.map(resolver.choices, targetViews)
  }
})
