import { Context, type Effect } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { DelegateStatus } from "./Delegation.js"

export interface NewDelegation {
  readonly id: string
  readonly parentTurnId: string
  readonly childTurnId: string
  readonly childSessionId: string
  readonly callId: string
  readonly goal: string
}

/** Delegations as rows: written before the child starts, settled with its report. */
export class DelegationStore extends Context.Tag("hermes/delegation/DelegationStore")<
  DelegationStore,
  {
    readonly insert: (delegation: NewDelegation) => Step<void>
    /** The first outcome stays. */
    readonly settle: (id: string, status: DelegateStatus, summary: string) => Step<void>
    /** Ends every running delegation of a turn that is gone; answers how many. */
    readonly abandon: (parentTurnId: string) => Step<number>
    readonly running: Effect.Effect<ReadonlyArray<NewDelegation & { readonly startedAt: number }>, StateError>
  }
>() {}
