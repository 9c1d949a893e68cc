import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { StateError } from "../state/StateError.js"
import { Millis } from "../operation/Instant.js"

export const ApprovalState = Schema.Literal("open", "approved", "denied", "expired", "cancelled")
export type ApprovalState = typeof ApprovalState.Type

export class ApprovalRow extends Schema.Class<ApprovalRow>("hermes/approval/ApprovalRow")({
  id: Schema.String,
  /** The conversation that is asked; a delegate's question is its parent's. */
  sessionKey: Schema.String,
  turnId: Schema.String,
  callId: Schema.String,
  tool: Schema.String,
  /** What is asked, redacted: the command line, the path. */
  subject: Schema.String,
  reasons: Schema.Array(Schema.String),
  state: ApprovalState,
  askedAt: Millis,
  expiresAt: Millis,
  answeredAt: Schema.NullOr(Millis),
  answer: Schema.NullOr(Schema.String),
  by: Schema.NullOr(Schema.String)
}) {}

/** once: this call · session: what was asked about, in this conversation · always: anywhere, in cron too. */
export const Scope = Schema.Literal("once", "session", "always")
export type Scope = typeof Scope.Type

export interface Question {
  readonly tool: string
  readonly callId: string
  readonly subject: string
  readonly reasons: ReadonlyArray<string>
}

/** What a model is told behind a refusal. */
export const advice = "Do not try another way to do the same; say what you wanted to do."

/** A refusal as a person reads it: without what was meant for the model. */
export const forPeople = (text: string): string => text.replace(` ${advice}`, "")

/** It may not run; `cause` tells a person's refusal from silence, from an interruption and from nobody being there. */
export class NotApproved extends Schema.TaggedError<NotApproved>()("NotApproved", {
  cause: Schema.Literal("denied", "expired", "interrupted", "nobody", "never", "unreachable"),
  reason: Schema.String
}) {
  override get message(): string {
    return this.reason
  }
}

/** No open question by that id, or none at all here. */
export class NothingToAnswer extends Schema.TaggedError<NothingToAnswer>()("NothingToAnswer", {
  reference: Schema.String
}) {
  override get message(): string {
    return `there is no open question ${this.reference}`
  }
}

/** No answer by that id covers later questions. */
export class NothingToRevoke extends Schema.TaggedError<NothingToRevoke>()("NothingToRevoke", {
  reference: Schema.String
}) {
  override get message(): string {
    return `no answer ${this.reference} is in force; \`hermes approvals grants\` lists those that are`
  }
}

/** The id of a call that a program makes: its own call's, numbered. */
export const innerCallId = (outer: string, number: number): string => `${outer}#${number}`

export const isInnerCallId = (callId: string): boolean => /#\d+$/.test(callId)

/** Proof that the gate was passed. A gated effect has it in its environment and does not compile without {@link Approvals.authorize}. */
export class Authorized extends Context.Tag("hermes/approval/Authorized")<
  Authorized,
  { readonly question: Question }
>() {}

export class Approvals extends Context.Tag("hermes/approval/Approvals")<
  Approvals,
  {
    /**
     * Asks in the conversation of the current turn (a delegate: its parent's) and runs `self` only on a yes. Questions
     * of one conversation are asked one after the other. Silence, an interruption or nobody there means no.
     */
    readonly authorize: (
      question: Question
    ) => <A, E, R>(
      self: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | NotApproved | StateError, Exclude<R, Authorized> | CurrentTurn>
    /** Lets `self` run without asking: the tool's own rules found nothing to ask about. */
    readonly unasked: (
      question: Question
    ) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Authorized>>
    /** Answers the oldest open question of a conversation, or the one named. `by` says who. */
    readonly answer: (answer: {
      readonly sessionKey: string | null
      readonly id: string | null
      readonly approve: boolean
      /** Of a yes; once when left out. A wider one covers later questions whose every reason it gave. */
      readonly scope?: Scope
      readonly reason: string | null
      readonly by: string
    }) => Effect.Effect<ApprovalRow, NothingToAnswer | StateError>
    readonly open: (sessionKey: string | null) => Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
    /** Answers that still cover later questions, newest first. */
    readonly grants: Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
    /** Takes such an answer back; what ran stays run. */
    readonly revoke: (id: string) => Effect.Effect<ApprovalRow, NothingToRevoke | StateError>
    /**
     * Ends open questions of a turn that is gone, and answers which; `inner`: only those of programs, which do not survive
     * a restart.
     */
    readonly cancelTurn: (
      turnId: string,
      reason: string,
      which?: "all" | "inner"
    ) => Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
  }
>() {}
