/** Who holds the home, whether it answers or not, as its database says. */
import { Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import path from "node:path"
import * as Database from "../../layers/sqlite/Database.js"
import * as GatewayAddressRow from "../../layers/sqlite/GatewayAddress.js"
import * as GatewayLease from "../../layers/sqlite/GatewayLease.js"
import { GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { Invocation } from "./invocation.js"

/** The addresses in a database that another process may be busy with; fails where it cannot be opened. */
export const addressesIn = (file: string) =>
  GatewayAddressRow.layer.pipe(Layer.provide(Database.layerReadOnly({ file })))

/** The address that a gateway left there. */
export const addressIn = (file: string) =>
  Effect.flatMap(GatewayAddresses, (addresses) => addresses.current).pipe(Effect.provide(addressesIn(file)))

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
