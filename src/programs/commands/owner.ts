/** Who owns the home right now: its gateway when one answers, else nobody (decision 2). */
import { Effect, Redacted } from "effect"
import { existsSync } from "node:fs"
import path from "node:path"
import * as ApiKey from "../../layers/node/ApiKey.js"
import * as LocalGet from "../../layers/node/LocalGet.js"
import * as PublishedAddress from "../../layers/sqlite/PublishedAddress.js"
import { GatewayUnreachable } from "../../services/operation/Desk.js"
import type { GatewayAddress } from "../../services/operation/GatewayAddress.js"
import { GatewayStatus, HealthBrief } from "../../services/operation/Health.js"
import { Invocation } from "./invocation.js"

/** A gateway that is alive and busy answers in this time. */
const patience = "3 seconds"

/** The address that a gateway left in the database; null without a database or a row. */
const address = Effect.gen(function* () {
  const { home } = yield* Invocation
  const file = path.join(home, "state.db")
  if (!existsSync(file)) return null
  return yield* Effect.catchAll(PublishedAddress.glance(file), () =>
    Effect.flatMap(
      Effect.promise(() => import("./holder.js")),
      ({ addressIn }) => addressIn(file)
    )
  )
})

/** A gateway that does not answer, and what helps: the next start takes over from one that was ended. */
export const silent = (pid: number): ReadonlyArray<string> => [
  `A gateway holds this home (process ${pid}) but does not answer: it may be starting, busy or stopped.`,
  `Ask again in a moment; a stopped one goes on with \`kill -CONT ${pid}\`, and \`kill -9 ${pid}\` ends one that stays silent: the next start goes on where it was.`
]

export interface Gateway {
  readonly address: GatewayAddress
  readonly health: HealthBrief
  readonly key: Redacted.Redacted
  readonly status: Effect.Effect<GatewayStatus, GatewayUnreachable>
}

/** The gateway that owns the home; null when none answers, whatever an earlier one left behind. */
export const running = Effect.gen(function* () {
  const found = yield* address
  if (found === null) return null
  const { url } = found
  const { home, environment } = yield* Invocation
  const asked = LocalGet.json(HealthBrief, { url: `${url}/health`, patience })
  // The key is read while the gateway answers; whether it can be read matters to who asks a gateway that is there.
  const [health, read] = yield* Effect.zip(Effect.option(asked), Effect.either(ApiKey.read(home, environment)), {
    concurrent: true
  })
  if (health._tag === "None") return null
  const key = yield* read
  const gateway: Gateway = {
    address: found,
    health: health.value,
    key,
    status: LocalGet.json(GatewayStatus, {
      url: `${url}/api/status`,
      headers: { authorization: `Bearer ${Redacted.value(key)}` },
      patience
    }).pipe(Effect.mapError((error) => new GatewayUnreachable({ url, detail: error.detail })))
  }
  return gateway
})
