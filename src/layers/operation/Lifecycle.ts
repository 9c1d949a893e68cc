/** How a gateway begins and ends: what an earlier one left behind, its address, and the drain (gateway.md 3.9, decision 25). */
import { Effect, Layer } from "effect"
import process from "node:process"
import { type Address, sameAddress } from "../../fibers/DeliveryOrigin.js"
import * as Turn from "../../fibers/Turn.js"
import { ApiServer } from "../../services/api/ApiServer.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import { Drain, type WorkKind } from "../../services/operation/Drain.js"
import { GatewayAddress, GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { Home } from "../../services/operation/Home.js"
import { Presence } from "../../services/operation/Presence.js"
import { Restart } from "../../services/operation/Restart.js"
import { Settings } from "../../services/operation/Settings.js"
import { Scheduler } from "../../services/schedule/Scheduler.js"
import { version } from "../../services/operation/Version.js"
import * as ServiceNotify from "../node/service/Notify.js"
import * as Opening from "./Opening.js"

const interruptSeconds = 4

/** Says where a restart was asked for that the gateway is back. */
const back = Effect.gen(function* () {
  const notifier = yield* Notifier
  const request = yield* (yield* Restart).taken
  if (request === null) return
  const place = { sessionKey: request.sessionKey, address: request.address, about: `restart:${request.at}` }
  yield* notifier.tell(place, Notice.restartBack())
}).pipe(Effect.catchAll((error) => Effect.logWarning("it could not be told that the gateway is back", error)))

/** Tells of a restart as soon as it is asked for: who has something running, and the home channels; each place once, and who asked was answered. */
const announced = Effect.gen(function* () {
  const { restartNotices } = (yield* Settings).gateway
  const request = yield* (yield* Restart).asked
  if (!restartNotices) return
  const notice = Notice.restartGoing({ restart: true })
  const notifier = yield* Notifier
  const running = yield* (yield* Conversations).runningPlaces
  const homes = yield* (yield* HomeChannels).all
  const told: Array<Address> = request.address === null ? [] : [request.address]
  for (const { address, sessionKey } of [...running, ...homes.map((home) => ({ address: home, sessionKey: "" }))]) {
    if (address !== null && told.some((other) => sameAddress(other, address))) continue
    if (address !== null) told.push(address)
    yield* notifier.tell({ sessionKey, address, about: `restart:${request.at}` }, notice)
  }
}).pipe(Effect.catchAll((error) => Effect.logWarning("the restart could not be told", error)))

const begin = Effect.gen(function* () {
  const { directory } = yield* Home
  const presence = yield* Presence
  yield* Effect.logInfo("the gateway starts").pipe(
    Effect.annotateLogs({ version, home: directory, address: (yield* ApiServer).url, pid: process.pid })
  )
  const address = yield* presence.begin
  yield* Opening.open(presence)
  yield* back
  yield* Turn.forkWorker(announced)
  yield* ServiceNotify.begin
  return address
})

/**
 * Chats get their time and scheduled runs theirs, side by side; what is left is cut: a turn is resumed, a run is over. Who
 * only waits for a person's answer is not waited for, and nothing of it is cut.
 */
const drained = Effect.gen(function* () {
  const conversations = yield* Conversations
  const scheduler = yield* Scheduler
  const drain = yield* Drain
  const settings = yield* Settings
  const within = (kinds: ReadonlyArray<WorkKind>, seconds: number, cut: Effect.Effect<void>) =>
    Effect.flatMap(drain.idle(kinds).pipe(Effect.timeoutOption(`${seconds} seconds`)), (finished) =>
      finished._tag === "Some"
        ? Effect.void
        : Effect.zipRight(
            drain.markCut,
            Effect.asVoid(cut.pipe(Effect.disconnect, Effect.timeoutOption(`${interruptSeconds} seconds`)))
          )
    )
  const ends = Effect.all(
    [
      within(["turn", "delegate", "api"], settings.gateway.chatDrainSeconds, conversations.interruptAll),
      within(["cron"], settings.gateway.otherDrainSeconds, scheduler.stop)
    ],
    { concurrency: "unbounded", discard: true }
  )
  yield* Effect.raceFirst(ends, conversations.parkWaiting)
})

/** Refuses new work, gives what runs its time, interrupts what is left. */
const end = (address: GatewayAddress) =>
  Effect.gen(function* () {
    const addresses = yield* GatewayAddresses
    const scheduler = yield* Scheduler
    const drain = yield* Drain
    yield* Effect.logInfo("the gateway ends: nothing new is taken, what runs is given its time")
    yield* drain.begin({ restart: false })
    const items = yield* drain.items
    if (items.length > 0) {
      yield* Effect.logInfo(`draining ${items.length} pieces of work`)
      yield* addresses
        .publish(new GatewayAddress({ ...address, state: "draining" }))
        .pipe(Effect.catchAll((error) => Effect.logWarning("the drain could not be announced", error)))
      yield* drained
    }
    yield* scheduler.stop
    yield* addresses
      .withdraw(address.pid)
      .pipe(Effect.catchAll((error) => Effect.logWarning("the address could not be withdrawn", error)))
    yield* Effect.logInfo("the gateway has ended")
  })

/** On top of everything: it begins when the surfaces are there and ends before any of them goes. */
export const layer = Layer.scopedDiscard(Effect.acquireRelease(begin, (address) => Effect.interruptible(end(address))))
