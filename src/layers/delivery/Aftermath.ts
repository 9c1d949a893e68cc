/** What a person is told when something for them could not be delivered (gateway.md 3.11, decision 22): in its chat, and on the page as it happens. */
import { Clock, Effect } from "effect"
import { isChatRefused } from "../../services/adapter/Adapter.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { DeliveryRow, NewDelivery } from "../../services/delivery/Outbox.js"
import { Activity } from "../../services/operation/Activity.js"
import { Database } from "../../services/state/Database.js"
import type { Courier } from "./Courier.js"
import type { Ledger } from "./Ledger.js"

export interface Aftermath {
  /** Looks at rows that have just been settled. Never fails: what cannot be told is logged. */
  readonly tell: (settled: ReadonlyArray<DeliveryRow>) => Effect.Effect<void>
}

interface Word {
  readonly row: DeliveryRow
  readonly notice: Notice.Notice
}

/** Whose files are missed in the chat; a tool is told by its result. */
const saidInChat = (row: DeliveryRow): boolean => row.replyToPerson || row.cause.kind === "cron"

const problemOf = (row: DeliveryRow): string => row.reason ?? "no reason was given"

/** One word for a reply that did not arrive, or one for each of its files that did not. */
export const wordsFor = (settled: ReadonlyArray<DeliveryRow>): ReadonlyArray<Word> => {
  const failed = settled.filter(({ state }) => state === "failed")
  const words = failed.find(({ media, replyToPerson }) => replyToPerson && media.length === 0)
  if (words !== undefined) return [{ row: words, notice: Notice.replyUndelivered({ problem: problemOf(words) }) }]
  return failed
    .filter((row) => row.media.length > 0 && saidInChat(row))
    .map((row) => ({
      row,
      notice: Notice.mediaFailed({ name: row.media.map(({ name }) => name).join(", "), problem: problemOf(row) })
    }))
}

const rowOf = ({ notice, row }: Word): NewDelivery => ({
  cause: { kind: "notice", id: `${notice.code}:${row.id}` },
  address: { ...row.address, anchor: null },
  text: notice.text,
  part: 1,
  parts: 1,
  transcriptId: null,
  via: row.via,
  state: "sending",
  replyToPerson: false,
  resendOf: null,
  turnId: row.turnId,
  sessionKey: row.sessionKey,
  isCron: row.isCron
})

export const make = (ledger: Ledger, courier: Courier) =>
  Effect.gen(function* () {
    const activity = yield* Activity
    const database = yield* Database

    const say = (word: Word): Effect.Effect<void> =>
      Effect.gen(function* () {
        const { notice, row } = word
        const at = yield* Clock.currentTimeMillis
        if (row.sessionKey !== null)
          yield* activity.publish({ _tag: "notice", at, sessionKey: row.sessionKey, ...notice })
        yield* Effect.logWarning("a person was told that something could not be delivered").pipe(
          Effect.annotateLogs({ delivery: row.id, code: notice.code })
        )
        // A chat that takes nothing takes no notice either.
        if (isChatRefused(problemOf(row))) return
        const rows = yield* database.write("delivery.insert", ledger.insert([rowOf(word)]))
        yield* courier.dispatch(rows, [], undefined)
      }).pipe(Effect.catchAll((error) => Effect.logWarning("a notice could not be stored", error)))

    return {
      tell: (settled) => Effect.forEach(wordsFor(settled), say, { discard: true })
    } satisfies Aftermath
  })
