import { Context, type Effect } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { ApprovalRow, ApprovalState } from "./Approval.js"

/** Questions as rows: they survive a restart and are answered exactly once. */
export class ApprovalStore extends Context.Tag("hermes/approval/ApprovalStore")<
  ApprovalStore,
  {
    readonly insert: (row: ApprovalRow) => Step<void>
    /** False when the question was settled already. */
    readonly settle: (
      id: string,
      outcome: {
        readonly state: Exclude<ApprovalState, "open">
        readonly answer: string | null
        readonly by: string | null
        readonly at: number
      }
    ) => Step<boolean>
    readonly get: (id: string) => Effect.Effect<ApprovalRow | null, StateError>
    /** The open question of one tool call, as after a restart. */
    readonly openOfCall: (turnId: string, callId: string) => Effect.Effect<ApprovalRow | null, StateError>
    /** Every question of one tool call, settled ones too, oldest first: a yes from before a restart still counts. */
    readonly ofCall: (turnId: string, callId: string) => Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
    /** Every question of a turn, oldest first. */
    readonly ofTurn: (turnId: string) => Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
    /** Oldest first. */
    readonly open: (sessionKey: string | null) => Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
    /** Answers for a session or always that were not taken back, newest first; of one tool or of all. */
    readonly grants: (tool: string | null) => Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
    /** False when it is no grant, or none any more. */
    readonly revoke: (id: string) => Step<boolean>
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<ApprovalRow>, StateError>
  }
>() {}
