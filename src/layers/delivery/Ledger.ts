/** What became of a row, written down and told; and which rows this process has in its hands. */
import { Effect } from "effect"
import { type DeliveryRow, type NewDelivery, Outbox } from "../../services/delivery/Outbox.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Activity } from "../../services/operation/Activity.js"
import { type Commit, Database, type Step } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Aftermath from "./Aftermath.js"
import * as Copies from "./Copies.js"
import { laneOf } from "./Lanes.js"
import type { Holds } from "./Holds.js"
import type { Outcome } from "./Transmission.js"

/** `suppressed`: settled without being sent. */
export type Ending = Outcome | { readonly _tag: "Suppressed"; readonly reason: string }

export interface Ledger {
  /** Inserts rows; those that are to be sent now are in this process's hands until they are settled. */
  readonly insert: (deliveries: ReadonlyArray<NewDelivery>) => Step<ReadonlyArray<DeliveryRow>>
  readonly become: (id: string, delivery: NewDelivery) => Step<DeliveryRow>
  /**
   * One transaction for all, for what people are told of it and for the copies of what is in doubt, not to be
   * interrupted; answers the rows as they now stand. A chat with a copy is held for `pauseMillis`, 5 s where nothing is
   * said.
   */
  readonly settle: (
    endings: ReadonlyArray<readonly [row: DeliveryRow, ending: Ending]>,
    along?: Step<void>,
    terms?: { readonly pauseMillis?: number; readonly commit?: Commit }
  ) => Effect.Effect<ReadonlyArray<DeliveryRow>, StateError>
  /** Settles what could not be written down when it was known; answers whether anything is left of it. */
  readonly settleLate: Effect.Effect<boolean>
  /**
   * Sits out a pause that the platform asked for before anything of this row left it, written down so that an end in the
   * middle of it leaves it waiting and not in doubt. Once it succeeds the row is about to leave again.
   */
  readonly pause: (row: DeliveryRow, millis: number, reason: string) => Effect.Effect<void, StateError>
  /** Takes a waiting row into this process's hands. */
  readonly take: (row: DeliveryRow) => Effect.Effect<DeliveryRow, StateError>
  /** Is this row in this process's hands? Recovery leaves it alone. */
  readonly isOurs: (id: string) => boolean
  /** The right to send a row, given once until it is settled: the same message may be asked for twice at a time. */
  readonly claim: (id: string) => boolean
}

/** The row as its columns now are. It was validated when it was read; the constructor of its class would copy it four times. */
const changed = (row: DeliveryRow, change: Partial<DeliveryRow>): DeliveryRow => ({ ...row, ...change })

const settledRow = (row: DeliveryRow, ending: Ending, now: number): DeliveryRow => {
  switch (ending._tag) {
    case "Sent":
      return changed(row, {
        state: "sent",
        platformMessageId: ending.platformMessageId,
        reason: ending.note,
        settledAt: now,
        notBefore: null
      })
    case "Waits":
      return changed(row, { state: "pending", reason: ending.reason, notBefore: ending.notBefore })
    default:
      return changed(row, { state: stateOf(ending._tag), reason: ending.reason, settledAt: now, notBefore: null })
  }
}

const stateOf = (tag: "Failed" | "Unknown" | "Suppressed"): "failed" | "unknown" | "suppressed" =>
  tag === "Failed" ? "failed" : tag === "Unknown" ? "unknown" : "suppressed"

export const make = (holds: Holds) =>
  Effect.gen(function* () {
    const activity = yield* Activity
    const clock = yield* Effect.clock
    const database = yield* Database
    const outbox = yield* Outbox
    const redactor = yield* Redactor
    /** Whether somebody has begun to send it. */
    const ours = new Map<string, boolean>()
    /** Known, and not written: the disk was full, say. Of rows in this process's hands only, so it is as bounded as they are. */
    const unwritten = new Map<string, readonly [DeliveryRow, Ending]>()

    /** Platforms' own words may hold a token in an address. */
    const redacted = (ending: Ending): Ending =>
      ending._tag === "Sent"
        ? { ...ending, note: ending.note === null ? null : redactor.text(ending.note) }
        : { ...ending, reason: redactor.text(ending.reason) }

    const write = (row: DeliveryRow, ending: Ending): Step<void> => {
      switch (ending._tag) {
        case "Sent":
          return outbox.settle(row.id, {
            state: "sent",
            platformMessageId: ending.platformMessageId,
            note: ending.note
          })
        case "Waits":
          return outbox.settle(row.id, { state: "pending", notBefore: ending.notBefore, reason: ending.reason })
        default:
          return outbox.settle(row.id, { state: stateOf(ending._tag), reason: ending.reason })
      }
    }

    const own = (row: DeliveryRow): DeliveryRow => {
      if (row.state === "sending" && !ours.has(row.id)) ours.set(row.id, false)
      return row
    }

    /** On the page it is seen as it happens. */
    const told = ({ notice, row }: Aftermath.Word, at: number) =>
      Effect.zipRight(
        row.sessionKey === null
          ? Effect.void
          : activity.publish({ _tag: "notice", at, sessionKey: row.sessionKey, ...notice }),
        Effect.logWarning("a person is told that something could not be delivered").pipe(
          Effect.annotateLogs({ delivery: row.id, code: notice.code })
        )
      )

    const settlement = Effect.fnUntraced(function* (
      clean: ReadonlyArray<readonly [DeliveryRow, Ending]>,
      also: ReadonlyArray<NewDelivery>,
      along: Step<void> | undefined
    ) {
      for (const [row, ending] of clean) yield* write(row, ending)
      if (also.length > 0) yield* outbox.insert(also)
      if (along !== undefined) yield* along
    })

    /** What was known first is what happened. */
    const keep = (endings: ReadonlyArray<readonly [DeliveryRow, Ending]>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const news = endings.filter(([row]) => ours.has(row.id) && !unwritten.has(row.id))
        for (const one of news) unwritten.set(one[0].id, one)
        return news.length === 0 ? Effect.void : holds.wake
      })

    const ledger: Ledger = {
      insert: (deliveries) => Effect.map(outbox.insert(deliveries), (rows) => rows.map(own)),
      become: (id, delivery) => Effect.map(outbox.become(id, delivery), own),
      settle: Effect.fnUntraced(function* (endings, along, { commit = "now", pauseMillis = Copies.pauseMillis } = {}) {
        if (endings.length === 0 && along === undefined) return []
        const clean = endings.map(([row, ending]) => [row, redacted(ending)] as const)
        const at = clock.unsafeCurrentTimeMillis()
        const rows = clean.map(([row, ending]) => settledRow(row, ending, at))
        const words = Aftermath.wordsFor(rows)
        const written = words.filter(Aftermath.isWritten)
        const doubtful = rows.filter((row) => row.state === "unknown" && Copies.isDue(row, at))
        yield* database
          .write(
            "delivery.settle",
            settlement(clean, [...written.map(Aftermath.rowOf), ...doubtful.map(Copies.copyOf)], along),
            "ordinary",
            commit
          )
          .pipe(Effect.tapError(() => keep(endings)))
        for (const word of words) yield* told(word, at)
        for (const { address } of doubtful) yield* holds.hold(laneOf(address), pauseMillis)
        if (written.length > 0) yield* holds.wake
        for (const row of rows) {
          ours.delete(row.id)
          unwritten.delete(row.id)
          if (row.state === "pending") continue
          yield* activity.publish({
            _tag: "delivery.settled",
            at,
            deliveryId: row.id,
            platform: row.address.platform,
            state: row.state
          })
        }
        return rows
      }, Effect.uninterruptible),
      settleLate: Effect.gen(function* () {
        if (unwritten.size === 0) return false
        const known = [...unwritten.values()]
        const settled = yield* Effect.either(ledger.settle(known))
        if (settled._tag === "Left") return true
        yield* Effect.logWarning("what became of messages is written down late").pipe(
          Effect.annotateLogs({ messages: known.length })
        )
        return unwritten.size > 0
      }),
      pause: Effect.fnUntraced(function* ({ id }, millis, reason) {
        const until = { notBefore: clock.unsafeCurrentTimeMillis() + millis, reason: redactor.text(reason) }
        yield* database.write("delivery.pause", outbox.notePause(id, until))
        yield* Effect.sleep(millis)
        yield* database.write("delivery.pause", outbox.notePause(id, null))
      }),
      take: (row) =>
        Effect.gen(function* () {
          ours.set(row.id, true)
          yield* database
            .write("delivery.take", outbox.markSending(row.id))
            .pipe(Effect.onError(() => Effect.sync(() => ours.delete(row.id))))
          return changed(row, { state: "sending", attempts: row.attempts + 1 })
        }),
      isOurs: (id) => ours.has(id),
      claim: (id) => {
        const isFree = ours.get(id) !== true
        ours.set(id, true)
        return isFree
      }
    }
    return ledger
  })
