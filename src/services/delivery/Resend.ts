/** A message that is sent once more (decision 22): what its copy looks like, and which messages may have one. Pure. */
import { Schema } from "effect"
import * as Notice from "./Notice.js"
import type { DeliveryRow, NewDelivery } from "./Outbox.js"
import { shortened } from "../operation/Shortened.js"

/** There is no such delivery. */
export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", {
  id: Schema.String
}) {
  override get message(): string {
    return `there is no delivery "${shortened(this.id)}"; \`hermes deliveries list\` shows what there is`
  }
}

/** This one is not sent once more; `detail` says why, and what else there is to do. */
export class ResendRefused extends Schema.TaggedError<ResendRefused>()("ResendRefused", {
  id: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.id} is not sent again: ${this.detail}`
  }
}

const marked = (text: string): string => `${Notice.replyRecovered().text}\n\n${text}`.trimEnd()

/**
 * The one copy of a row, whose place in the story is `resendOf`. One that may have arrived says so in its words; one
 * that certainly has not goes out as it was.
 */
export const copyOf = (row: DeliveryRow, state: NewDelivery["state"], mayBeThere: boolean): NewDelivery => ({
  cause: row.cause,
  address: row.address,
  text: mayBeThere ? marked(row.text) : row.text,
  ...(row.media.length === 0 ? {} : { media: row.media }),
  part: row.part,
  parts: row.parts,
  transcriptId: row.transcriptId,
  via: row.via,
  state,
  replyToPerson: row.replyToPerson,
  resendOf: row.id,
  turnId: row.turnId,
  sessionKey: row.sessionKey,
  isCron: row.isCron
})

/** Why a row is not sent once more by hand; null when it may be. `siblings` are the rows of its cause. */
export const refusal = (row: DeliveryRow, siblings: ReadonlyArray<DeliveryRow>): string | null => {
  if (row.resendOf !== null) return `it is itself the copy of ${row.resendOf}, and a message has only one`
  const copy = siblings.find((other) => other.resendOf === row.id)
  if (copy !== undefined) return `it was sent once more already, as ${copy.id} (${copy.state})`
  switch (row.state) {
    case "failed":
    case "unknown":
      return null
    case "sent":
      return "it has arrived"
    case "pending":
      return "it still waits, and goes out by itself"
    case "sending":
      return "it is on its way"
    case "suppressed":
      return "it was kept back on purpose"
  }
}
