import { Chunk, Effect, Layer, Mailbox } from "effect"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"

/** Events that a subscriber may be behind before it loses its oldest ones. */
export const capacity = 1_024

interface Subscriber {
  readonly wanted: (event: ActivityEvent) => boolean
  readonly mailbox: Mailbox.Mailbox<ActivityEvent>
}

const make = Effect.sync(() => {
  const subscribers = new Set<Subscriber>()

  const open = (wanted: Subscriber["wanted"]) =>
    Effect.acquireRelease(
      Effect.map(Mailbox.make<ActivityEvent>({ capacity, strategy: "sliding" }), (mailbox) => {
        const subscriber: Subscriber = { wanted, mailbox }
        subscribers.add(subscriber)
        return subscriber
      }),
      (subscriber) =>
        Effect.suspend(() => {
          subscribers.delete(subscriber)
          return subscriber.mailbox.shutdown
        })
    ).pipe(Effect.map((subscriber) => subscriber.mailbox))

  return Activity.of({
    publish: (event) =>
      Effect.sync(() => {
        for (const subscriber of subscribers) if (subscriber.wanted(event)) subscriber.mailbox.unsafeOffer(event)
      }),
    watch: (wanted) =>
      Effect.map(open(wanted), (mailbox) => ({
        take: Effect.map(mailbox.takeAll, ([events]) => Chunk.toReadonlyArray(events))
      })),
    subscribe: Effect.map(
      open(() => true),
      Mailbox.toStream
    )
  })
})

/** In process: what happens here is told to whoever listens here. */
export const layer: Layer.Layer<Activity> = Layer.effect(Activity, make)
