/**
 * Rows that wait: for the end of a flood-control penalty, for a platform to come back, for the next start. A worker
 * that belongs to nobody sends them when their time has come, each chat's in order: three attempts, within 24 h.
 */
import { Clock, Effect, Ref, type Scope, Scope as ScopeTag } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { type DeliveryRow, Outbox, type WaitingChat } from "../../services/delivery/Outbox.js"
import * as SteadyTime from "../../services/operation/SteadyTime.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Copies from "./Copies.js"
import { type Courier, recheckMillis, stops } from "./Courier.js"
import { laneOf } from "./Lanes.js"
import type { Holds } from "./Holds.js"
import type { Ledger } from "./Ledger.js"
import type { Outcome } from "./Transmission.js"

const maximumAttempts = 3

/** Rows of a chat in memory at a time. */
const pageSize = 32

/** Chats served at the same time. */
const chatsAtOnce = 16

/** A platform that has been away for long is asked this often. */
const longestRecheckMillis = 120_000

/** How long a start waits for what is due; the rest goes on beside it. */
const startPatience = "5 seconds"

/** When the database could not be read or written, or a chat has no room. */
const retryMillis = 5_000

export interface Waiting {
  /** Sends what is due now; succeeds with how many were sent when that is done, or after 5 s with how many were until then. */
  readonly sendDue: Effect.Effect<number, StateError>
  /** From now on sends what waits when it is due. */
  readonly start: Effect.Effect<void>
}

export const make = (holds: Holds, ledger: Ledger, courier: Courier, scope: Scope.Scope) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const registry = yield* AdapterRegistry
    const seats = yield* Effect.makeSemaphore(chatsAtOnce)
    const served = new Set<string>()
    const awaySince = new Map<string, number>()

    /** How long its platform is left alone; null when it is there. */
    const awayFor = (platform: string): Effect.Effect<number | null> =>
      Effect.gen(function* () {
        const now = yield* SteadyTime.now
        const adapter = yield* registry.get(platform)
        if (adapter !== null && (yield* adapter.state)._tag === "Connected") {
          awaySince.delete(platform)
          return null
        }
        const since = awaySince.get(platform) ?? now
        awaySince.set(platform, since)
        return Math.min(longestRecheckMillis, Math.max(recheckMillis, (now - since) / 4))
      })

    const tooOld = (row: DeliveryRow): string =>
      `not sent within ${Copies.maximumAgeMillis / 3_600_000} h${row.reason === null ? "" : `: ${row.reason}`}`

    /** The later parts of the same message to the same place, as far as they wait too. */
    const partsAfter = (row: DeliveryRow) =>
      Effect.map(outbox.ofCause(row.cause.kind, row.cause.id), (rows) =>
        rows.filter(
          ({ address, part, state }) =>
            state === "pending" &&
            part > row.part &&
            laneOf(address) === laneOf(row.address) &&
            address.threadId === row.address.threadId
        )
      )

    /**
     * How long a row that an earlier process left has to wait still. A clock that shows less than when something was
     * written down has been set back since: what was asked for then is waited for, and not what it was set back by.
     */
    const leftOf = (chat: WaitingChat, now: number): Effect.Effect<number, StateError> =>
      Effect.gen(function* () {
        if (chat.notBefore === null || chat.notBefore <= now) return 0
        const [first] = yield* outbox.waitingIn(chat, 1)
        const [newest] = yield* outbox.list({ limit: 1 })
        return chat.notBefore - Math.max(now, first?.createdAt ?? now, newest?.createdAt ?? now)
      })

    const failed = (row: DeliveryRow, reason: string) => [row, { _tag: "Failed", reason }] as const

    /** What comes after it goes behind its copy. */
    const hasCopy = (row: DeliveryRow, outcome: Outcome): Effect.Effect<boolean> =>
      Effect.map(Clock.currentTimeMillis, (now) => outcome._tag === "Unknown" && Copies.isDue(row, now))

    /** Sends a row and settles it, and with it what is not to be sent after it. */
    const attempt = (row: DeliveryRow): Effect.Effect<Outcome, StateError> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const after = row.part < row.parts ? yield* partsAfter(row) : []
          const taken = yield* ledger.take(row)
          const outcome = yield* restore(courier.carry(taken, []))
          const final: Outcome =
            outcome._tag === "Waits" && taken.attempts >= maximumAttempts
              ? { _tag: "Failed", reason: `given up after ${taken.attempts} attempts: ${outcome.reason}` }
              : outcome
          const ended =
            final._tag === "Sent" || final._tag === "Waits" || !stops(row, final) || (yield* hasCopy(row, final))
              ? []
              : after.map((part) =>
                  failed(part, `not sent, because part ${row.part} of ${row.parts} was not: ${final.reason}`)
                )
          yield* ledger.settle([[taken, final], ...ended])
          return final
        })
      )

    /** Sends a chat's rows until one has to wait; answers how many were sent. Runs inside the chat's lane. */
    const serve = (chat: WaitingChat): Effect.Effect<number, StateError> =>
      Effect.gen(function* () {
        const lane = laneOf(chat)
        let sent = 0
        // Held meanwhile, by what was sent before this came to its turn in the lane.
        if ((holds.until(lane) ?? 0) > (yield* SteadyTime.now)) return sent
        let rows: Array<DeliveryRow> = []
        for (;;) {
          if (rows.length === 0) rows = [...(yield* outbox.waitingIn(chat, pageSize))]
          const row = rows.shift()
          if (row === undefined) break
          const now = yield* Clock.currentTimeMillis
          if (now - row.createdAt > Copies.maximumAgeMillis) {
            yield* ledger.settle([row, ...(yield* partsAfter(row))].map((part) => failed(part, tooOld(part))))
            rows = []
            continue
          }
          const away = yield* awayFor(row.address.platform)
          if (away !== null) {
            yield* holds.hold(lane, away)
            return sent
          }
          const outcome = yield* attempt(row)
          if (outcome._tag === "Waits") {
            yield* holds.hold(lane, outcome.notBefore - (yield* Clock.currentTimeMillis))
            return sent
          }
          if (yield* hasCopy(row, outcome)) return sent
          if (outcome._tag === "Sent") sent += 1
          // What ended with it is not in these pages any more.
          else rows = []
        }
        yield* holds.release(lane)
        return sent
      })

    /** In a fiber of its own: a slow chat holds up no other. A full lane is looked at again. */
    const serveApart = (chat: WaitingChat): Effect.Effect<Turn.TurnFiber<number, StateError>> =>
      Effect.suspend(() => {
        const lane = laneOf(chat)
        served.add(lane)
        const work = courier.lanes
          .inOrder(lane)(serve(chat))
          .pipe(
            seats.withPermits(1),
            Effect.flatMap((sent) => (sent !== null ? Effect.succeed(sent) : Effect.as(holds.hold(lane, 1_000), 0))),
            Effect.ensuring(
              Effect.zipRight(
                Effect.sync(() => served.delete(lane)),
                holds.wake
              )
            )
          )
        return Effect.provideService(Turn.forkWorker<number, StateError, never>(work), ScopeTag.Scope, scope)
      })

    /** Starts on every chat that is due; `next` is when another will be. */
    const pass = Effect.gen(function* () {
      const held = yield* holds.all
      const chats = yield* outbox.waitingChats
      const now = yield* SteadyTime.now
      const wall = yield* Clock.currentTimeMillis
      const first = new Map(chats.map((chat) => [laneOf(chat), chat]))
      for (const [lane, until] of held)
        if (!first.has(lane) && !served.has(lane) && holds.until(lane) === until) yield* holds.release(lane)
      const begun: Array<Turn.TurnFiber<number, StateError>> = []
      let next = Number.POSITIVE_INFINITY
      for (const [lane, chat] of first) {
        if (served.has(lane)) continue
        const due = holds.until(lane) ?? now + (yield* leftOf(chat, wall))
        if (due <= now) begun.push(yield* serveApart(chat))
        else {
          if (holds.until(lane) === null) yield* holds.hold(lane, due - now)
          next = Math.min(next, due)
        }
      }
      return { begun, next, now }
    })

    const round = Effect.zip(ledger.settleLate, pass).pipe(
      Effect.flatMap(([isLeft, { next, now }]) => {
        const soonest = isLeft ? Math.min(next, now + retryMillis) : next
        return soonest === Number.POSITIVE_INFINITY
          ? holds.woken
          : Effect.asVoid(Effect.timeoutOption(holds.woken, Math.max(1, soonest - now)))
      }),
      Effect.catchAllCause((cause) =>
        Effect.zipRight(
          Effect.logError("what waits to be sent could not be looked at", cause),
          Effect.sleep(retryMillis)
        )
      )
    )

    let started = false
    return {
      sendDue: Effect.gen(function* () {
        const { begun } = yield* pass
        const sent = yield* Ref.make(0)
        const count = (job: Turn.TurnFiber<number, StateError>) =>
          Effect.flatMap(Turn.result(job), (more) => Ref.update(sent, (before) => before + more))
        yield* Effect.forEach(begun, count, { concurrency: "unbounded", discard: true }).pipe(
          Effect.timeoutOption(startPatience)
        )
        return yield* Ref.get(sent)
      }),
      start: Effect.suspend(() => {
        if (started) return Effect.void
        started = true
        return Effect.asVoid(
          Effect.provideService(Turn.forkWorker(Effect.interruptible(Effect.forever(round))), ScopeTag.Scope, scope)
        )
      })
    } satisfies Waiting
  })
