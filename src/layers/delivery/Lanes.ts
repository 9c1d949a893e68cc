/** One at a time per key, in the order of asking. A lane exists while somebody is in it; it is a line to wait in and no fiber, so it carries nobody. */
import { Deferred, Effect, FiberId } from "effect"
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

    const leave = (key: string, turn: Deferred.Deferred<void>): void => {
      const line = lines.get(key) ?? []
      line.splice(line.indexOf(turn), 1)
      const [first] = line
      if (first === undefined) lines.delete(key)
      else Deferred.unsafeDone(first, Effect.void)
    }

    return {
      inOrder: (key) => (self) =>
        Effect.uninterruptibleMask((restore) => {
          const turn = Deferred.unsafeMake<void>(FiberId.none)
          const line = lines.get(key)
          if (line !== undefined && line.length >= capacity) return Effect.succeed(null)
          if (line === undefined) lines.set(key, [turn])
          else line.push(turn)
          const served = line === undefined ? self : Effect.zipRight(Deferred.await(turn), self)
          // Nothing interrupts it here, so it needs no finalizer to leave.
          return Effect.flatMap(Effect.exit(restore(served)), (exit) => {
            leave(key, turn)
            return exit
          })
        }),
      size: Effect.sync(() => lines.size)
    } satisfies Lanes
  })
