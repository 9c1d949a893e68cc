/** The fields that lists show with `--json`, as contract §2 fixes them; `show` shows more. */

export const session = [
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
] as const

export const delivery = [
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
] as const

export const approval = [
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
] as const

export const job = [
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
] as const

export const run = [
  "id",
  "jobId",
  "jobName",
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
] as const
