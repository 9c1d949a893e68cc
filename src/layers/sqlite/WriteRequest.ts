import { Effect, Exit } from "effect"
import type * as Synchronous from "../../fibers/Synchronous.js"
import type { Commit, Patience } from "../../services/state/Database.js"
import { StateLocked } from "../../services/state/StateError.js"
import { translated } from "./SqliteFailure.js"

export type Outcome = Exit.Exit<unknown, unknown>

/** Patience is time, not tries (state-agent.md 1.5). */
const patienceMillis: { readonly [P in Patience]: number } = { ordinary: 20_000, transcript: 60_000, stamp: 500 }

/** A write that waits for its commit, and whoever waits for it. */
export class WriteRequest {
  readonly operation: string
  readonly step: Synchronous.Run<unknown, unknown>
  readonly askedAt: number
  readonly deadline: number
  readonly commit: Commit
  outcome: Outcome | null = null
  /** Its caller was interrupted while it waited: it is never run. */
  withdrawn = false
  private resume: ((outcome: Outcome) => void) | null = null

  constructor(
    operation: string,
    step: Synchronous.Run<unknown, unknown>,
    askedAt: number,
    patience: Patience,
    commit: Commit
  ) {
    this.operation = operation
    this.step = step
    this.askedAt = askedAt
    this.commit = commit
    this.deadline = askedAt + patienceMillis[patience]
  }

  settle(outcome: Outcome): void {
    this.outcome = Exit.isSuccess(outcome) ? outcome : Exit.mapError(outcome, translated(this.operation))
    this.resume?.(this.outcome)
  }

  expire(now: number): void {
    this.settle(
      Exit.fail(
        new StateLocked({
          operation: this.operation,
          detail: "another process held the database",
          waitedMillis: now - this.askedAt
        })
      )
    )
  }

  /** The outcome once there is one. Interrupted before that, the request is withdrawn; afterwards the outcome counts. */
  readonly settled: Effect.Effect<unknown, unknown> = Effect.uninterruptibleMask((restore) =>
    Effect.catchAllCause(
      restore(
        Effect.async<unknown, unknown>((resume) => {
          if (this.outcome === null) this.resume = resume
          else resume(this.outcome)
        })
      ),
      (cause) => {
        if (this.outcome !== null) return this.outcome
        this.withdrawn = true
        return Effect.failCause(cause)
      }
    )
  )
}
