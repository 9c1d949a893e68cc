import { Clock, Effect, Layer, Mailbox } from "effect"
import * as SteadyTime from "../../services/operation/SteadyTime.js"
import { Bell } from "../../services/schedule/Bell.js"
import { aheadMillis } from "../../services/schedule/FireClaim.js"

/** In process: who changes a job rings, the scheduler hears. */
export const layer: Layer.Layer<Bell> = Layer.scoped(
  Bell,
  Effect.map(
    Effect.acquireRelease(Mailbox.make<void>({ capacity: 1, strategy: "dropping" }), (mailbox) => mailbox.shutdown),
    (mailbox) => {
      const ring = Effect.asVoid(mailbox.offer(undefined))
      // Once it is gone nobody rings any more: whoever listens waits to be ended.
      const heard = Effect.catchAll(mailbox.take, () => Effect.never)
      /** When who listens wakes by itself, on the clock that nobody sets; unknown while nobody listens. */
      let wakesAt = Number.POSITIVE_INFINITY
      return Bell.of({
        ring,
        ringFor: (instant) =>
          Effect.flatMap(Effect.all([Clock.currentTimeMillis, SteadyTime.now]), ([now, time]) =>
            instant - aheadMillis - now >= wakesAt - time ? Effect.void : ring
          ),
        heardWithin: (millis) =>
          Effect.flatMap(SteadyTime.now, (time) => {
            wakesAt = time + millis
            return Effect.asVoid(Effect.timeoutOption(heard, millis))
          }).pipe(
            Effect.ensuring(
              Effect.sync(() => {
                wakesAt = Number.POSITIVE_INFINITY
              })
            )
          )
      })
    }
  )
)
