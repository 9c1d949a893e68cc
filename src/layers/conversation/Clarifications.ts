import { Clock, Deferred, Effect, Layer } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import * as Clarification from "../../services/agent/Clarification.js"
import {
  ClarificationRow,
  Clarifications,
  ClarificationStore,
  NobodyToAsk
} from "../../services/agent/Clarification.js"
import { NothingToAnswer } from "../../services/approval/Approval.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import { Outbox } from "../../services/delivery/Outbox.js"
import { Activity } from "../../services/operation/Activity.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"

/** The page shows questions and notices as they happen; only chats get them as messages. */
const showsEvents = new Set(["web"])

/** A question that outlived a restart is open at least this long after it. */
const graceMillis = 60_000

const instead = "Go on with your best guess, or end your turn with the question."

interface Waiting {
  readonly row: ClarificationRow
  readonly wake: Deferred.Deferred<void>
}

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const store = yield* ClarificationStore
  const database = yield* Database
  const delivery = yield* Delivery
  const outbox = yield* Outbox
  const notifier = yield* Notifier
  const adapters = yield* AdapterRegistry
  const activity = yield* Activity
  const drain = yield* Drain
  const ids = yield* Ids
  /** By session key: a conversation has one turn, and that one question. */
  const waiting = new Map<string, Waiting>()

  const settle = (
    row: ClarificationRow,
    state: "answered" | "expired" | "cancelled",
    answer: string | null,
    by: string | null
  ) =>
    Effect.uninterruptible(
      Effect.gen(function* () {
        const first = yield* database.write("clarification.settle", store.settle(row.id, { state, answer, by }))
        const waiter = waiting.get(row.sessionKey)
        if (first && waiter?.row.id === row.id) yield* Deferred.succeed(waiter.wake, undefined)
        if (first)
          yield* activity.publish({
            _tag: "clarification.settled",
            at: yield* Clock.currentTimeMillis,
            sessionKey: row.sessionKey,
            clarificationId: row.id,
            answer
          })
        return first
      })
    )

  /** Where a person reads this turn, who can answer there. */
  const placeOf = (turn: Turn.Turn) =>
    Effect.gen(function* () {
      if (turn.depth > 0) return yield* new NobodyToAsk({ reason: `A helper asks nobody. ${instead}` })
      if (CronMarker.isCron(turn.marker) || turn.presence._tag !== "Human")
        return yield* new NobodyToAsk({ reason: `Nobody is there to answer. ${instead}` })
      const address = DeliveryOrigin.chat(turn.origin)
      if (address === null)
        return yield* new NobodyToAsk({
          reason: "Nobody can answer in the middle here. End your turn with the question."
        })
      return { address, sessionKey: turn.presence.sessionKey }
    })

  const tell = (row: ClarificationRow, address: DeliveryOrigin.Address, millis: number) =>
    Effect.gen(function* () {
      const text = Notice.clarification({ ...row, millis })
      if (showsEvents.has(address.platform)) {
        yield* notifier.tell({ sessionKey: row.sessionKey, address, about: row.id }, text)
        return true
      }
      const cause = { kind: "notice" as const, id: `${text.code}:${row.id}` }
      if ((yield* outbox.ofCause(cause.kind, cause.id)).length > 0) return true
      const adapter = yield* adapters.get(address.platform)
      const delivered = yield* delivery.deliver({
        cause,
        address,
        text: text.text,
        via: "origin",
        transcriptId: null,
        replyToPerson: true,
        buttons:
          adapter?.capabilities.buttons === true && !row.several
            ? row.choices.map((label, index) => ({ label: label.slice(0, 60), value: `answer:${row.id}:${index}` }))
            : []
      })
      return delivered.ok || delivered.deliveries.some(({ state }) => state === "sent" || state === "unknown")
    })

  /** A question that the call asked already, open long enough still. */
  const again = (earlier: ClarificationRow, at: number, whole: number) => {
    const millis = Math.max(earlier.expiresAt - at, Math.min(graceMillis, whole))
    return { row: new ClarificationRow({ ...earlier, expiresAt: at + millis }), millis }
  }

  const begin = (turn: Turn.Turn, asked: Clarification.Asked, sessionKey: string) =>
    Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const millis = settings.approvals.timeoutSeconds * 1_000
      const earlier = yield* store.ofCall(turn.id, asked.callId)
      if (earlier !== null && earlier.state !== "cancelled") return again(earlier, at, millis)
      const row = new ClarificationRow({
        id: yield* ids.next("call"),
        sessionKey,
        turnId: turn.id,
        callId: asked.callId,
        question: asked.question,
        choices: asked.choices,
        several: asked.several,
        state: "open",
        askedAt: at,
        expiresAt: at + millis,
        answer: null,
        by: null
      })
      yield* database.write("clarification.ask", store.insert(row))
      return { row, millis }
    })

  const ask = (asked: Clarification.Asked) =>
    Effect.gen(function* () {
      const turn = yield* Turn.current
      const { address, sessionKey } = yield* placeOf(turn)
      const { millis, row } = yield* begin(turn, asked, sessionKey)
      if (row.state !== "open") return row.answer
      const wait = Effect.gen(function* () {
        const wake = yield* Deferred.make<void>()
        waiting.set(sessionKey, { row, wake })
        yield* activity.publish({
          _tag: "clarification.asked",
          at: row.askedAt,
          sessionKey,
          sessionId: Field.valueOrNull(turn.identity.sessionId) ?? "",
          turnId: turn.id,
          clarificationId: row.id,
          question: row.question,
          choices: row.choices,
          several: row.several,
          expiresAt: row.expiresAt
        })
        if (!(yield* tell(row, address, millis))) {
          yield* settle(row, "cancelled", null, null)
          return yield* new NobodyToAsk({ reason: `The question could not be delivered. ${instead}` })
        }
        yield* Effect.timeoutOption(Deferred.await(wake), millis)
        yield* settle(row, "expired", null, null)
        return (yield* store.get(row.id))?.answer ?? null
      })
      return yield* wait.pipe(
        Effect.onInterrupt(() =>
          // What a shutdown interrupts goes on after the restart, and so does its question.
          Effect.flatMap(drain.draining, (draining) =>
            draining === null ? Effect.ignoreLogged(settle(row, "cancelled", null, null)) : Effect.void
          )
        ),
        Effect.ensuring(
          Effect.sync(() => {
            if (waiting.get(sessionKey)?.row.id === row.id) waiting.delete(sessionKey)
          })
        )
      )
    })

  return Clarifications.of({
    ask: (asked): Effect.Effect<string | null, NobodyToAsk | StateError, Turn.CurrentTurn> => ask(asked),
    answer: Effect.fn("Clarifications.answer")((sessionKey, text, by) =>
      Effect.suspend(() => {
        const open = waiting.get(sessionKey)
        return open === undefined
          ? Effect.succeed(false)
          : settle(open.row, "answered", Clarification.meant(text, open.row.choices, open.row.several), by)
      })
    ),
    press: Effect.fn("Clarifications.press")((sessionKey, id, choice, by) =>
      Effect.suspend(() => {
        const open = waiting.get(sessionKey)
        const chosen = open?.row.choices[choice]
        return open === undefined || open.row.id !== id || chosen === undefined
          ? Effect.succeed(false)
          : settle(open.row, "answered", chosen, by)
      })
    ),
    open: Effect.sync(() => [...waiting.values()].map(({ row }) => row)),
    reply: Effect.fn("Clarifications.reply")(function* (id, text, by) {
      const row = [...waiting.values()].find((open) => open.row.id === id)?.row
      const answer = row === undefined ? "" : Clarification.meant(text, row.choices, row.several)
      if (row === undefined || !(yield* settle(row, "answered", answer, by)))
        return yield* new NothingToAnswer({ reference: id })
      return new ClarificationRow({ ...row, state: "answered", answer, by })
    })
  })
})

/** Questions of the agent's own, asked where the turn's person reads. */
export const layer: Layer.Layer<
  Clarifications,
  never,
  Settings | ClarificationStore | Database | Delivery | Outbox | Notifier | AdapterRegistry | Activity | Drain | Ids
> = Layer.effect(Clarifications, make)
