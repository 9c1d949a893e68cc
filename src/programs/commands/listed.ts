/** The fields that lists show with `--json`, as contract §2 fixes them; `show` shows more. */
import { Schema } from "effect"
import { ApprovalView } from "../../services/api/Approvals.js"
import { DeliveryView } from "../../services/api/Deliveries.js"
import { SessionView } from "../../services/api/Sessions.js"

export const Session = SessionView.pipe(
  Schema.pick(
    "id",
    "key",
    "title",
    "source",
    "platform",
    "chatId",
    "threadId",
    "userId",
    "startedAt",
    "lastActivityAt",
    "endedAt",
    "endReason",
    "messages"
  )
)

export const Delivery = DeliveryView.pipe(
  Schema.pick(
    "id",
    "cause",
    "platform",
    "chatId",
    "threadId",
    "state",
    "via",
    "platformMessageId",
    "attempts",
    "createdAt",
    "settledAt",
    "reason",
    "resendOf"
  )
)

export const Approval = ApprovalView.pipe(
  Schema.pick(
    "id",
    "sessionKey",
    "tool",
    "subject",
    "reasons",
    "state",
    "askedAt",
    "expiresAt",
    "answeredAt",
    "answer",
    "by"
  )
)
