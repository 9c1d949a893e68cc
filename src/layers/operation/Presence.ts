/** The address is in the database as soon as the port is open, so that nobody takes a gateway that starts for none. */
import { Clock, Effect, Layer, Ref } from "effect"
import process from "node:process"
import { ApiServer } from "../../services/api/ApiServer.js"
import { GatewayAddress, GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { Presence } from "../../services/operation/Presence.js"
import { version } from "../../services/operation/Version.js"
import type { StateError } from "../../services/state/StateError.js"

const make = Effect.gen(function* () {
  const addresses = yield* GatewayAddresses
  const { url } = yield* ApiServer
  const left = yield* addresses.current
  const startedAt = yield* Clock.currentTimeMillis
  const of = (state: GatewayAddress["state"]) =>
    new GatewayAddress({ pid: process.pid, url, version, startedAt, state })
  const begun = yield* Ref.make(false)
  /** A start that fails leaves what it found: the next one has to know of a death, too. */
  const giveUp = Effect.flatMap(Ref.get(begun), (ours) =>
    ours ? Effect.void : left === null ? addresses.withdraw(process.pid) : addresses.publish(left)
  ).pipe(Effect.catchAll((error) => Effect.logWarning("the address could not be withdrawn", error)))
  yield* Effect.acquireRelease(addresses.publish(of("starting")), () => giveUp)
  return Presence.of({
    unclean: left !== null,
    begin: Effect.suspend(() => {
      const running = of("running")
      return addresses.publish(running).pipe(Effect.zipRight(Ref.set(begun, true)), Effect.as(running))
    })
  })
})

export const layer: Layer.Layer<Presence, StateError, GatewayAddresses | ApiServer> = Layer.scoped(Presence, make)
