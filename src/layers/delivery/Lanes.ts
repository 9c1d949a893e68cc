/** One at a time per key, in the order of asking. A lane exists while somebody is in it; it is a line to wait in and no fiber, so it carries nobody. */
import { Deferred, Effect } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"

/** All threads of a chat share its order and its flood control. */
export const laneOf = (address: Pick<Address, "platform" | "chatId">): string =>
  `${address.platform}\n${address.chatId}`

export interface Lanes {
  /**
   * Runs `self` when everybody who asked for `key` before is done. Null, and nothing was run, when `capacity` are in the
   * lane already. Who is interrupted while waiting leaves the line.
   */
  readonly inOrder: (key: string) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A | null, E, R>
  /** Lanes in use. */
  readonly size: Effect.Effect<number>
}

/** Lanes that hold at most `capacity` each, the one who runs included. */
export const make = (capacity: number): Effect.Effect<Lanes> =>
  Effect.sync(() => {
    /** The first of a line runs. */
    const lines = new Map<string, Array<Deferred.Deferred<void>>>()

    const leave = (key: string, turn: Deferred.Deferred<void>): Effect.Effect<void> =>
      Effect.sync(() => {
        const line = lines.get(key) ?? []
        line.splice(line.indexOf(turn), 1)
        const [first] = line
        if (first === undefined) lines.delete(key)
        else Deferred.unsafeDone(first, Effect.void)
      })

    return {
      inOrder: (key) => (self) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(Effect.fiberId, (asking) => {
            const turn = Deferred.unsafeMake<void>(asking)
            const line = lines.get(key)
            if (line === undefined) {
              lines.set(key, [turn])
              return Effect.ensuring(restore(self), leave(key, turn))
            }
            if (line.length >= capacity) return Effect.succeed(null)
            line.push(turn)
            return Effect.ensuring(restore(Effect.zipRight(Deferred.await(turn), self)), leave(key, turn))
          })
        ),
      size: Effect.sync(() => lines.size)
    } satisfies Lanes
  })
