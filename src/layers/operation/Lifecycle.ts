/** How a gateway begins and ends: what an earlier one left behind, its address, and the drain (gateway.md 3.9, decision 25). */
import { Clock, Effect, Layer } from "effect"
import process from "node:process"
import { ApiServer } from "../../services/api/ApiServer.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { Drain } from "../../services/operation/Drain.js"
import { GatewayAddress, GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { Settings } from "../../services/operation/Settings.js"
import { version } from "../../services/operation/Version.js"
import * as Opening from "./Opening.js"

const interruptSeconds = 4

const begin = Effect.gen(function* () {
  const addresses = yield* GatewayAddresses
  const server = yield* ApiServer
  // A clean end takes its address away, so one that is still there tells of a death.
  const left = yield* addresses.current
  const startedAt = yield* Clock.currentTimeMillis
  const address = new GatewayAddress({ pid: process.pid, url: server.url, version, startedAt, state: "running" })
  yield* addresses.publish(address)
  yield* Opening.open({ unclean: left !== null })
  return address
})

/** Refuses new work, gives what runs its time, interrupts what is left so that the next start resumes it. */
const end = (address: GatewayAddress) =>
  Effect.gen(function* () {
    const addresses = yield* GatewayAddresses
    const conversations = yield* Conversations
    const drain = yield* Drain
    const settings = yield* Settings
    yield* drain.begin({ restart: false })
    const items = yield* drain.items
    if (items.length > 0) {
      yield* Effect.logInfo(`draining ${items.length} pieces of work`)
      yield* addresses
        .publish(new GatewayAddress({ ...address, state: "draining" }))
        .pipe(Effect.catchAll((error) => Effect.logWarning("the drain could not be announced", error)))
      const finished = yield* drain
        .idle(["turn", "delegate", "api"])
        .pipe(Effect.timeoutOption(`${settings.gateway.chatDrainSeconds} seconds`))
      if (finished._tag === "None") {
        yield* drain.markCut
        yield* conversations.interruptAll.pipe(Effect.disconnect, Effect.timeoutOption(`${interruptSeconds} seconds`))
      }
    }
    yield* addresses
      .withdraw(address.pid)
      .pipe(Effect.catchAll((error) => Effect.logWarning("the address could not be withdrawn", error)))
  })

/** On top of everything: it begins when the surfaces are there and ends before any of them goes. */
export const layer = Layer.scopedDiscard(Effect.acquireRelease(begin, (address) => Effect.interruptible(end(address))))
