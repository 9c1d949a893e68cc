/** What an earlier process left unsettled (decision 22): it is in doubt, and only a reply to a person is sent once more, marked. */
import { Clock, Effect } from "effect"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { type DeliveryRow, type NewDelivery, Outbox } from "../../services/delivery/Outbox.js"
import * as Resend from "../../services/delivery/Resend.js"
import { Database, type Step } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import type { Ending, Ledger } from "./Ledger.js"
import { maximumAgeMillis } from "./Waiting.js"

export interface Recovered {
  readonly unknown: number
  readonly resent: number
}

/** Rows judged in one transaction. */
const pageSize = 200

/** Replies in doubt that are looked at for a copy that is still due. */
const doubtfulSize = 1_000

const stopped = "the gateway stopped while it was being sent"

/** What was in doubt may have arrived: its copy says so. */
const copyOf = (row: DeliveryRow): NewDelivery => Resend.copyOf(row, "pending", true)

/** A copy is made once, of a reply to a person, while it is fresh. */
const deservesCopy = (row: DeliveryRow, now: number): boolean =>
  row.replyToPerson && row.resendOf === null && now - row.createdAt <= maximumAgeMillis

export const make = (ledger: Ledger) =>
  Effect.gen(function* () {
    const database = yield* Database
    const outbox = yield* Outbox
    const registry = yield* AdapterRegistry

    const judge = (row: DeliveryRow): Effect.Effect<Ending> =>
      Effect.gen(function* () {
        const adapter = yield* registry.get(row.address.platform)
        if (adapter !== null && !adapter.capabilities.platformIds && row.transcriptId !== null)
          return { _tag: "Sent", platformMessageId: String(row.transcriptId), note: null }
        // The message is there and only its final text is in doubt: an edit may be made twice.
        if (row.platformMessageId !== null && row.replyToPerson)
          return { _tag: "Waits", notBefore: 0, reason: "its final text is put in again" }
        return { _tag: "Unknown", reason: stopped }
      })

    const settlePage = (rows: ReadonlyArray<DeliveryRow>) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const judged = yield* Effect.forEach(rows, (row) => Effect.map(judge(row), (ending) => [row, ending] as const))
        const copies = judged.flatMap(([row, ending]) =>
          ending._tag === "Unknown" && deservesCopy(row, now) ? [copyOf(row)] : []
        )
        yield* ledger.settle(judged, copies.length === 0 ? undefined : insert(copies))
        return { unknown: judged.filter(([, ending]) => ending._tag === "Unknown").length, resent: copies.length }
      })

    const insert = (copies: ReadonlyArray<NewDelivery>): Step<void> => Effect.asVoid(outbox.insert(copies))

    /** Rows found `sending` that are not this process's own. */
    const settleSending: Effect.Effect<Recovered, StateError> = Effect.gen(function* () {
      let found: Recovered = { unknown: 0, resent: 0 }
      for (;;) {
        const rows = (yield* outbox.inState(["sending"], pageSize)).filter((row) => !ledger.isOurs(row.id))
        if (rows.length === 0) return found
        const page = yield* settlePage(rows)
        found = { unknown: found.unknown + page.unknown, resent: found.resent + page.resent }
      }
    })

    /** Replies that a read timeout left in doubt while the gateway ran, and that have no copy yet. */
    const copyDoubtful: Effect.Effect<number, StateError> = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const doubtful = (yield* outbox.list({ state: "unknown", limit: doubtfulSize })).filter((row) =>
        deservesCopy(row, now)
      )
      const due = yield* Effect.filter(doubtful, (row) =>
        Effect.map(outbox.ofCause(row.cause.kind, row.cause.id), (rows) =>
          rows.every((other) => other.resendOf !== row.id)
        )
      )
      if (due.length > 0) yield* database.write("delivery.copy", insert(due.map(copyOf)))
      return due.length
    })

    return {
      /** Settles what is in doubt and puts the marked copies among what waits. */
      settle: Effect.gen(function* () {
        const found = yield* settleSending
        const copies = yield* copyDoubtful
        return { unknown: found.unknown, resent: found.resent + copies }
      })
    }
  })
