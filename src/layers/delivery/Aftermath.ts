/**
 * What a person is told when something for them could not be delivered (gateway.md 3.11, decision 22). The row of the
 * word is stored with the end that it tells of, so that neither is there without the other, and waits for its turn in the chat.
 */
import { isChatRefused } from "../../services/adapter/Adapter.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { DeliveryRow, NewDelivery } from "../../services/delivery/Outbox.js"

export interface Word {
  /** What it is about. */
  readonly row: DeliveryRow
  readonly notice: Notice.Notice
}

/** Whose files are missed in the chat; a tool is told by its result. */
const saidInChat = (row: DeliveryRow): boolean => row.replyToPerson || row.cause.kind === "cron"

const problemOf = (row: DeliveryRow): string => row.reason ?? "no reason was given"

/** Of rows that end together: one word for a reply that did not arrive, or one for each of its files that did not. */
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

/** A chat that takes nothing takes no word either. */
export const isWritten = ({ row }: Word): boolean => !isChatRefused(problemOf(row))

/** It waits, and so is sent by the next start when this process ends first. */
export const rowOf = ({ notice, row }: Word): NewDelivery => ({
  cause: { kind: "notice", id: `${notice.code}:${row.id}` },
  address: { ...row.address, anchor: null },
  text: notice.text,
  part: 1,
  parts: 1,
  transcriptId: null,
  via: row.via,
  state: "pending",
  replyToPerson: false,
  resendOf: null,
  turnId: row.turnId,
  sessionKey: row.sessionKey,
  isCron: row.isCron
})
