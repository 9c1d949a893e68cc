import { Clock, Effect, Layer, Schema } from "effect"
import { Cooldowns, nameOf, Seat } from "../../services/agent/Cooldowns.js"
import { Millis } from "../../services/operation/Instant.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Memory from "../models/Cooldowns.js"
import * as Rows from "./Rows.js"

/** A cooldown that was begun later than this from now was written by a clock that was ahead: nobody waits for its time. */
const aheadMillis = 60_000

const StoredSeat = Schema.transform(
  Schema.parseJson(
    Schema.Tuple(Schema.String, Schema.String, Schema.NullOr(Schema.String), Schema.NullOr(Schema.String))
  ),
  Seat,
  {
    strict: true,
    decode: ([provider, model, baseUrl, credential]) => ({ provider, model, baseUrl, credential }),
    encode: ({ baseUrl, credential, model, provider }) => [provider, model, baseUrl, credential] as const
  }
)

const rows = Rows.all(
  Schema.Struct({ seat: StoredSeat, since: Millis, until: Millis, reason: Schema.String }),
  "cooldowns"
)

/**
 * Cooldowns as rows, asked for anew each time, so that a restart knows what the last process learned, and each process
 * of a home what the others do. In memory where the database cannot be written: nobody is asked too early for that.
 */
export const layer: Layer.Layer<Cooldowns, never, Database> = Layer.effect(
  Cooldowns,
  Effect.gen(function* () {
    const database = yield* Database
    const memory = yield* Memory.make

    const stored = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      database.read("cooldowns.current", (sql) =>
        rows(sql`SELECT seat, since, until, reason FROM cooldowns
          WHERE until > ${now} AND since <= ${now + aheadMillis} ORDER BY until`)
      )
    )

    const unheard = (what: string) => (error: { readonly message: string }) =>
      Effect.logWarning(what).pipe(Effect.annotateLogs({ detail: error.message }))

    return Cooldowns.of({
      begin: (seat, millis, reason) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          yield* database.write(
            "cooldowns.begin",
            Effect.gen(function* () {
              const sql = yield* Transaction
              yield* sql`DELETE FROM cooldowns WHERE until <= ${now} OR since > ${now + aheadMillis}`
              yield* sql`INSERT INTO cooldowns (seat, since, until, reason)
                VALUES (${nameOf(seat)}, ${now}, ${now + millis}, ${reason})
                ON CONFLICT (seat) DO UPDATE SET since = excluded.since, until = excluded.until, reason = excluded.reason
                  WHERE excluded.until > until`
            })
          )
        }).pipe(
          Effect.catchAll((error) =>
            Effect.zipRight(
              memory.begin(seat, millis, reason),
              unheard("a cooldown could not be stored and ends with this process")(error)
            )
          )
        ),
      current: Effect.gen(function* () {
        const merged = new Map(yield* memory.current)
        const found = yield* Effect.catchAll(stored, (error) =>
          Effect.as(unheard("the cooldowns of the home could not be read")(error), [])
        )
        for (const { seat, until } of found) merged.set(nameOf(seat), Math.max(merged.get(nameOf(seat)) ?? 0, until))
        return merged
      }),
      list: stored,
      lift: (is) =>
        Effect.gen(function* () {
          const lifted = (yield* stored).filter(({ seat }) => is(seat))
          yield* memory.lift(is)
          if (lifted.length > 0)
            yield* database.write(
              "cooldowns.lift",
              Effect.flatMap(Transaction, (sql) =>
                Effect.forEach(lifted, ({ seat }) => sql`DELETE FROM cooldowns WHERE seat = ${nameOf(seat)}`, {
                  discard: true
                })
              )
            )
          return lifted.length
        })
    })
  })
)
