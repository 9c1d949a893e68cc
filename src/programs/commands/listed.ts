/** The fields that lists show with `--json`, as contract §2 fixes them; `show` shows more. */
import { Schema } from "effect"
import { ApprovalView } from "../../services/api/Approvals.js"
import { DeliveryView } from "../../services/api/Deliveries.js"
import { JobView, RunView } from "../../services/api/Jobs.js"
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

export const Job = JobView.pipe(
  Schema.pick(
    "id",
    "name",
    "schedule",
    "timezone",
    "words",
    "state",
    "nextRunAt",
    "lastRunAt",
    "lastStatus",
    "failureStreak",
    "deliver",
    "targets",
    "repeat"
  )
)

export const Run = RunView.pipe(
  Schema.pick(
    "id",
    "jobId",
    "scheduledAt",
    "kind",
    "status",
    "claimedAt",
    "startedAt",
    "finishedAt",
    "reason",
    "sessionId",
    "output",
    "deliveries",
    "count"
  )
)
