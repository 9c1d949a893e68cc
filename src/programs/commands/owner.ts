/** Who owns the home right now: its gateway when one answers, else nobody (decision 2). */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect, Layer, type Redacted, Schema } from "effect"
import path from "node:path"
import * as HomeDirectory from "../../layers/node/Home.js"
import * as Database from "../../layers/sqlite/Database.js"
import * as GatewayAddressRow from "../../layers/sqlite/GatewayAddress.js"
import { GatewayUnreachable } from "../../services/operation/Desk.js"
import { type GatewayAddress, GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { GatewayStatus, HealthBrief } from "../../services/operation/Health.js"
import { Home } from "../../services/operation/Home.js"
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

const ask = <A, I>(request: HttpClientRequest.HttpClientRequest, schema: Schema.Schema<A, I>) =>
  HttpClient.execute(request).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap(HttpClientResponse.schemaBodyJson(schema)),
    Effect.scoped,
    Effect.timeout(patience),
    Effect.provide(FetchHttpClient.layer)
  )

export interface Gateway {
  readonly address: GatewayAddress
  readonly health: HealthBrief
  readonly key: Redacted.Redacted
  readonly status: Effect.Effect<GatewayStatus, GatewayUnreachable>
}

/** The home's key, and its other parts; makes the home where there is none. */
export const home = Effect.gen(function* () {
  const { home } = yield* Invocation
  return yield* Effect.provide(Home, HomeDirectory.layer(home))
})

/** The gateway that owns the home; null when none answers, whatever an earlier one left behind. */
export const running = Effect.gen(function* () {
  const found = yield* address
  if (found === null) return null
  const health = yield* Effect.option(ask(HttpClientRequest.get(`${found.url}/health`), HealthBrief))
  if (health._tag === "None") return null
  const { apiKey } = yield* home
  const gateway: Gateway = {
    address: found,
    health: health.value,
    key: apiKey,
    status: ask(
      HttpClientRequest.get(`${found.url}/api/status`).pipe(HttpClientRequest.bearerToken(apiKey)),
      GatewayStatus
    ).pipe(Effect.mapError((error) => new GatewayUnreachable({ url: found.url, detail: error.message })))
  }
  return gateway
})
