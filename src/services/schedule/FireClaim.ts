import type { SqlError } from "@effect/sql"
import { Context, type Effect, type ParseResult, Schema } from "effect"
import type { Commit, Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { JobNumber, RunStatus } from "./Job.js"
import { OccurrenceId, type OccurrenceKind } from "./Occurrence.js"

/**
 * So long before its instant an occurrence is claimed, and started within it, so that all is on the disk by then and the
 * run only begins: a thousand at one instant take some 50 ms of it.
 */
export const aheadMillis = 100

/** An occurrence that is ours to start: nothing has happened for it yet. */
export interface Claimed {
  readonly occurrence: OccurrenceId
  readonly job: JobNumber
  /** Epoch milliseconds. */
  readonly scheduledAt: number
  readonly kind: OccurrenceKind
  /** Said to this run only. */
  readonly context: string | null
}

/** Proof that this process, and no other, may run and record one occurrence of a job. */
export interface FireClaim extends Claimed {
  /** Epoch milliseconds: when the run is to begin, which is no more than `aheadMillis` from now. */
  readonly startedAt: number
  /** Fresh and unguessable; every step that is guarded compares it with the row. */
  readonly token: string
}

/** Somebody else holds the occurrence, or it was ended while we were away. Nothing may be saved, sent or recorded any more. */
export class ClaimLost extends Schema.TaggedError<ClaimLost>()("ClaimLost", { occurrence: OccurrenceId }) {
  override get message(): string {
    return `run_${this.occurrence} is not this process's any more; what it still does is thrown away`
  }
}

/** How a run ended, as its row and its job record it. */
export interface RunEnding {
  readonly status: Exclude<RunStatus, "claimed" | "running">
  readonly reason: string | null
  /** What the job shows as its last error; null after a success. */
  readonly error: string | null
  readonly deliveryError: string | null
  /** Counts into the streak of failures, resets it, or leaves it. */
  readonly streak: "failure" | "success" | "same"
  readonly sessionId: string | null
  readonly output: string | null
}

/** What a boot found of the gateway before. */
export interface Recovered {
  /** To be started now: they were claimed and nothing had happened for them. */
  readonly claimed: ReadonlyArray<Claimed>
  /** Begun and not ended: whether they acted is not known, and they are not run again. */
  readonly unknown: ReadonlyArray<Claimed>
  /** Given up before they began. */
  readonly missed: ReadonlyArray<Claimed>
}

/** Who may run which occurrence (decision 14, seeds: claims, fencing, batch advance). */
export class FireClaims extends Context.Tag("hermes/schedule/FireClaims")<
  FireClaims,
  {
    /**
     * Claims everything that is due and advances its jobs, in one transaction; writes nothing when nothing is due.
     * Backlogs and overlaps are recorded in the same transaction (cron-delivery.md 2.4, decision 14). Whoever starts at
     * once what he claims needs it to outlive the process only: nothing is done about a claim before `start`, whose
     * commit takes both to the disk. What comes due within the next `aheadMillis` counts as due, but for a job whose run
     * before goes on: that is judged at its instant. `ours`: without the lease whatever is due is another's.
     */
    readonly claimDue: (
      commit?: Commit
    ) => Effect.Effect<
      { readonly claimed: ReadonlyArray<Claimed>; readonly missed: ReadonlyArray<Claimed>; readonly ours: boolean },
      StateError
    >
    /** When the next thing is due, epoch milliseconds; null when nothing is. */
    readonly nextDue: Effect.Effect<number | null, StateError>
    /**
     * claimed → running, before any side effect: those may come from `startedAt` on. What somebody else took or ended in the meantime is left
     * out.
     */
    readonly start: (claimed: ReadonlyArray<Claimed>) => Effect.Effect<ReadonlyArray<FireClaim>, StateError>
    /** The check alone, to put before other steps of the same transaction: it fails the whole step when the claim is lost. */
    readonly guard: (claim: FireClaim) => Step<void, ClaimLost>
    /** The transcript of the run, so that it can be closed when the run is found dead. */
    readonly noteSession: (claim: FireClaim, sessionId: string) => Step<void>
    /** Runs `step` only while the claim is ours, in the same transaction as the check. */
    readonly fenced: <A, E>(
      claim: FireClaim,
      operation: string,
      step: Step<A, E>
    ) => Effect.Effect<A, ClaimLost | StateError | Exclude<E, SqlError.SqlError | ParseResult.ParseError>>
    /** Ends the run: its row, its job's record and whatever `along` adds, exactly once. */
    readonly record: (
      claim: FireClaim,
      ending: RunEnding,
      along?: Step<void>
    ) => Effect.Effect<void, ClaimLost | StateError>
    /** Gives claims back unused at an orderly end: they are claimed anew at the next start as if for the first time. */
    readonly release: (claimed: ReadonlyArray<Claimed>) => Effect.Effect<void, StateError>
    /** Renews the gateway's lease and those of the runs that are held; answers the runs that are somebody else's by now. */
    readonly beat: (held: ReadonlyArray<FireClaim>) => Effect.Effect<ReadonlyArray<OccurrenceId>, StateError>
    /**
     * Once at boot, by whoever holds the home's lock: the gateway before is dead, so its leases end now. What it had
     * claimed is claimed once more under the rules of lateness; what it had begun is unknown.
     */
    readonly recover: Effect.Effect<Recovered, StateError>
  }
>() {}
