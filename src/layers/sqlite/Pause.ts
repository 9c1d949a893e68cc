import { Clock, Effect, Layer, Schema } from "effect"
import { Pause, Paused } from "../../services/operation/Pause.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const key = "gateway.paused"

const Stored = Schema.parseJson(Paused)
const one = Rows.first(Schema.Struct({ value: Stored }))
const encode = Schema.encodeSync(Stored)

/** The pause as a row that outlives the process; read once, since only this process changes it while it owns the home. */
export const layer = Layer.effect(
  Pause,
  Effect.gen(function* () {
    const database = yield* Database
    const listeners: Array<Effect.Effect<void>> = []
    let current =
      (yield* database.read("pause.current", (sql) => one(sql`SELECT value FROM meta WHERE key = ${key}`)))?.value ??
      null

    return Pause.of({
      current: Effect.sync(() => current),
      begin: ({ by, reason }) =>
        Effect.gen(function* () {
          if (current !== null) return current
          const paused: Paused = { at: yield* Clock.currentTimeMillis, by, reason }
          // Nothing begins from here on, also while the row is on its way.
          current = paused
          yield* database
            .write(
              "pause.begin",
              Effect.flatMap(Transaction, (sql) =>
                Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, ${encode(paused)})
                  ON CONFLICT (key) DO UPDATE SET value = excluded.value`)
              )
            )
            .pipe(
              Effect.onError(() =>
                Effect.sync(() => {
                  current = null
                })
              )
            )
          return paused
        }).pipe(Effect.uninterruptible),
      lift: Effect.gen(function* () {
        if (current === null) return false
        yield* database.write(
          "pause.lift",
          Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`DELETE FROM meta WHERE key = ${key}`))
        )
        current = null
        yield* Effect.forEach(listeners, (told) => told, { discard: true })
        return true
      }).pipe(Effect.uninterruptible),
      whenLifted: (told) =>
        Effect.sync(() => {
          listeners.push(told)
        })
    })
  })
)
