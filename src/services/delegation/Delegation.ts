import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { StateError } from "../state/StateError.js"
import type { OutputSchema } from "./OutputSchema.js"

/**
 * failed: it ended without an answer · timeout: silent for `delegation.child_timeout_seconds` · stalled: silent for so
 * long that it was given up · unknown: the process that ran it is gone.
 */
export const DelegateStatus = Schema.Literal(
  "completed",
  "failed",
  "timeout",
  "error",
  "interrupted",
  "stalled",
  "unknown"
)
export type DelegateStatus = typeof DelegateStatus.Type

/** May it give work to helpers of its own, as far as the depth allows? */
export const Role = Schema.Literal("leaf", "orchestrator")
export type Role = typeof Role.Type

export interface DelegateTask {
  readonly goal: string
  readonly context: string | null
  /** Null: a leaf, unless the owner gives every helper the toolset. */
  readonly role: Role | null
  readonly outputSchema: OutputSchema | null
}

/** The worktree that a helper had to itself, and what became of it; without a path it worked in its parent's place after all. */
export const DelegateWorktree = Schema.Struct({
  path: Schema.NullOr(Schema.String),
  branch: Schema.NullOr(Schema.String),
  /** The commit that it began at. */
  base: Schema.NullOr(Schema.String),
  /** Is it still there? One without changes is removed. */
  kept: Schema.Boolean,
  /** Its commits since, and files that are changed and not committed; null where nobody could look. */
  commits: Schema.NullOr(Schema.Number),
  uncommitted: Schema.NullOr(Schema.Number),
  note: Schema.NullOr(Schema.String)
})
export type DelegateWorktree = typeof DelegateWorktree.Type

/** What the parent reads of a child: a self-report, to be verified, and what is known of it otherwise. */
export const DelegateResult = Schema.Struct({
  delegationId: Schema.String,
  goal: Schema.String,
  status: DelegateStatus,
  summary: Schema.String,
  /** `answered`, `budget`, `empty`, `truncated`, `content_filter`, `stopped` (somebody asked for it), `shutdown`, `stalled`, `timeout` or `error`. */
  exitReason: Schema.String,
  modelCalls: Schema.Number,
  durationMillis: Schema.Number,
  inputTokens: Schema.Number,
  outputTokens: Schema.Number,
  /** An estimate in US dollars; null where nobody knows the price. */
  costUsd: Schema.NullOr(Schema.Number),
  /** Its tool calls in order, the newest forty. */
  trace: Schema.Array(Schema.Struct({ tool: Schema.String, preview: Schema.String, outcome: Schema.String })),
  /** Against the output schema, when there was one. */
  schemaErrors: Schema.NullOr(Schema.Array(Schema.String)),
  /** What was said to it and came too late. */
  missedSteer: Schema.Array(Schema.String),
  /** Null where helpers are not isolated. */
  worktree: Schema.optionalWith(Schema.NullOr(DelegateWorktree), { default: () => null })
})
export type DelegateResult = typeof DelegateResult.Type

/** The delegation was not begun, or the helper is not there; and why. */
export class DelegationRefused extends Schema.TaggedError<DelegationRefused>()("DelegationRefused", {
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

export interface RunningDelegate {
  readonly delegationId: string
  readonly goal: string
  readonly turnId: string
  readonly parentTurnId: string
  /** The conversation that it works for in the end; empty for a scheduled run's. */
  readonly sessionKey: string
  readonly role: Role
  /** 1 for a conversation's own helper, 2 for a helper's. */
  readonly depth: number
  readonly background: boolean
  readonly startedAt: number
  /** What it did last, and when. */
  readonly lastDoing: string
  readonly lastAt: number
}

/** The key of a helper's own session, by which what it starts is told from others'. */
export const sessionKeyOf = (delegationId: string): string => `delegate:${delegationId}`

/** Who asks about helpers: a conversation about all that work for it, a helper about its own; null is the owner, about any. */
export type Asker = { readonly sessionKey: string } | { readonly parentTurnId: string } | null

/** Work in the background has begun; its report comes into the conversation by itself. */
export interface Dispatched {
  readonly group: string
  readonly delegationIds: ReadonlyArray<string>
}

export class Delegation extends Context.Tag("hermes/delegation/Delegation")<
  Delegation,
  {
    /** Runs all tasks inline, beside each other, and answers in task order. A batch above the limit or too deep a tree is refused, never cut (gateway.md 7.2). */
    readonly run: (
      callId: string,
      tasks: ReadonlyArray<DelegateTask>
    ) => Effect.Effect<ReadonlyArray<DelegateResult>, DelegationRefused | StateError, CurrentTurn>
    /** Begins all tasks behind the turn. One report of them all comes back as an internal event of the turn's conversation (gateway.md 7.7). */
    readonly dispatch: (
      callId: string,
      tasks: ReadonlyArray<DelegateTask>
    ) => Effect.Effect<Dispatched, DelegationRefused | StateError, CurrentTurn>
    /** Why work in the background is not possible in this turn; null when it is. */
    readonly inlineOnly: Effect.Effect<string | null, never, CurrentTurn>
    /** Says something to a helper at work, which reads it after its next tool call. */
    readonly steer: (asker: Asker, delegationId: string, text: string) => Effect.Effect<void, DelegationRefused>
    /** Ends a helper at work, and its own with it. */
    readonly stop: (asker: Asker, delegationId: string) => Effect.Effect<RunningDelegate, DelegationRefused>
    /** `/stop` and the end of a conversation: ends all that work behind it, and nobody is told of what they had; answers how many. */
    readonly stopBehind: (sessionKey: string) => Effect.Effect<number>
    /** At boot: delegates of dead processes are `unknown`; those who wait for a report are told so (decision 25, gateway.md 7.7). */
    readonly recover: Effect.Effect<number, StateError>
    readonly running: Effect.Effect<ReadonlyArray<RunningDelegate>>
  }
>() {}
