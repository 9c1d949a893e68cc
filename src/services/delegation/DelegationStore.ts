import { Context, type Effect } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { DelegateResult, DelegateStatus, Role } from "./Delegation.js"

export interface NewDelegation {
  readonly id: string
  readonly parentTurnId: string
  readonly childTurnId: string
  readonly childSessionId: string
  readonly callId: string
  readonly goal: string
  readonly role?: Role
  /** Those of one call in the background report together; null for inline ones. */
  readonly group?: string | null
}

export interface OpenDelegation extends NewDelegation {
  readonly group: string | null
  readonly startedAt: number
}

/** One of a group: `result` is null while it works. */
export interface GroupMember {
  readonly id: string
  readonly goal: string
  readonly status: DelegateStatus | null
  readonly result: DelegateResult | null
  /** The one that it had to itself, while that is there. */
  readonly worktree: { readonly path: string; readonly branch: string } | null
}

/** A helper that a conversation had, or has. */
export interface PastDelegation extends Omit<NewDelegation, "role" | "group"> {
  readonly background: boolean
  readonly startedAt: number
  /** Null while it works. */
  readonly status: DelegateStatus | null
}

/** Delegations as rows: written before the child starts, settled with its report. */
export class DelegationStore extends Context.Tag("hermes/delegation/DelegationStore")<
  DelegationStore,
  {
    readonly insert: (delegation: NewDelegation) => Step<void>
    /** The first outcome stays. */
    readonly settle: (id: string, status: DelegateStatus, summary: string, result?: DelegateResult) => Step<void>
    /** Ends every running delegation of a turn that is gone; answers how many. */
    readonly abandon: (parentTurnId: string) => Step<number>
    readonly group: (group: string) => Step<ReadonlyArray<GroupMember>>
    /** The newest helpers of a conversation's turns, and those that these had; oldest first. */
    readonly ofSession: (sessionId: string, limit: number) => Effect.Effect<ReadonlyArray<PastDelegation>, StateError>
    readonly running: Effect.Effect<ReadonlyArray<OpenDelegation>, StateError>
  }
>() {}
