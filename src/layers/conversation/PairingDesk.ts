/** Lets a stranger in and tells them so where they asked: the same over the API and without a gateway. */
import { Effect } from "effect"
import { Pairing } from "../../services/conversation/Pairing.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { DeliveryRow } from "../../services/delivery/Outbox.js"
import { Ids } from "../../services/operation/Ids.js"

/** The words go on without whoever waits for them. */
const patience = "5 seconds"

export const make = Effect.gen(function* () {
  const pairing = yield* Pairing
  const delivery = yield* Delivery
  const ids = yield* Ids

  return {
    /** The words are a row of the transaction that lets them in; who waits for this does not wait long for the platform. */
    approve: Effect.fn("PairingDesk.approve")((platform: string, code: string) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const notice = Notice.pairingApproved()
          let written: ReadonlyArray<DeliveryRow> = []
          const user = yield* pairing.approve(platform, code, (address) =>
            Effect.gen(function* () {
              const rows = yield* delivery.prepare({
                cause: { kind: "notice", id: `${notice.code}:${yield* ids.next("event")}` },
                address,
                text: notice.text,
                via: "explicit",
                replyToPerson: false
              })
              return Effect.map(rows(null), (inserted) => void (written = inserted))
            })
          )
          yield* Effect.flatMap(delivery.begin(written), (ended) =>
            restore(Effect.timeoutOption(ended, patience))
          ).pipe(Effect.ignoreLogged)
          return user
        })
      )
    )
  }
})
