/** What an earlier process left unsettled (decision 22): it is in doubt, and only a reply to a person is sent once more, marked. */
import { Clock, Effect } from "effect"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { type DeliveryRow, Outbox } from "../../services/delivery/Outbox.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Copies from "./Copies.js"
import type { Ending, Ledger } from "./Ledger.js"

export interface Recovered {
  readonly unknown: number
  readonly resent: number
}

/** Rows judged in one transaction. */
const pageSize = 200

/** Replies in doubt that are looked at for a copy that is still due. */
const doubtfulSize = 1_000

const stopped = "the gateway stopped while it was being sent"
const unsent = "the gateway stopped before it was sent"

export const make = (ledger: Ledger) =>
  Effect.gen(function* () {
    const database = yield* Database
    const outbox = yield* Outbox
    const registry = yield* AdapterRegistry

    const judge = (row: DeliveryRow): Effect.Effect<Ending> =>
      Effect.gen(function* () {
        if (row.notBefore !== null) return { _tag: "Waits", notBefore: row.notBefore, reason: row.reason ?? unsent }
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
        // Whatever troubled the earlier process is over.
        yield* ledger.settle(judged, undefined, { pauseMillis: 0 })
        const doubtful = judged.flatMap(([row, ending]) => (ending._tag === "Unknown" ? [row] : []))
        return { unknown: doubtful.length, resent: doubtful.filter((row) => Copies.isDue(row, now)).length }
      })

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

    /** Replies in doubt whose copy is not there: of versions that made it at a start only. */
    const copyDoubtful: Effect.Effect<number, StateError> = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const doubtful = (yield* outbox.list({ state: "unknown", limit: doubtfulSize })).filter((row) =>
        Copies.isDue(row, now)
      )
      const due = yield* Effect.filter(doubtful, (row) =>
        Effect.map(outbox.ofCause(row.cause.kind, row.cause.id), (rows) =>
          rows.every((other) => other.resendOf !== row.id)
        )
      )
      if (due.length > 0) yield* database.write("delivery.copy", outbox.insert(due.map(Copies.copyOf)))
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
