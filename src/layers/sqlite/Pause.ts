import { Clock, Effect, Layer } from "effect"
import { Pause, Paused } from "../../services/operation/Pause.js"
import { Database } from "../../services/state/Database.js"
import * as Meta from "./Meta.js"

const stored = Meta.fact("gateway.paused", Paused)

/** The pause as a row that outlives the process; read once, since only this process changes it while it owns the home. */
export const layer = Layer.effect(
  Pause,
  Effect.gen(function* () {
    const database = yield* Database
    const listeners: Array<Effect.Effect<void>> = []
    // What is asked for while a pause is being lifted comes after that: it was confirmed, and lifted with it.
    const oneByOne = (yield* Effect.makeSemaphore(1)).withPermits(1)
    let current = yield* stored.get

    return Pause.of({
      current: Effect.sync(() => current),
      begin: ({ by, reason }) =>
        Effect.gen(function* () {
          if (current !== null) return current
          const paused: Paused = { at: yield* Clock.currentTimeMillis, by, reason }
          // Nothing begins from here on, also while the row is on its way.
          current = paused
          yield* Effect.onError(database.write("pause.begin", stored.put(paused)), () =>
            Effect.sync(() => {
              current = null
            })
          )
          return paused
        }).pipe(oneByOne, Effect.uninterruptible),
      lift: Effect.gen(function* () {
        if (current === null) return false
        yield* database.write("pause.lift", stored.remove)
        current = null
        yield* Effect.forEach(listeners, (told) => told, { discard: true })
        return true
      }).pipe(oneByOne, Effect.uninterruptible),
      whenLifted: (told) =>
        Effect.sync(() => {
          listeners.push(told)
        })
    })
  })
)
