/** A lock between processes as a SQLite file: an exclusive transaction, which the kernel ends with its process (decision 2). */
import * as Reactivity from "@effect/experimental/Reactivity"
import { Cause, Clock, Effect, type Scope } from "effect"
import { LockUnusable } from "../../services/operation/GatewayLock.js"
import * as DatabaseFile from "./DatabaseFile.js"
import { detailOf, isBusy } from "./SqliteFailure.js"
import * as SteadyConnection from "./SteadyConnection.js"

const pauseMillis = 50

/** Holds the file until the scope closes; false when somebody else does and has not let go in time. */
export const attempted = (file: string, patienceMillis: number): Effect.Effect<boolean, LockUnusable, Scope.Scope> =>
  Effect.gen(function* () {
    yield* DatabaseFile.prepare(file)
    const { connection } = yield* SteadyConnection.open({ filename: file, disableWAL: true })
    const run = (sql: string) => connection.executeUnprepared(sql, [], undefined)
    yield* run("PRAGMA busy_timeout = 0")
    const deadline = (yield* Clock.currentTimeMillis) + patienceMillis
    // Nothing is ever written, so no journal has to lie beside the lock.
    const begin = Effect.zipRight(run("PRAGMA journal_mode = MEMORY"), run("BEGIN EXCLUSIVE"))
    const attempt: Effect.Effect<boolean, unknown> = Effect.catchAll(Effect.as(begin, true), (error) =>
      isBusy(error)
        ? Effect.flatMap(Clock.currentTimeMillis, (now) =>
            now >= deadline ? Effect.succeed(false) : Effect.zipRight(Effect.sleep(pauseMillis), attempt)
          )
        : Effect.fail(error)
    )
    return yield* attempt
  }).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.interrupt
        : new LockUnusable({ file, detail: detailOf(Cause.squash(cause)) })
    )
  )
