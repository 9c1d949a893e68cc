/** Which rows are sent once more by themselves (decision 22): a reply to a person that may not have arrived, while it is fresh. Pure. */
import type { DeliveryRow, NewDelivery } from "../../services/delivery/Outbox.js"
import * as Resend from "../../services/delivery/Resend.js"

/** What is older is not sent any more. */
export const maximumAgeMillis = 24 * 60 * 60 * 1000

/** What is in doubt is mostly a network in trouble: its copy, and its chat with it, waits so long. */
export const pauseMillis = 5_000

/** Of a row that is in doubt; a copy has none itself. */
export const isDue = (row: DeliveryRow, now: number): boolean =>
  row.replyToPerson && row.resendOf === null && now - row.createdAt <= maximumAgeMillis

/** Waits for its turn in the chat, where its original stood. */
export const copyOf = (row: DeliveryRow): NewDelivery => Resend.copyOf(row, "pending", true)
