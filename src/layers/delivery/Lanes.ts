/** One at a time per key, in the order of asking. A lane exists while somebody is in it; it is a line to wait in and no fiber, so it carries nobody. */
import { Deferred, Effect } from "effect"

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

    const enter = (key: string, turn: Deferred.Deferred<void>): Effect.Effect<boolean> =>
      Effect.suspend(() => {
        const line = lines.get(key)
        if (line === undefined) {
          lines.set(key, [turn])
          return Effect.as(Deferred.succeed(turn, undefined), true)
        }
        if (line.length >= capacity) return Effect.succeed(false)
        line.push(turn)
        return Effect.succeed(true)
      })

    const leave = (key: string, turn: Deferred.Deferred<void>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const line = lines.get(key) ?? []
        line.splice(line.indexOf(turn), 1)
        const [first] = line
        if (first !== undefined) return Deferred.succeed(first, undefined)
        lines.delete(key)
        return Effect.void
      })

    return {
      inOrder: (key) => (self) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const turn = yield* Deferred.make<void>()
            if (!(yield* enter(key, turn))) return null
            return yield* restore(Effect.zipRight(Deferred.await(turn), self)).pipe(Effect.ensuring(leave(key, turn)))
          })
        ),
      size: Effect.sync(() => lines.size)
    } satisfies Lanes
  })
