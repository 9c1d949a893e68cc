import { Context, type Effect, Schema } from "effect"

/** A git worktree that is one helper's alone, on a branch of its own. */
export const Worktree = Schema.Struct({
  /** The helper's. */
  delegationId: Schema.String,
  /** A working tree of the same repository that outlives it: git is asked from there. */
  repository: Schema.String,
  /** Its root, absolute. */
  path: Schema.String,
  branch: Schema.String,
  /** The commit that it began at. */
  base: Schema.String
})
export type Worktree = typeof Worktree.Type

/** What is planned for a helper, before any of it exists. */
export interface Planned {
  readonly _tag: "Planned"
  readonly worktree: Worktree
  /** Where the helper works: the place in the worktree that its parent's directory has in the repository. */
  readonly directory: string
  /** Files that are changed in the parent's own tree, and so are not as they are there; null when that took too long. */
  readonly dirty: number | null
}

/** There is nothing that could be isolated, and why. */
export interface InPlace {
  readonly _tag: "InPlace"
  readonly why: string
}

/** What a worktree has of its own. */
export interface Contents {
  readonly exists: boolean
  /** Files changed, added or removed and not committed. */
  readonly uncommitted: number
  /** Files or folders that git ignores there. */
  readonly ignored: number
  /** Commits since its base. */
  readonly commits: number
  /** Those that no other branch, tag or remote has. */
  readonly unmerged: number
  /** Processes that work in it yet, as far as the system shows them: what they will write is not known. */
  readonly busy: number
  /** What its branch points to; null when it is gone. */
  readonly tip: string | null
}

/** Commits that were made in a worktree and are on other branches than its own. */
export interface Elsewhere {
  readonly branches: ReadonlyArray<string>
  /** How many of them the worktree's own branch does not have, and are not where it stands. */
  readonly commits: number
}

/** Git could not do it; nothing was lost. */
export class WorktreeFailed extends Schema.TaggedError<WorktreeFailed>()("WorktreeFailed", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

/** Worktrees of git, for helpers that must not stand in each other's way (`delegation.worktree_isolation`). */
export class Worktrees extends Context.Tag("hermes/delegation/Worktrees")<
  Worktrees,
  {
    /** Where the worktree of a helper that works in `directory` would be. `words` are for its name. */
    readonly plan: (
      directory: string,
      helper: { readonly delegationId: string; readonly words: string }
    ) => Effect.Effect<Planned | InPlace>
    /** Makes it; leaves nothing behind when that fails or is interrupted. */
    readonly add: (planned: Planned) => Effect.Effect<void, WorktreeFailed>
    readonly look: (worktree: Worktree) => Effect.Effect<Contents, WorktreeFailed>
    /** Puts what was committed in it, and no branch, tag or remote has, under a branch; answers where its commits are. */
    readonly secure: (worktree: Worktree) => Effect.Effect<Elsewhere, WorktreeFailed>
    /**
     * Removes it, and its branch where that still points to `tip`; what was committed in it is secured before. Fails, and
     * removes nothing, where something uncommitted is in it.
     */
    readonly remove: (worktree: Worktree, tip: string | null) => Effect.Effect<void, WorktreeFailed>
  }
>() {}

/** Would nothing be lost with it? What only git's ignored files hold is not kept. */
export const isUnchanged = ({ busy, commits, uncommitted }: Contents): boolean =>
  commits === 0 && uncommitted === 0 && busy === 0

/** Is everything of it elsewhere as well: merged, pushed, or never there? */
export const isDone = ({ busy, uncommitted, unmerged }: Contents): boolean =>
  unmerged === 0 && uncommitted === 0 && busy === 0
