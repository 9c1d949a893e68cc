/** Worktrees that helpers left are removed when all of their work is elsewhere: merged, pushed or thrown away. */
import { Clock, Effect, Layer } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { sessionKeyOf } from "../../services/delegation/Delegation.js"
import { isDone, Worktrees } from "../../services/delegation/Worktrees.js"
import { WorktreeStore } from "../../services/delegation/WorktreeStore.js"
import { Processes } from "../../services/shell/Process.js"
import { Database } from "../../services/state/Database.js"
import * as Daily from "../operation/Daily.js"

/** Somebody may still be looking at one that has just been left. */
const leastAgeMillis = 24 * 3_600_000

/** A start is no time for it: people wait. */
const firstAfter = "20 minutes"

/** Looks at each once; answers how many are gone. What git cannot look at stays. */
export const tidy = Effect.gen(function* () {
  const worktrees = yield* Worktrees
  const store = yield* WorktreeStore
  const database = yield* Database
  const processes = yield* Processes
  const kept = yield* store.kept((yield* Clock.currentTimeMillis) - leastAgeMillis)
  const gone = yield* Effect.filter(kept, (worktree) =>
    Effect.gen(function* () {
      const found = yield* worktrees.look(worktree)
      const running = yield* processes.running(sessionKeyOf(worktree.delegationId))
      if (running > 0 || (found.exists && !isDone(found))) return false
      if (found.exists) yield* worktrees.remove(worktree, found.tip)
      yield* database.write("worktree.forget", store.forget(worktree.delegationId))
      return true
    }).pipe(
      Effect.catchAll((error) =>
        Effect.as(Effect.logInfo(`the worktree ${worktree.path} stays: ${error.message}`), false)
      )
    )
  )
  if (gone.length > 0)
    yield* Effect.logInfo(`worktrees of helpers whose work is elsewhere were removed: ${gone.length}`)
  return gone.length
})

/** Once a day, as long as the gateway lives. */
export const layer: Layer.Layer<never, never, Worktrees | WorktreeStore | Database | Processes> = Layer.scopedDiscard(
  Turn.forkWorker(Daily.repeated(tidy, { firstAfter, trouble: "worktrees of helpers could not be looked after" }))
)
