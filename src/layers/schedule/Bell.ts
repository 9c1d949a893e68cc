import { Effect, Layer, Mailbox } from "effect"
import { Bell } from "../../services/schedule/Bell.js"

/** In process: who changes a job rings, the scheduler hears. */
export const layer: Layer.Layer<Bell> = Layer.scoped(
  Bell,
  Effect.map(
    Effect.acquireRelease(Mailbox.make<void>({ capacity: 1, strategy: "dropping" }), (mailbox) => mailbox.shutdown),
    (mailbox) => ({
      ring: Effect.asVoid(mailbox.offer(undefined)),
      // Once it is gone nobody rings any more: whoever listens waits to be ended.
      heard: Effect.catchAll(mailbox.take, () => Effect.never)
    })
  )
)
