/** How an open database is: sound, or what was found wrong with it, which stays until it is opened anew. */
import { Effect } from "effect"
import { StateCorrupt, StateDbReplaced, type StateError } from "../../services/state/StateError.js"
import type { Loss, Watch } from "./DatabaseFile.js"
import { ofLoss } from "./WriteTransaction.js"

export interface Condition extends Watch {
  /** What is wrong, found earlier or by a look at the files' names now; null while nothing is known to be. */
  readonly wrong: () => StateCorrupt | StateDbReplaced | null
  /** Takes note of an operation's error: what says that the file is damaged or replaced is kept, and logged once. */
  readonly noted: (error: unknown) => Effect.Effect<void>
}

const tellsOfDamage = (error: unknown): error is StateCorrupt | StateDbReplaced =>
  error instanceof StateCorrupt || error instanceof StateDbReplaced

/**
 * Damage in one place does not stop the others' writes: a step that meets it fails alone. But from then on nothing is
 * moved from the log into the file, now or at the close, so that a repair finds both as they are.
 */
export const make = (watch: Watch): Condition => {
  let found: StateCorrupt | StateDbReplaced | null = null
  return {
    ...watch,
    wrong: () => {
      if (found !== null) return found
      const loss: Loss | null = watch.lost()
      const error: StateError | null = loss === null ? null : ofLoss("checkpoint", loss)
      if (tellsOfDamage(error)) found = error
      return found
    },
    noted: (error) => {
      if (found !== null || !tellsOfDamage(error)) return Effect.void
      found = error
      return Effect.logError(`the state is not safe: ${error.message}`)
    }
  }
}
