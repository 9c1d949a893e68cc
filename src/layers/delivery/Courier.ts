/** Carries rows to their chat, one chat's in order, and settles each. What has been begun goes on without whoever asked. */
import { Cause, Clock, Effect } from "effect"
import * as Deadlines from "../../fibers/Deadlines.js"
import type * as Nursery from "../../fibers/Nursery.js"
import * as Turn from "../../fibers/Turn.js"
import type { Button } from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import type { Delivered } from "../../services/delivery/Delivery.js"
import type { MediaFiles } from "../../services/delivery/MediaFiles.js"
import { type DeliveryRow, Outbox } from "../../services/delivery/Outbox.js"
import type { Commit, Step } from "../../services/state/Database.js"
import { Milestone } from "../../services/operation/Milestone.js"
import * as SteadyTime from "../../services/operation/SteadyTime.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Copies from "./Copies.js"
import type { Holds } from "./Holds.js"
import * as Lanes from "./Lanes.js"
import type { Ending, Ledger } from "./Ledger.js"
import { type Bounded, makeBounded, type Outcome, type Pause, transmit } from "./Transmission.js"

/** Messages that may wait for one chat at a time; what comes on top is written down and sent later. */
const laneCapacity = 256

/** When its platform is away a row is looked at again after this, and less often the longer that lasts. */
export const recheckMillis = 1_000

export interface Courier {
  readonly lanes: Lanes.Lanes
  readonly bounded: Bounded
  /** On its way once this returns, whatever becomes of the caller; what it answers waits for the end. */
  readonly begin: (
    rows: ReadonlyArray<DeliveryRow>,
    buttons: ReadonlyArray<Button>,
    along: Step<void> | undefined
  ) => Effect.Effect<Effect.Effect<Delivered, StateError>>
  /** Runs in a fiber of the layer, bound to the caller's turn where there is one; the caller's end is not its end. */
  readonly apart: <A, E>(self: Effect.Effect<A, E>) => Effect.Effect<Turn.TurnFiber<A, E>>
  /** One row, now; without an adapter it waits. */
  readonly carry: (row: DeliveryRow, buttons: ReadonlyArray<Button>) => Effect.Effect<Outcome>
}

/** How it ended, from the rows as they stand. */
export const deliveredOf = (deliveries: ReadonlyArray<DeliveryRow>): Delivered => {
  const open = deliveries.find((row) => row.state !== "sent")
  return {
    deliveries,
    ok: deliveries.length > 0 && deliveries.every((row) => row.state === "sent" || row.state === "pending"),
    problem: deliveries.length === 0 ? "there was nothing to send" : open === undefined ? null : problemOf(open),
    left: []
  }
}

const problemOf = (row: DeliveryRow): string => {
  const reason = row.reason ?? "no reason was given"
  switch (row.state) {
    case "pending":
      return `it waits and is sent later: ${reason}`
    case "sending":
      return "it was still being sent"
    case "unknown":
      return `it may or may not have arrived: ${reason}`
    default:
      return reason
  }
}

/** What becomes of the parts after one that was not sent. */
const afterwards = (outcome: Exclude<Outcome, { readonly _tag: "Sent" }>, row: DeliveryRow, now: number): Outcome =>
  outcome._tag === "Waits" || (outcome._tag === "Unknown" && Copies.isDue(row, now))
    ? {
        _tag: "Waits",
        notBefore: outcome._tag === "Waits" ? outcome.notBefore : now + Copies.pauseMillis,
        reason: `it waits behind part ${row.part} of ${row.parts}`
      }
    : { _tag: "Failed", reason: `not sent, because part ${row.part} of ${row.parts} was not: ${outcome.reason}` }

/** Words stop all that follows them; a file that fails fails alone. */
export const stops = (row: DeliveryRow, outcome: Outcome): boolean =>
  outcome._tag === "Waits" || (outcome._tag !== "Sent" && row.media.length === 0)

export const make = (ledger: Ledger, holds: Holds, files: typeof MediaFiles.Service, nursery: Nursery.Nursery) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const registry = yield* AdapterRegistry
    const lanes = yield* Lanes.make(laneCapacity)
    const milestone = yield* Milestone
    const bounded = makeBounded(yield* Deadlines.make)

    const apart = <A, E>(self: Effect.Effect<A, E>): Effect.Effect<Turn.TurnFiber<A, E>> =>
      Turn.forkApart(nursery)(Effect.interruptible(self))

    const carry = Effect.fnUntraced(function* (
      row: DeliveryRow,
      buttons: ReadonlyArray<Button>
    ): Effect.fn.Return<Outcome> {
      const adapter = yield* registry.get(row.address.platform)
      const pause: Pause = (millis, reason) => ledger.pause(row, millis, reason)
      if (adapter !== null) return yield* transmit(bounded, adapter, files, row, buttons, pause)
      const now = yield* Clock.currentTimeMillis
      return {
        _tag: "Waits",
        notBefore: now + recheckMillis,
        reason: `${row.address.platform} is not connected`
      }
    })

    /** Settles all of `rows` with one outcome; waiting ones hold their chat. */
    const settleAll = Effect.fnUntraced(function* (
      rows: ReadonlyArray<DeliveryRow>,
      endingOf: (row: DeliveryRow) => Ending,
      along: Step<void> | undefined,
      commit: Commit = "now"
    ) {
      const settled = yield* ledger.settle(
        rows.map((row) => [row, endingOf(row)] as const),
        along,
        { commit }
      )
      const waiting = settled.find((row) => row.state === "pending")
      if (waiting !== undefined)
        yield* holds.hold(Lanes.laneOf(waiting.address), (waiting.notBefore ?? 0) - (yield* Clock.currentTimeMillis))
      return settled
    })

    /** Sends a part and settles what is known then: it alone, or with it the rest that is not to be sent. What is known is always written down. */
    const sendPart = (
      row: DeliveryRow,
      rest: ReadonlyArray<DeliveryRow>,
      buttons: ReadonlyArray<Button>,
      along: Step<void> | undefined
    ): Effect.Effect<ReadonlyArray<DeliveryRow>, StateError> =>
      Effect.uninterruptibleMask((restore) =>
        sendAndSettle(restore(carry(row, rest.length === 0 ? buttons : [])), row, rest, along)
      )

    const sendAndSettle = Effect.fnUntraced(function* (
      carried: Effect.Effect<Outcome>,
      row: DeliveryRow,
      rest: ReadonlyArray<DeliveryRow>,
      along: Step<void> | undefined
    ) {
      yield* milestone.reach("send.before")
      const outcome = yield* carried
      yield* milestone.reach("send.answered")
      const [next] = rest
      // Nobody waits for the end of an answer that is there, and the next message's commit is often near.
      const commit: Commit = outcome._tag === "Sent" && along !== undefined ? "soon" : "now"
      const settled = yield* outcome._tag !== "Sent" && stops(row, outcome)
        ? Effect.flatMap(Clock.currentTimeMillis, (now) =>
            settleAll([row, ...rest], (part) => (part === row ? outcome : afterwards(outcome, row, now)), along)
          )
        : next === undefined
          ? settleAll([row], () => outcome, along, commit)
          : settleAll([row], () => outcome, outbox.notePause(next.id, null))
      yield* milestone.reach("send.settled")
      return settled
    })

    /** `begun` counts the rows whose bytes may have left. */
    const partAfterPart = Effect.fnUntraced(function* (
      rows: ReadonlyArray<DeliveryRow>,
      buttons: ReadonlyArray<Button>,
      along: Step<void> | undefined,
      progress: { begun: number }
    ): Effect.fn.Return<ReadonlyArray<DeliveryRow>, StateError> {
      const done: Array<DeliveryRow> = []
      while (done.length < rows.length) {
        const [row, ...rest] = rows.slice(done.length)
        if (row === undefined) break
        const until = holds.until(Lanes.laneOf(row.address))
        if (until !== null) {
          const notBefore = (yield* Clock.currentTimeMillis) + until - (yield* SteadyTime.now)
          const waits: Outcome = { _tag: "Waits", notBefore, reason: "it waits behind an earlier message" }
          return done.concat(yield* settleAll([row, ...rest], () => waits, along))
        }
        // An earlier life sent what is in front of it.
        if (done.length === 0 && row.notBefore !== null) yield* ledger.settle([], outbox.notePause(row.id, null))
        progress.begun = done.length + 1
        done.push(...(yield* sendPart(row, rest, buttons, along)))
      }
      return done
    })

    /** A row that somebody else is sending is looked at again when they are done. */
    const asTheyStand = (rows: ReadonlyArray<DeliveryRow>): Effect.Effect<ReadonlyArray<DeliveryRow>, StateError> =>
      rows.every((row) => row.state !== "sending")
        ? Effect.succeed(rows)
        : Effect.forEach(rows, (row) =>
            row.state !== "sending"
              ? Effect.succeed(row)
              : Effect.map(
                  Effect.zipRight(lanes.inOrder(Lanes.laneOf(row.address))(Effect.void), outbox.get(row.id)),
                  (stored) => stored ?? row
                )
          )

    const dispatch = Effect.fnUntraced(function* (
      rows: ReadonlyArray<DeliveryRow>,
      buttons: ReadonlyArray<Button>,
      along: Step<void> | undefined
    ): Effect.fn.Return<Delivered, StateError> {
      const open = rows.filter((row) => row.state === "sending" && ledger.claim(row.id))
      const [first] = open
      if (first === undefined) {
        if (along !== undefined) yield* ledger.settle([], along)
        return deliveredOf(yield* asTheyStand(rows))
      }
      const progress = { begun: 0 }
      const later = (reason: string) => (): Outcome => ({ _tag: "Waits", notBefore: 0, reason })
      const sent = yield* lanes
        .inOrder(Lanes.laneOf(first.address))(partAfterPart(open, buttons, along, progress))
        .pipe(
          Effect.flatMap((settled) =>
            settled === null
              ? settleAll(open, later("too many messages wait for this chat"), along)
              : Effect.succeed(settled)
          ),
          // What was not begun has certainly not left. Where the gateway stops, what was is in doubt until the next start.
          Effect.onError((cause) =>
            Effect.catchAll(
              settleAll(
                open.slice(progress.begun),
                later(
                  Cause.isInterrupted(cause)
                    ? "the gateway stopped before it was sent"
                    : "what became of the message before it could not be written down"
                ),
                undefined
              ),
              (error) => Effect.logWarning("messages that were not sent could not be put back", error)
            )
          )
        )
      const now = new Map(sent.map((row) => [row.id, row]))
      return deliveredOf(yield* asTheyStand(rows.map((row) => now.get(row.id) ?? row)))
    })

    return {
      lanes,
      bounded,
      carry,
      apart,
      begin: (rows, buttons, along) => Effect.map(apart(dispatch(rows, buttons, along)), Turn.result)
    } satisfies Courier
  })
