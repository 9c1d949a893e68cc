/** The fields of `--json` as contract §2 fixes them, written out once more. */
import { Schema } from "effect"

const text = Schema.NullOr(Schema.String)
/** ISO 8601 in UTC. */
export const Time = Schema.String.pipe(Schema.pattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/))
const time = Schema.NullOr(Time)

export const Session = Schema.Struct({
  id: Schema.String,
  key: text,
  title: text,
  source: Schema.String,
  platform: text,
  chatId: text,
  threadId: text,
  userId: text,
  startedAt: Time,
  lastActivityAt: Time,
  endedAt: time,
  endReason: text,
  messages: Schema.Int
})

export const Delivery = Schema.Struct({
  id: Schema.String,
  cause: Schema.Struct({ kind: Schema.String, id: Schema.String }),
  platform: Schema.String,
  chatId: Schema.String,
  threadId: text,
  state: Schema.Literal("pending", "sending", "sent", "failed", "unknown", "suppressed"),
  via: Schema.String,
  platformMessageId: text,
  attempts: Schema.Int,
  createdAt: Time,
  settledAt: time,
  reason: text,
  resendOf: text
})

export const Approval = Schema.Struct({
  id: Schema.String,
  sessionKey: Schema.String,
  tool: Schema.String,
  subject: Schema.String,
  reasons: Schema.Array(Schema.String),
  state: Schema.String,
  askedAt: Time,
  expiresAt: Time,
  answeredAt: time,
  answer: text,
  by: text
})

export const Verdict = Schema.Struct({
  verdict: Schema.Literal("allow", "ask", "never"),
  reasons: Schema.Array(Schema.Struct({ rule: Schema.String, text: Schema.String }))
})

const whole = Schema.Int.pipe(Schema.nonNegative())

export const Status = Schema.Struct({
  gateway: Schema.Struct({
    running: Schema.Boolean,
    pid: Schema.NullOr(Schema.Int),
    url: text,
    version: Schema.String,
    startedAt: time
  }),
  work: Schema.Struct({ turns: whole, cron: whole, api: whole, delegates: whole, processes: whole }),
  model: Schema.NullOr(
    Schema.Struct({
      provider: Schema.String,
      name: Schema.String,
      trouble: Schema.NullOr(Schema.Struct({ at: Time, text: Schema.String }))
    })
  ),
  platforms: Schema.Array(
    Schema.Struct({ name: Schema.String, state: Schema.String, error: Schema.NullOr(Schema.String) })
  ),
  jobs: Schema.Struct({ scheduled: whole, next: time, failing: whole }),
  paused: Schema.Boolean,
  questions: whole,
  logins: Schema.Array(
    Schema.Struct({
      login: Schema.String,
      label: text,
      provider: text,
      state: Schema.String,
      usable: Schema.Boolean,
      expiresAt: time
    })
  ),
  loginTrouble: text
})

export const Send = Schema.Struct({ delivery: Delivery })

export const Answered = Schema.Struct({
  sessionId: Schema.String,
  turnId: Schema.String,
  outcome: Schema.String,
  text: Schema.String,
  usage: Schema.NullOr(Schema.Unknown)
})
