import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { StateError } from "../state/StateError.js"

export const DelegateStatus = Schema.Literal("completed", "failed", "error", "interrupted", "unknown")
export type DelegateStatus = typeof DelegateStatus.Type

export interface DelegateTask {
  readonly goal: string
  readonly context: string | null
}

/** What the parent reads of a child: a self-report, to be verified. */
export interface DelegateResult {
  readonly delegationId: string
  readonly status: DelegateStatus
  readonly summary: string
  readonly modelCalls: number
  readonly durationMillis: number
}

/** The delegation was not begun, and why. */
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
  readonly startedAt: number
}

export class Delegation extends Context.Tag("hermes/delegation/Delegation")<
  Delegation,
  {
    /** Runs all tasks inline, beside each other, and answers in task order. A batch above the limit or too deep a tree is refused, never cut (gateway.md 7.2). */
    readonly run: (
      callId: string,
      tasks: ReadonlyArray<DelegateTask>
    ) => Effect.Effect<ReadonlyArray<DelegateResult>, DelegationRefused | StateError, CurrentTurn>
    /** At boot: delegates of dead turns are `unknown` (decision 25). */
    readonly recover: Effect.Effect<number, StateError>
    readonly running: Effect.Effect<ReadonlyArray<RunningDelegate>>
  }
>() {}
