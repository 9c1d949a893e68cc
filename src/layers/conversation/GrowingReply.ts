/** What a person sees of an answer before it is whole: a sign that somebody writes, and words that grow (gateway.md 3.6). */
import { Effect, type Scope } from "effect"
import * as Deadlines from "../../fibers/Deadlines.js"
import type * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Turn from "../../fibers/Turn.js"
import type { Speech } from "../../services/agent/Agent.js"
import type { Delivery, ReplyStream } from "../../services/delivery/Delivery.js"
import type { DeliveryRow } from "../../services/delivery/Outbox.js"
import type { StateError } from "../../services/state/StateError.js"

/** An answer that is there within it needs no sign, and under load a sign for each would be what makes it late. */
const typingDelayMillis = 1_000
const typingInterval = "2 seconds"

/** Shows that somebody writes for as long as an effect runs, once `begins` has run; where there is no address, only that is done. */
export type Typing = (
  address: DeliveryOrigin.Address | null,
  begins: Effect.Effect<void>
) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** A worker shows it, which begins only where an answer takes its time: most need none. */
export const makeTyping = (
  delivery: Pick<typeof Delivery.Service, "typing">
): Effect.Effect<Typing, never, Scope.Scope> =>
  Effect.zipWith(Deadlines.make, Turn.workerRunner(), (deadlines, runner) => {
    const show = (address: DeliveryOrigin.Address): Effect.Effect<never> =>
      delivery.typing(address).pipe(Effect.zipRight(Effect.sleep(typingInterval)), Effect.forever)
    return (address, begins) => (self) =>
      Effect.suspend(() => {
        let shown: Turn.TurnFiber<void> | null = null
        const cancel = deadlines.after(typingDelayMillis, () => {
          shown = runner.fork(address === null ? begins : Effect.zipRight(begins, show(address)))
        })
        return Effect.ensuring(
          self,
          Effect.suspend(() => {
            cancel()
            return shown === null ? Effect.void : Turn.interruptSoon(shown)
          })
        )
      })
  })

export interface GrowingReply {
  readonly speech: Speech
  /** The row that it grows in; null where nothing was shown yet, or nothing can be. */
  readonly started: Effect.Effect<DeliveryRow | null, StateError>
  readonly abandon: Effect.Effect<void>
}

const silent: GrowingReply = {
  speech: { update: () => Effect.void, segment: Effect.void },
  started: Effect.succeed(null),
  abandon: Effect.void
}

/** Opened with the first words, on surfaces that can edit; nothing is shown where there is no address. */
export const make = (
  delivery: typeof Delivery.Service,
  address: DeliveryOrigin.Address | null,
  turn: Turn.Turn
): Effect.Effect<GrowingReply> =>
  address === null
    ? Effect.succeed(silent)
    : Effect.sync(() => {
        let opened: ReplyStream | null = null
        let isAsked = false
        const stream = Effect.suspend(() =>
          isAsked
            ? Effect.succeed(opened)
            : Effect.map(
                delivery.stream({ cause: { kind: "turn", id: turn.id }, address, via: "origin", replyToPerson: true }),
                (made) => {
                  isAsked = true
                  return (opened = made)
                }
              )
        )
        return {
          speech: {
            update: (text: string) => Effect.flatMap(stream, (reply) => reply?.update(text) ?? Effect.void),
            segment: Effect.suspend(() => opened?.segment ?? Effect.void)
          },
          started: Effect.suspend(() => opened?.started ?? Effect.succeed(null)),
          abandon: Effect.suspend(() => opened?.abandon ?? Effect.void)
        }
      })
