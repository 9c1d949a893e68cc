import { Clock, Deferred, Effect, Layer, Schema, Scope } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { Drain } from "../../services/operation/Drain.js"
import { Restart, RestartRequest } from "../../services/operation/Restart.js"
import { Settings } from "../../services/operation/Settings.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const key = "gateway.restart"

/** What is older was asked of a process that never came back; nobody waits for the word any more. */
const freshMillis = 3_600_000

const Stored = Schema.parseJson(RestartRequest)
const one = Rows.first(Schema.Struct({ value: Stored }))
const encode = Schema.encodeSync(Stored)

/** The request as a row, so that the next process knows whom to tell; in this one the drain and who waits for its end. */
export const layer = Layer.scoped(
  Restart,
  Effect.gen(function* () {
    const database = yield* Database
    const drain = yield* Drain
    const settings = yield* Settings
    const scope = yield* Effect.scope
    const asked = yield* Deferred.make<RestartRequest>()
    const due = yield* Deferred.make<void>()

    const waited = drain
      .idle(["turn", "delegate", "api", "cron"])
      .pipe(
        Effect.timeoutOption(`${settings.gateway.restartPatienceSeconds} seconds`),
        Effect.zipRight(Deferred.succeed(due, undefined))
      )

    return Restart.of({
      ask: (request) =>
        Effect.gen(function* () {
          if ((yield* drain.draining) !== null) return
          yield* database.write(
            "restart.ask",
            Effect.flatMap(Transaction, (sql) =>
              Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${key}, ${encode(request)})
                ON CONFLICT (key) DO UPDATE SET value = excluded.value`)
            )
          )
          yield* drain.begin({ restart: true })
          yield* Deferred.succeed(asked, request)
          yield* Turn.forkWorker(waited).pipe(Effect.provideService(Scope.Scope, scope))
        }).pipe(Effect.uninterruptible),
      asked: Deferred.await(asked),
      due: Deferred.await(due),
      taken: Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const found = yield* database.read("restart.taken", (sql) =>
          one(sql`SELECT value FROM meta WHERE key = ${key}`)
        )
        if (found === null) return null
        yield* database.write(
          "restart.taken",
          Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`DELETE FROM meta WHERE key = ${key}`))
        )
        return now - found.value.at > freshMillis ? null : found.value
      })
    })
  })
)
