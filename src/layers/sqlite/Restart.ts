import { Clock, Deferred, Effect, Layer, Scope } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { Config } from "../../services/operation/Config.js"
import { Drain } from "../../services/operation/Drain.js"
import { Restart, RestartRefused, RestartRequest } from "../../services/operation/Restart.js"
import { Settings } from "../../services/operation/Settings.js"
import { Database } from "../../services/state/Database.js"
import * as Meta from "./Meta.js"

const stored = Meta.fact("gateway.restart", RestartRequest)

/** What is older was asked of a process that never came back; nobody waits for the word any more. */
const freshMillis = 3_600_000

/** The request as a row, so that the next process knows whom to tell; in this one the drain and who waits for its end. */
export const layer = Layer.scoped(
  Restart,
  Effect.gen(function* () {
    const database = yield* Database
    const drain = yield* Drain
    const settings = yield* Settings
    /** None where the settings come from no file, as in a program of somebody's own. */
    const config = yield* Effect.serviceOption(Config)
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
          if (config._tag === "Some")
            yield* Effect.mapError(config.value.readable, (error) => new RestartRefused({ detail: error.message }))
          yield* database.write("restart.ask", stored.put(request))
          yield* drain.begin({ restart: true })
          yield* Deferred.succeed(asked, request)
          yield* Turn.forkWorker(waited).pipe(Effect.provideService(Scope.Scope, scope))
        }).pipe(Effect.uninterruptible),
      asked: Deferred.await(asked),
      due: Deferred.await(due),
      taken: Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const found = yield* Effect.provideService(stored.get, Database, database)
        if (found === null) return null
        yield* database.write("restart.taken", stored.remove)
        return now - found.at > freshMillis ? null : found
      })
    })
  })
)
