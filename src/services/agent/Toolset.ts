/** Which tools a turn is offered (gateway.md 7.2, 8.1; decision 23). Pure. */
import * as CronMarker from "../../fibers/CronMarker.js"
import type { Turn } from "../../fibers/Turn.js"

/** What a delegate gets when the owner named nothing. */
const delegateDefault = ["terminal", "file", "web"]

/** Nobody reads along in a scheduled run, and its answer has a target of its own. */
const notInCron = ["messaging", "clarify"]

export interface ToolsetRules {
  /** Switched off by the owner: subtracted last, whoever asks. */
  readonly disabled: ReadonlyArray<string>
  /** The ceiling of a delegate; empty takes terminal, file and web. */
  readonly delegates: ReadonlyArray<string>
  readonly maxSpawnDepth: number
}

const isOffered = (toolset: string, turn: Turn, rules: ToolsetRules): boolean => {
  if (rules.disabled.includes(toolset)) return false
  if (toolset === "delegation" && turn.depth >= rules.maxSpawnDepth) return false
  if (CronMarker.isCron(turn.marker) && notInCron.includes(toolset)) return false
  if (turn.depth === 0) return true
  return (rules.delegates.length === 0 ? delegateDefault : rules.delegates).includes(toolset)
}

/** The tools of `all` that `turn` may use, in the order given. */
export const offered = <A extends { readonly toolset: string }>(
  all: ReadonlyArray<A>,
  turn: Turn,
  rules: ToolsetRules
): ReadonlyArray<A> => all.filter((tool) => isOffered(tool.toolset, turn, rules))
