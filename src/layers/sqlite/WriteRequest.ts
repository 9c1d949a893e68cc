import { Effect, Exit } from "effect"
import type * as Synchronous from "../../fibers/Synchronous.js"
import type { Ahead, Commit, Patience } from "../../services/state/Database.js"
import { type StateError, StateLocked } from "../../services/state/StateError.js"
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
  /** What its step came to, once that is committed. */
  private made: Exit.Success<unknown, unknown> | null = null
  private readonly waiting: Array<() => void> = []

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

  /** Its commit is made, and not on the disk yet. */
  make(outcome: Outcome): void {
    if (Exit.isFailure(outcome)) return
    this.made = outcome
    this.wake()
  }

  settle(outcome: Outcome): void {
    this.outcome = Exit.isSuccess(outcome) ? outcome : Exit.mapError(outcome, translated(this.operation))
    this.wake()
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

  private wake(): void {
    for (const look of this.waiting.splice(0)) look()
  }

  private when<A>(known: () => Exit.Exit<A, unknown> | null): Effect.Effect<A, unknown> {
    return Effect.async<A, unknown>((resume) => {
      const look = (): void => {
        const exit = known()
        if (exit === null) this.waiting.push(look)
        else resume(exit)
      }
      look()
    })
  }

  /** Interrupted before its commit is made, the request is withdrawn; from then on the outcome counts. */
  private committed<A>(waiting: Effect.Effect<A, unknown>): Effect.Effect<A, unknown> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.catchAllCause(restore(waiting), (cause) => {
        if (this.made !== null || this.outcome !== null) return waiting
        this.withdrawn = true
        return Effect.failCause(cause)
      })
    )
  }

  /** The outcome once it lasts. */
  get settled(): Effect.Effect<unknown, unknown> {
    return this.committed(this.when(() => this.outcome))
  }

  /** What it came to, as soon as that is committed. */
  get ahead(): Effect.Effect<Ahead<unknown>, unknown> {
    return Effect.map(this.committed(this.when(() => this.made ?? this.outcome)), (value) => ({
      value,
      // What the disk did not take fails for all of a commit alike.
      kept: Effect.asVoid(this.when(() => this.outcome)) as Effect.Effect<void, StateError>
    }))
  }
}
