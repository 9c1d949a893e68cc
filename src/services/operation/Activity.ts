import { Context, type Effect, Schema, type Scope, type Stream } from "effect"

const at = { at: Schema.Number }
const inTurn = { ...at, sessionKey: Schema.String, sessionId: Schema.String, turnId: Schema.String }

/** Tokens of one turn, all its model calls together. */
export const ActivityUsage = Schema.Struct({
  inputTokens: Schema.Number,
  outputTokens: Schema.Number,
  cacheReadTokens: Schema.Number,
  cacheWriteTokens: Schema.Number,
  reasoningTokens: Schema.Number
})

/** What happens, as it happens: the one event schema of every SSE stream, the terminal and streaming replies. Times are epoch milliseconds. */
export const ActivityEvent = Schema.Union(
  Schema.TaggedStruct("turn.started", {
    ...inTurn,
    /** The admitted event that this turn answers (`Receipt.eventId`); null for a delegate's or a job's turn. */
    eventId: Schema.NullOr(Schema.String),
    parentTurnId: Schema.NullOr(Schema.String),
    platform: Schema.String
  }),
  Schema.TaggedStruct("text.delta", { ...inTurn, text: Schema.String }),
  /** The text streamed so far in this turn was not the answer (tools follow, or it was retried). */
  Schema.TaggedStruct("text.segment", {
    ...inTurn,
    /** It was thought, as its end showed, and is taken back where that can be done. */
    unsaid: Schema.optional(Schema.Boolean),
    /** It broke off, or could not be used: the answer is made again from its beginning. */
    again: Schema.optional(Schema.Boolean)
  }),
  /** The model failed and is asked again after `waitMillis`; told of each time. */
  Schema.TaggedStruct("model.waiting", {
    ...inTurn,
    provider: Schema.String,
    model: Schema.String,
    /** What keeps it from answering, in words. */
    trouble: Schema.String,
    waitMillis: Schema.Number
  }),
  Schema.TaggedStruct("tool.started", {
    ...inTurn,
    callId: Schema.String,
    tool: Schema.String,
    preview: Schema.String
  }),
  Schema.TaggedStruct("tool.settled", {
    ...inTurn,
    callId: Schema.String,
    tool: Schema.String,
    ok: Schema.Boolean,
    /** `ok`, `error`, `refused` (it was not let run), `cancelled`, `skipped` or `unknown`. */
    disposition: Schema.optional(Schema.String),
    preview: Schema.String
  }),
  Schema.TaggedStruct("delegate.started", {
    ...inTurn,
    delegationId: Schema.String,
    childTurnId: Schema.String,
    goal: Schema.String,
    role: Schema.optional(Schema.String),
    /** It works on when its turn has ended; a report comes later. */
    background: Schema.optional(Schema.Boolean)
  }),
  Schema.TaggedStruct("delegate.ended", {
    ...inTurn,
    delegationId: Schema.String,
    status: Schema.String,
    exitReason: Schema.optional(Schema.String),
    modelCalls: Schema.optional(Schema.Number)
  }),
  Schema.TaggedStruct("approval.asked", {
    ...inTurn,
    approvalId: Schema.String,
    tool: Schema.String,
    subject: Schema.String,
    reasons: Schema.Array(Schema.String),
    expiresAt: Schema.Number
  }),
  Schema.TaggedStruct("approval.answered", {
    ...at,
    sessionKey: Schema.String,
    approvalId: Schema.String,
    answer: Schema.String
  }),
  Schema.TaggedStruct("clarification.asked", {
    ...inTurn,
    clarificationId: Schema.String,
    question: Schema.String,
    choices: Schema.Array(Schema.String),
    /** May several of them be named? */
    several: Schema.Boolean,
    expiresAt: Schema.Number
  }),
  /** Answered, or no longer asked. */
  Schema.TaggedStruct("clarification.settled", {
    ...at,
    sessionKey: Schema.String,
    clarificationId: Schema.String,
    answer: Schema.NullOr(Schema.String)
  }),
  Schema.TaggedStruct("notice", {
    ...at,
    sessionKey: Schema.String,
    code: Schema.String,
    text: Schema.String,
    /** The message that it is about, by the id that it came with; absent where it had none, or nobody sent one. */
    about: Schema.optional(Schema.String)
  }),
  /** A message row was committed to a transcript; told again, with the same `messageId`, when an answer reached its page. */
  Schema.TaggedStruct("message.stored", {
    ...at,
    sessionKey: Schema.String,
    sessionId: Schema.String,
    messageId: Schema.Number,
    /** The turn that the row belongs to; absent for what came from elsewhere. */
    turnId: Schema.optional(Schema.String),
    role: Schema.String,
    text: Schema.String
  }),
  Schema.TaggedStruct("delivery.settled", {
    ...at,
    deliveryId: Schema.String,
    platform: Schema.String,
    state: Schema.String
  }),
  /**
   * The last word on an admitted event: its turn ended, or it had none because it was a command (`outcome` `command`),
   * was steered into another turn (`steered`) or was given up (`dropped`). `turnId` is then the event's own id.
   */
  Schema.TaggedStruct("turn.ended", {
    ...inTurn,
    eventId: Schema.NullOr(Schema.String),
    outcome: Schema.String,
    text: Schema.String,
    /** What the turn cost; absent where no model was asked. */
    usage: Schema.optional(ActivityUsage),
    /** The code of the notice that stands for an answer (gateway.md 3.11). */
    notice: Schema.optional(Schema.String),
    /** Whoever runs the model kept back the rest of the answer, or refused one. */
    filtered: Schema.optional(Schema.Literal(true)),
    /** Where there was no turn: the message, by the id that it came with. */
    about: Schema.optional(Schema.String)
  }),
  /** A summary, which is the row `messageId`, took the place of so many rows of the transcript. */
  Schema.TaggedStruct("session.compacted", {
    ...at,
    sessionKey: Schema.String,
    sessionId: Schema.String,
    messageId: Schema.Number,
    rows: Schema.Number
  }),
  /** A model gave a conversation its name. */
  Schema.TaggedStruct("session.named", {
    ...at,
    sessionKey: Schema.String,
    sessionId: Schema.String,
    title: Schema.String
  }),
  /** A run of a job begins, and what became of it: one of the statuses of a run. */
  Schema.TaggedStruct("cron.started", { ...at, jobId: Schema.String, runId: Schema.String, name: Schema.String }),
  Schema.TaggedStruct("cron.ended", {
    ...at,
    jobId: Schema.String,
    runId: Schema.String,
    name: Schema.String,
    status: Schema.String
  }),
  Schema.TaggedStruct("session.changed", { ...at, sessionKey: Schema.String, sessionId: Schema.String }),
  Schema.TaggedStruct("gateway.state", { ...at, state: Schema.String })
)
export type ActivityEvent = typeof ActivityEvent.Type

/** A subscription that is read by taking. */
export interface ActivityFeed {
  /** All that has happened since the last take, in order; waits for the first. */
  readonly take: Effect.Effect<ReadonlyArray<ActivityEvent>>
}

export class Activity extends Context.Tag("hermes/operation/Activity")<
  Activity,
  {
    /** Tells every subscriber; never waits. A subscriber more than 1,024 events behind loses its oldest ones. */
    readonly publish: (event: ActivityEvent) => Effect.Effect<void>
    /** Events from the moment of subscribing on. Subscribed when the effect returns, until its scope closes. */
    readonly subscribe: Effect.Effect<Stream.Stream<ActivityEvent>, never, Scope.Scope>
    /** As `subscribe`, for the events that `wanted` lets through and without a stream's cost per event. `wanted` runs in whoever publishes: cheap and total. */
    readonly watch: (wanted: (event: ActivityEvent) => boolean) => Effect.Effect<ActivityFeed, never, Scope.Scope>
  }
>() {}
