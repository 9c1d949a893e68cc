import { Context, type Effect } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"

/** recorded → waiting (for an approval) → started → settled (decision 25). `started` without a result after a crash is never run again. */
export type ToolCallState = "recorded" | "waiting" | "started" | "settled"

export interface ToolCallRow {
  readonly turnId: string
  readonly callId: string
  readonly position: number
  readonly tool: string
  readonly state: ToolCallState
}

export class ToolCallStore extends Context.Tag("hermes/agent/ToolCallStore")<
  ToolCallStore,
  {
    readonly record: (
      turnId: string,
      calls: ReadonlyArray<{ readonly callId: string; readonly tool: string }>
    ) => Step<void>
    readonly advance: (turnId: string, callId: string, state: ToolCallState) => Step<void>
    readonly ofTurn: (turnId: string) => Effect.Effect<ReadonlyArray<ToolCallRow>, StateError>
  }
>() {}
