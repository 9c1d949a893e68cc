/** What the commands about the database share. */
import { Clock, Effect } from "effect"
import path from "node:path"
import * as GatewayLock from "../../layers/sqlite/GatewayLock.js"
import { HomeInUse } from "../../services/operation/GatewayLock.js"
import { Invocation } from "./invocation.js"
import { holder } from "./holder.js"

/** The database of the home that is meant. */
export const file = Effect.map(Invocation, ({ home }) => path.join(home, "state.db"))

/** An instant as part of a file's name. */
export const stamp = Effect.map(Clock.currentTimeMillis, (now) =>
  new Date(now)
    .toISOString()
    .replaceAll(/[:.]/g, "-")
    .replace(/-\d+Z$/, "Z")
)

/** Where files go that are kept when another database takes the place of one. */
export const keeping = (why: string) =>
  Effect.map(Effect.all([Invocation, stamp]), ([{ home }, at]) => path.join(home, "kept", `${why}-${at}`))

/** No gateway has the home, and none gets it meanwhile. */
export const withHome = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { home } = yield* Invocation
    if ((yield* holder) !== null) return yield* new HomeInUse({ home })
    return yield* Effect.provide(self, GatewayLock.layer({ home, lockDirectory: path.join(home, "locks") }))
  })
