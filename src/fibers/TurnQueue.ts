/** A bounded queue whose items carry their turn; its consumer carries nobody and enters each item's turn in its place. */
import { Cause, Effect, Queue } from "effect"
import { detached } from "./internal/leave.js"
import { Parcel } from "./Parcel.js"
import type { CurrentTurn } from "./Turn.js"

export interface TurnQueue<in out A> {
  /** False when the queue is full: nothing was taken, and the caller says so to whoever offered. */
  readonly offer: (value: A) => Effect.Effect<boolean, never, CurrentTurn>
  readonly size: Effect.Effect<number>
  /**
   * Handles item after item, each inside its own turn. An item that fails or is interrupted is logged and never stops
   * the next; only the interruption of the consumer itself does.
   */
  readonly consume: <E, R>(
    handle: (value: A) => Effect.Effect<void, E, R>
  ) => Effect.Effect<never, never, Exclude<R, CurrentTurn>>
}

/** A queue that refuses at `capacity` items. */
export const make = <A>(capacity: number): Effect.Effect<TurnQueue<A>> =>
  Effect.map(Queue.dropping<Parcel<A>>(capacity), (queue) => ({
    offer: (value) => Effect.flatMap(Parcel.pack(value), (parcel) => Queue.offer(queue, parcel)),
    size: Effect.map(Queue.size(queue), (size) => Math.max(0, size)),
    consume: (handle) =>
      Queue.take(queue).pipe(
        Effect.flatMap((parcel) =>
          Parcel.open(parcel, handle).pipe(
            Effect.catchAllCause((cause) =>
              Cause.isInterruptedOnly(cause)
                ? Effect.logWarning("a queued item was interrupted")
                : Effect.logError("a queued item failed", cause)
            )
          )
        ),
        Effect.forever,
        detached
      )
  }))
