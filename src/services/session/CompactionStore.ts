import { Context, type Effect, type Option, Schema } from "effect"
import type { StateError } from "../state/StateError.js"
import type { SessionId } from "./Session.js"

/** The right to compact one session: a row, so that no transaction is held while the summary is being made (#75316). */
export interface CompactionLease {
  readonly sessionId: SessionId
  readonly token: string
}

/** The lease ran out, or somebody else has it. Nothing was changed. */
export class CompactionLost extends Schema.TaggedError<CompactionLost>()("CompactionLost", {
  sessionId: Schema.String
}) {
  override get message(): string {
    return "the summary took too long: somebody else may compact this conversation now"
  }
}

/** Rows that the summary is about are not live any more. Nothing was changed. */
export class CompactionStale extends Schema.TaggedError<CompactionStale>()("CompactionStale", {
  sessionId: Schema.String
}) {
  override get message(): string {
    return "the conversation was changed while its summary was being made"
  }
}

/** What is remembered of a session's compactions. Times are epoch milliseconds. */
export interface CompactionHistory {
  /** Failures in a row. */
  readonly failures: number
  /** None is tried before, save by the person's word or a refusal of the model. */
  readonly notBefore: number | null
  /** Runs in a row that saved next to nothing. */
  readonly ineffective: number
  /** After two of those: none is tried before. */
  readonly pausedUntil: number | null
  readonly error: string | null
}

export class CompactionStore extends Context.Tag("hermes/session/CompactionStore")<
  CompactionStore,
  {
    readonly history: (sessionId: SessionId) => Effect.Effect<CompactionHistory, StateError>
    /** None while another holder's lease is alive. */
    readonly acquire: (sessionId: SessionId) => Effect.Effect<Option.Option<CompactionLease>, StateError>
    /** Keeps the lease alive; false when it was lost. */
    readonly renew: (lease: CompactionLease) => Effect.Effect<boolean, StateError>
    readonly release: (lease: CompactionLease) => Effect.Effect<void, StateError>
    /**
     * In one transaction: checks the lease and that every row is still live, takes the rows out of the live transcript
     * and puts the summary in their place. No other row is touched, so whatever arrived meanwhile stays where it is.
     * Answers the summary's id.
     */
    readonly commit: (
      lease: CompactionLease,
      change: {
        readonly rows: ReadonlyArray<number>
        readonly position: number
        readonly summary: string
        /** Did it save too little? Counted in the same transaction. */
        readonly effective: boolean
      }
    ) => Effect.Effect<number, StateError | CompactionLost | CompactionStale>
    /** A failure: none is tried for `waitMillis`. */
    readonly failed: (sessionId: SessionId, error: string, waitMillis: number) => Effect.Effect<void, StateError>
    /** A run that would have saved nothing and was not kept. */
    readonly ineffective: (sessionId: SessionId) => Effect.Effect<void, StateError>
  }
>() {}
