import { Clock, Deferred, Effect } from "effect"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { ApprovalRow, type ApprovalState, type Question } from "../../services/approval/Approval.js"
import { ApprovalStore } from "../../services/approval/ApprovalStore.js"
import { advisedAgainst } from "../../services/approval/RiskJudge.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import { type DeliveryRow, Outbox } from "../../services/delivery/Outbox.js"
import { Activity } from "../../services/operation/Activity.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import * as SteadyTime from "../../services/operation/SteadyTime.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"

/** An answer given by another process is found by looking: this often. */
const lookMillis = 2_000

/** A question that outlived a restart is open at least this long after it, so that its person can still answer. */
const graceMillis = 60_000

/** The page shows questions as they are asked; only chats get them as messages. */
const showsEvents = new Set(["web"])

export interface Asked {
  readonly question: Question
  /** The conversation that is asked. */
  readonly sessionKey: string
  readonly timeoutMillis: number
}

export interface Asking {
  /** Asks one question and waits: the settled row, or null when nobody could be told. */
  readonly ask: (asked: Asked) => Effect.Effect<ApprovalRow | null, StateError, Turn.CurrentTurn>
  /** Settles an open row once, and wakes whoever waits for it. Null when it was settled already. */
  readonly settle: (
    id: string,
    outcome: {
      readonly state: Exclude<ApprovalState, "open">
      readonly answer: string | null
      readonly by: string | null
    }
  ) => Effect.Effect<ApprovalRow | null, StateError>
}

/** A no, and a yes as wide as the person wants it; what the judging model advises against is for once only. */
const buttonsOf = ({ id, reasons }: ApprovalRow) => [
  { label: "Approve", value: `approve:${id}` },
  ...(reasons.includes(advisedAgainst) || reasons.length === 0
    ? []
    : [
        { label: "Approve for this conversation", value: `approve-session:${id}` },
        { label: "Always approve", value: `approve-always:${id}` }
      ]),
  { label: "Deny", value: `deny:${id}` }
]

const mayHaveArrived = (rows: ReadonlyArray<DeliveryRow>): boolean =>
  rows.length > 0 && rows.every((row) => row.state !== "failed" && row.state !== "suppressed")

export const make = Effect.gen(function* () {
  const store = yield* ApprovalStore
  const database = yield* Database
  const delivery = yield* Delivery
  const outbox = yield* Outbox
  const adapters = yield* AdapterRegistry
  const notifier = yield* Notifier
  const activity = yield* Activity
  const drain = yield* Drain
  const ids = yield* Ids
  const waiting = new Map<string, Deferred.Deferred<void>>()

  const settle: Asking["settle"] = (id, outcome) =>
    Effect.uninterruptible(
      Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        const settled = yield* database.write("approval.settle", store.settle(id, { ...outcome, at }))
        if (!settled) return null
        const row = yield* store.get(id)
        if (row === null) return null
        yield* activity.publish({
          _tag: "approval.answered",
          at,
          sessionKey: row.sessionKey,
          approvalId: id,
          answer: outcome.state
        })
        const waiter = waiting.get(id)
        if (waiter !== undefined) yield* Deferred.succeed(waiter, undefined)
        return row
      })
    )

  const give = (row: ApprovalRow, state: "expired" | "cancelled", answer: string) =>
    Effect.flatMap(settle(row.id, { state, answer, by: null }), (settled) =>
      settled === null ? Effect.map(store.get(row.id), (now) => now ?? row) : Effect.succeed(settled)
    )

  /** Says the question where the turn's person reads it. False when that certainly failed. */
  const tell = (row: ApprovalRow, address: DeliveryOrigin.Address | null, timeoutMillis: number) =>
    Effect.gen(function* () {
      if (address === null || showsEvents.has(address.platform)) return true
      const before = yield* outbox.ofCause("approval", row.id)
      if (mayHaveArrived(before)) return true
      const adapter = yield* adapters.get(address.platform)
      // The words stay even beside buttons: a copy sent after a restart has none.
      const text = Notice.approvalRequest({ ...row, millis: timeoutMillis, buttons: false }).text
      const delivered = yield* delivery.deliver({
        cause: { kind: "approval", id: row.id },
        address,
        text,
        via: "origin",
        transcriptId: null,
        replyToPerson: true,
        buttons: adapter?.capabilities.buttons === true ? buttonsOf(row) : []
      })
      if (delivered.ok || mayHaveArrived(delivered.deliveries)) return true
      yield* Effect.logWarning("a question could not be asked").pipe(
        Effect.annotateLogs({ approval: row.id, problem: delivered.problem })
      )
      return false
    })

  /** Waits until the row is settled: told by who answers here, found by looking when another process does. */
  const wait = (
    row: ApprovalRow,
    millis: number,
    wake: Deferred.Deferred<void>
  ): Effect.Effect<ApprovalRow, StateError> =>
    Effect.gen(function* () {
      const deadline = (yield* SteadyTime.now) + millis
      for (;;) {
        const left = deadline - (yield* SteadyTime.now)
        if (left <= 0) return yield* give(row, "expired", "no answer came in time")
        yield* Effect.timeoutOption(Deferred.await(wake), Math.min(left, lookMillis))
        const now = yield* store
          .get(row.id)
          .pipe(
            Effect.catchAll((error) =>
              Effect.as(Effect.logWarning("an open question cannot be looked at, trying again", error), row)
            )
          )
        if (now !== null && now.state !== "open") return now
      }
    })

  const begin = ({ question, sessionKey, timeoutMillis }: Asked) =>
    Effect.gen(function* () {
      const turn = yield* Turn.current
      const askedAt = yield* Clock.currentTimeMillis
      const open = yield* store.ofCall(turn.id, question.callId)
      const earlier = open.find((row) => row.state === "open" && row.subject === question.subject)
      if (earlier !== undefined)
        return { row: earlier, deadline: Math.max(earlier.expiresAt, askedAt + Math.min(graceMillis, timeoutMillis)) }
      const row = new ApprovalRow({
        id: yield* ids.next("approval"),
        sessionKey,
        turnId: turn.id,
        callId: question.callId,
        tool: question.tool,
        subject: question.subject,
        reasons: question.reasons,
        state: "open",
        askedAt,
        expiresAt: askedAt + timeoutMillis,
        answeredAt: null,
        answer: null,
        by: null
      })
      yield* database.write("approval.ask", store.insert(row))
      return { row, deadline: row.expiresAt }
    })

  const ask = (asked: Asked) =>
    Effect.acquireUseRelease(
      Effect.gen(function* () {
        const begun = yield* begin(asked)
        const wake = yield* Deferred.make<void>()
        waiting.set(begun.row.id, wake)
        return { ...begun, wake, address: DeliveryOrigin.chat((yield* Turn.current).origin) }
      }),
      ({ address, deadline, row, wake }) =>
        Effect.gen(function* () {
          const turn = yield* Turn.current
          yield* activity.publish({
            _tag: "approval.asked",
            at: yield* Clock.currentTimeMillis,
            sessionKey: row.sessionKey,
            sessionId: Field.valueOrNull(turn.identity.sessionId) ?? "",
            turnId: turn.id,
            approvalId: row.id,
            tool: row.tool,
            subject: row.subject,
            reasons: row.reasons,
            expiresAt: deadline
          })
          if (!(yield* tell(row, address, asked.timeoutMillis))) {
            const settled = yield* give(row, "cancelled", "it could not be asked")
            yield* notifier.tell(
              { sessionKey: row.sessionKey, address, about: row.id },
              Notice.approvalNotifyFailed(row)
            )
            return settled.state === "cancelled" ? null : settled
          }
          // the clock may be set while it waits, and may have been since an earlier process asked
          const millis = Math.min(deadline - (yield* Clock.currentTimeMillis), asked.timeoutMillis)
          const settled = yield* wait(row, millis, wake)
          if (settled.state === "expired")
            yield* notifier.tell({ sessionKey: row.sessionKey, address, about: row.id }, Notice.approvalExpired(row))
          return settled
        }),
      ({ address, row }, exit) =>
        Effect.gen(function* () {
          waiting.delete(row.id)
          if (exit._tag === "Success") return
          // What a shutdown interrupts goes on after the restart, and so does its question.
          if ((yield* drain.draining) !== null) return
          yield* give(row, "cancelled", "the work was stopped before an answer").pipe(
            Effect.flatMap(({ state }) =>
              state === "cancelled"
                ? notifier.tell({ sessionKey: row.sessionKey, address, about: row.id }, Notice.approvalInterrupted(row))
                : Effect.void
            ),
            Effect.catchAll((error) => Effect.logError("a question could not be taken back", error))
          )
        })
    )

  return { ask, settle } satisfies Asking
})
