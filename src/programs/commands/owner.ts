/** Who owns the home right now: its gateway when one answers, else nobody (decision 2). */
import * as FileSystem from "@effect/platform/FileSystem"
import { Effect, Layer, Redacted } from "effect"
import { existsSync } from "node:fs"
import path from "node:path"
import * as ApiKey from "../../layers/node/ApiKey.js"
import * as LocalGet from "../../layers/node/LocalGet.js"
import * as Database from "../../layers/sqlite/Database.js"
import * as GatewayAddressRow from "../../layers/sqlite/GatewayAddress.js"
import * as GatewayLease from "../../layers/sqlite/GatewayLease.js"
import { GatewayUnreachable } from "../../services/operation/Desk.js"
import { type GatewayAddress, GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { GatewayStatus, HealthBrief } from "../../services/operation/Health.js"
import { Invocation } from "./invocation.js"

/** A gateway that is alive and busy answers in this time. */
const patience = "3 seconds"

/** The address that a gateway left in the database; null without a database or a row. */
const address = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const { home } = yield* Invocation
  const file = path.join(home, "state.db")
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) return null
  return yield* Effect.flatMap(GatewayAddresses, (addresses) => addresses.current).pipe(
    Effect.provide(GatewayAddressRow.layer.pipe(Layer.provide(Database.layerReadOnly({ file }))))
  )
})

/** The process of a gateway that holds the home, whether it answers or not; null where none is known to live. */
export const holder = Effect.gen(function* () {
  const { home } = yield* Invocation
  const file = path.join(home, "state.db")
  if (!existsSync(file)) return null
  return yield* GatewayLease.holder(home).pipe(
    Effect.provide(Database.layerReadOnly({ file })),
    // a database that cannot be read names nobody
    Effect.orElseSucceed(() => null)
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
  const health = yield* Effect.option(LocalGet.json(HealthBrief, { url: `${url}/health`, patience }))
  if (health._tag === "None") return null
  const { home, environment } = yield* Invocation
  const key = yield* ApiKey.read(home, environment)
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
