/** Where helpers work: in their parent's place, or each in a git worktree of its own (`delegation.worktree_isolation`). */
import { FileSystem } from "@effect/platform"
import { Effect } from "effect"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import type { CurrentTurn } from "../../fibers/Turn.js"
import * as WorkingDirectory from "../../fibers/WorkingDirectory.js"
import { type DelegateWorktree, sessionKeyOf } from "../../services/delegation/Delegation.js"
import {
  isUnchanged,
  type Planned,
  type Worktree,
  WorktreeFailed,
  Worktrees
} from "../../services/delegation/Worktrees.js"
import { WorktreeStore } from "../../services/delegation/WorktreeStore.js"
import { Settings } from "../../services/operation/Settings.js"
import { Processes } from "../../services/shell/Process.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"

/** The place of one helper, for as long as it works. */
export interface Workplace {
  /** Null: its parent's. */
  readonly directory: string | null
  /** What the helper is told of it. */
  readonly instructions: string | null
  /** Ends it when the helper has: what has changes is kept, what has none is removed. Never fails: in doubt it is kept. */
  readonly leave: Effect.Effect<DelegateWorktree | null>
}

export interface Workplaces {
  readonly enter: (helper: {
    readonly delegationId: string
    readonly goal: string
  }) => Effect.Effect<Workplace, WorktreeFailed | StateError, CurrentTurn>
  /** Looks after what helpers of dead processes left; answers how many of those worktrees are kept. */
  readonly sweep: Effect.Effect<number, StateError>
}

const short = (commit: string): string => commit.slice(0, 12)

const files = (count: number): string => (count === 1 ? "1 file" : `${count} files`)

const missing = (dirty: number | null): string | null =>
  dirty === 0
    ? null
    : `${dirty === null ? "Uncommitted changes" : `Uncommitted changes of ${files(dirty)}`} in the tree that it was made from were not in it.`

const told = ({ dirty, worktree: { base, branch, path } }: Planned): string =>
  [
    `You work in a git worktree of your own, ${path}, on the new branch ${branch}, made from commit ${short(base)}. Stay in it: others work in other trees of the same repository.`,
    dirty === 0 ? null : "Changes that were not committed elsewhere are not here.",
    "Commit what is to be kept and say in your report what is on the branch: whoever gave you the task takes it from there. What git ignores may be deleted at your end."
  ]
    .filter((line) => line !== null)
    .join(" ")

const isolated = (
  { base, branch, path }: Worktree,
  rest: Pick<DelegateWorktree, "kept" | "commits" | "uncommitted" | "note">
): DelegateWorktree => ({ path, branch, base, ...rest })

const joined = (...notes: ReadonlyArray<string | null>): string | null =>
  notes.filter((note) => note !== null).join(" ") || null

export const make = Effect.gen(function* () {
  const settings = yield* Settings
  const worktrees = yield* Worktrees
  const store = yield* WorktreeStore
  const database = yield* Database
  const processes = yield* Processes
  const environment = yield* AmbientEnvironment
  const fs = yield* FileSystem.FileSystem

  const directory = WorkingDirectory.forAgent(settings.terminal.workingDirectory ?? settings.home).pipe(
    Effect.provideService(AmbientEnvironment, environment),
    Effect.provideService(FileSystem.FileSystem, fs)
  )

  const forget = (worktree: Worktree) => database.write("worktree.forget", store.forget(worktree.delegationId))
  const keep = (worktree: Worktree) => database.write("worktree.keep", store.keep(worktree.delegationId))

  /** What became of it: removed where nothing of its own is in it, else kept. */
  const settle = (worktree: Worktree) =>
    Effect.gen(function* () {
      const found = yield* worktrees.look(worktree)
      if (!found.exists) {
        yield* forget(worktree)
        return isolated(worktree, {
          kept: false,
          commits: 0,
          uncommitted: 0,
          note: "It is not there any more; its branch was left alone."
        })
      }
      const elsewhere = yield* worktrees.secure(worktree)
      const { busy, ignored, tip, uncommitted } = found
      const commits = found.commits + elsewhere.commits
      const running = yield* processes.running(sessionKeyOf(worktree.delegationId))
      if (running > 0 || elsewhere.branches.length > 0 || !isUnchanged(found)) {
        const own = elsewhere.branches.length === 0 || (tip !== null && tip !== worktree.base) ? [worktree.branch] : []
        yield* keep(worktree)
        return isolated(worktree, {
          kept: true,
          commits,
          uncommitted,
          note: joined(
            commits === 0 && uncommitted === 0
              ? null
              : `Its work is in there and nowhere else: look at it, and merge ${[...own, ...elsewhere.branches].join(", ")} where it is good.`,
            elsewhere.branches.length === 0
              ? null
              : `Commits of it are not on ${worktree.branch} but on ${elsewhere.branches.join(", ")}.`,
            uncommitted === 0 ? null : `What is not committed (${files(uncommitted)}) is in ${worktree.path} only.`,
            running > 0
              ? "A command that the helper started in the background still runs."
              : busy > 0
                ? "A command that the helper started still works in there."
                : null
          )
        })
      }
      yield* worktrees.remove(worktree, found.tip)
      yield* forget(worktree)
      return isolated(worktree, {
        kept: false,
        commits,
        uncommitted,
        note: joined(
          "It was removed with its branch: nothing had changed.",
          ignored === 0 ? null : "What git ignores went with it."
        )
      })
    })

  /** In doubt it is kept: whoever looks later loses nothing. */
  const ended = (worktree: Worktree) =>
    settle(worktree).pipe(
      Effect.catchAll((error) =>
        Effect.zipRight(
          Effect.logWarning("a helper's worktree could not be looked after, it is kept", error),
          Effect.as(
            Effect.ignoreLogged(keep(worktree)),
            isolated(worktree, {
              kept: true,
              commits: null,
              uncommitted: null,
              note: `It was kept, since it could not be looked after: ${error.message}`
            })
          )
        )
      )
    )

  const inPlace = (note: string): Workplace => ({
    directory: null,
    instructions: null,
    leave: Effect.succeed({ path: null, branch: null, base: null, kept: false, commits: 0, uncommitted: 0, note })
  })

  const enter: Workplaces["enter"] = ({ delegationId, goal }) =>
    Effect.gen(function* () {
      if (!settings.delegation.worktreeIsolation)
        return { directory: null, instructions: null, leave: Effect.succeed(null) }
      const planned = yield* worktrees.plan(yield* directory, { delegationId, words: goal })
      if (planned._tag === "InPlace")
        return inPlace(`It worked in its parent's place, without a worktree: ${planned.why}.`)
      const { worktree } = planned
      // Known before it is there, so that a start after a crash finds it.
      yield* database.write("worktree.plan", store.insert(worktree))
      yield* worktrees.add(planned).pipe(
        Effect.onError(() => Effect.ignoreLogged(forget(worktree))),
        Effect.mapError(
          (error) =>
            new WorktreeFailed({
              detail: `no worktree could be made for it (delegation.worktree_isolation), so nothing was begun: ${error.message}`
            })
        )
      )
      return {
        directory: planned.directory,
        instructions: told(planned),
        leave: Effect.map(ended(worktree), (report) => ({
          ...report,
          note: joined(report.note, missing(planned.dirty))
        }))
      }
    })

  return {
    enter,
    sweep: Effect.flatMap(store.left, (left) =>
      Effect.map(Effect.forEach(left, ended), (reports) => reports.filter(({ kept }) => kept).length)
    )
  } satisfies Workplaces
})
