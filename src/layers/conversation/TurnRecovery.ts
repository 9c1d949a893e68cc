/** What becomes of the turns and events that an earlier process left behind (decision 25). */
import { Clock, Effect } from "effect"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Field from "../../fibers/Field.js"
import { Approvals } from "../../services/approval/Approval.js"
import { Inbox, type InboxEntry } from "../../services/conversation/Inbox.js"
import { type TurnOutcome, type TurnRow, TurnStore } from "../../services/conversation/TurnStore.js"
import { Delegation } from "../../services/delegation/Delegation.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import { SessionId } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"

/** A turn that began longer ago is closed instead of resumed. */
const resumableMillis = 3_600_000
/** Active in so many unclean restarts in a row: the session is suspended. */
const maxStrikes = 3

export interface Outcome {
  readonly resumed: number
  readonly begun: number
  readonly suspended: number
}

export const make = Effect.gen(function* () {
  const turns = yield* TurnStore
  const inbox = yield* Inbox
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const database = yield* Database
  const approvals = yield* Approvals
  const delegation = yield* Delegation
  const delivery = yield* Delivery
  const notifier = yield* Notifier

  const sessionOf = (row: TurnRow) => Field.valueOrNull(row.turn.identity.sessionId)

  /** Nobody waits for these answers any more: whoever was asked is told so, or they would give one in vain. */
  const takeBack = Effect.fnUntraced(function* ({ turn }: TurnRow, reason: string, which: "all" | "inner" = "all") {
    for (const question of yield* approvals.cancelTurn(turn.id, reason, which))
      yield* notifier.tell(
        { sessionKey: question.sessionKey, address: DeliveryOrigin.chat(turn.origin), about: question.id },
        Notice.approvalInterrupted(question)
      )
  })

  /** Ends a turn that will not be resumed, with a word to the person that is part of the transcript too. */
  const close = (row: TurnRow, outcome: TurnOutcome, text: string) =>
    Effect.gen(function* () {
      const sessionId = sessionOf(row)
      const address = DeliveryOrigin.chat(row.turn.origin)
      const prepare =
        address === null
          ? null
          : yield* delivery.prepare({
              cause: { kind: "turn", id: row.turn.id },
              address,
              text,
              via: "origin",
              replyToPerson: true
            })
      // First: a turn that has ended is looked at by no later start, and its questions would stay open.
      yield* takeBack(row, "the turn ended with the gateway")
      const deliveries = yield* database.write(
        "turn.close",
        Effect.gen(function* () {
          const appended =
            sessionId === null
              ? []
              : yield* transcript.append(SessionId.make(sessionId), row.turn.id, [
                  { _tag: "assistant", text, reasoning: null, toolCalls: [], finishReason: "error" }
                ])
          yield* turns.end(row.turn.id, outcome)
          if (row.inboxId !== null) yield* inbox.settle(row.inboxId, "failed", row.turn.id)
          return prepare === null ? [] : yield* prepare(appended[0]?.id ?? null)
        }),
        "transcript"
      )
      yield* delivery.dispatch(deliveries)
    })

  const suspend = (row: TurnRow) =>
    Effect.gen(function* () {
      const sessionId = sessionOf(row)
      if (sessionId !== null)
        yield* database.write("session.suspend", sessions.setSuspended(SessionId.make(sessionId), true))
      yield* close(row, "suspended", Notice.sessionSuspended().text)
    })

  /** A delegate's turn ends with its parent: what it did is unknown. */
  const abandonDelegate = (row: TurnRow) =>
    Effect.zipRight(
      takeBack(row, "the delegate ended with the gateway"),
      database.write("turn.abandon", turns.end(row.turn.id, "unknown"))
    )

  /** The answer is stored and its delivery is the outbox's business: only the turn is left to settle. */
  const settleAnswered = (row: TurnRow) =>
    database.write(
      "turn.end",
      Effect.zipRight(
        turns.end(row.turn.id, "answered"),
        row.inboxId === null ? Effect.void : inbox.settle(row.inboxId, "answered", row.turn.id)
      )
    )

  const recover = (boot: {
    readonly unclean: boolean
    readonly resume: (row: TurnRow, entry: InboxEntry) => Effect.Effect<void>
    readonly offer: (entry: InboxEntry) => Effect.Effect<void>
  }): Effect.Effect<Outcome, StateError> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      let resumed = 0
      let suspended = 0
      const open = yield* turns.open
      yield* delegation.recover
      const one = Effect.fnUntraced(function* (row: TurnRow) {
        if (row.turn.parent !== null) return yield* abandonDelegate(row)
        if (row.state === "answering") return yield* settleAnswered(row)
        const strikes = boot.unclean ? yield* database.write("turn.strike", turns.strike(row.turn.id)) : row.strikes
        const entry = row.inboxId === null ? null : yield* inbox.get(row.inboxId)
        if (strikes >= maxStrikes) {
          suspended += 1
          yield* suspend(row)
        } else if (entry === null || now - row.startedAt > resumableMillis) {
          yield* close(
            row,
            "unknown",
            Notice.failAfter({ cause: "the gateway was restarted in the middle of it" }).text
          )
        } else {
          resumed += 1
          yield* takeBack(row, "the program that asked ended with the gateway", "inner")
          yield* boot.resume(row, entry)
        }
      })
      for (const row of open)
        yield* Effect.catchTag(one(row), "StateRowUnreadable", (error) =>
          Effect.annotateLogs(Effect.logError("a turn is left as it is", error), { turn: row.turn.id })
        )
      const unbegun = yield* inbox.unbegun
      for (const entry of unbegun) yield* boot.offer(entry)
      return { resumed, begun: unbegun.length, suspended }
    })

  return { recover }
})
