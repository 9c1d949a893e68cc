import { Context, type Effect } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { Worktree } from "./Worktrees.js"

/** Worktrees of helpers as rows: written before they are made, forgotten when they are gone. */
export class WorktreeStore extends Context.Tag("hermes/delegation/WorktreeStore")<
  WorktreeStore,
  {
    readonly insert: (worktree: Worktree) => Step<void>
    /** Its helper is over and left something in it. */
    readonly keep: (delegationId: string) => Step<void>
    readonly forget: (delegationId: string) => Step<void>
    /** Those of helpers whose process is gone before it looked after them. */
    readonly left: Effect.Effect<ReadonlyArray<Worktree>, StateError>
    /** Those that were kept before this instant, epoch milliseconds. */
    readonly kept: (before: number) => Effect.Effect<ReadonlyArray<Worktree>, StateError>
  }
>() {}
