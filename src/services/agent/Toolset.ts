/** Which tools a turn is offered (gateway.md 7.2, 8.1; decision 23). Pure. */
import { Context } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import type { Turn } from "../../fibers/Turn.js"
import type { SettingsShape } from "../operation/Settings.js"

/** What a delegate gets when the owner named nothing. */
const delegateDefault = ["terminal", "file", "web"]

/** Nobody reads along in a scheduled run, and its answer has a target of its own. */
const notInCron = ["messaging", "clarify"]

/** A helper speaks with nobody, and what it read is no reason to remember anything: whatever the owner names. */
const notForDelegates = ["clarify", "memory"]

export interface ToolsetRules {
  /** Switched off by the owner: subtracted last, whoever asks. */
  readonly disabled: ReadonlyArray<string>
  /** The ceiling of a delegate; empty takes terminal, file and web. */
  readonly delegates: ReadonlyArray<string>
  readonly maxSpawnDepth: number
  /** May a helper be given the role of one that has helpers itself? */
  readonly orchestrators: boolean
  readonly cron: { readonly memory: boolean; readonly scheduling: boolean }
}

/** The toolsets that a job names for its runs; null takes what a scheduled run gets. A delegate's are its own. */
export class Granted extends Context.Reference<Granted>()("hermes/agent/Granted", {
  defaultValue: (): ReadonlyArray<string> | null => null
}) {}

/** What a helper was made for: null where nobody said, as in a turn that is nobody's helper. */
export class GivenRole extends Context.Reference<GivenRole>()("hermes/agent/GivenRole", {
  defaultValue: (): "leaf" | "orchestrator" | null => null
}) {}

const isExternal = (toolset: string): boolean => toolset.startsWith("mcp")

/** Servers outside come along, unless the job picks among them or wants none (cron-delivery.md 3.5). */
const isGranted = (toolset: string, granted: ReadonlyArray<string>): boolean =>
  granted.includes(toolset) || (isExternal(toolset) && !granted.some((name) => name === "no_mcp" || isExternal(name)))

const isInCron = (toolset: string, rules: ToolsetRules, granted: ReadonlyArray<string> | null): boolean => {
  if (toolset === "cronjob" && !rules.cron.scheduling) return false
  if (toolset === "memory" && !rules.cron.memory) return false
  return granted === null ? !notInCron.includes(toolset) : isGranted(toolset, granted)
}

/** May `turn` use the tools of this set? */
export const isOffered = (
  toolset: string,
  turn: Turn,
  rules: ToolsetRules,
  granted: ReadonlyArray<string> | null,
  role: "leaf" | "orchestrator" | null = null
): boolean => {
  if (rules.disabled.includes(toolset)) return false
  if (toolset === "delegation" && turn.depth >= rules.maxSpawnDepth) return false
  if (CronMarker.isCron(turn.marker) && !isInCron(toolset, rules, turn.depth === 0 ? granted : null)) return false
  if (turn.depth === 0) return true
  if (notForDelegates.includes(toolset)) return false
  if (toolset === "delegation" && role !== null && rules.orchestrators) return role === "orchestrator"
  return (rules.delegates.length === 0 ? delegateDefault : rules.delegates).includes(toolset)
}

/** The rules as the owner set them. */
export const rulesOf = (settings: SettingsShape): ToolsetRules => ({
  disabled: settings.disabledToolsets,
  delegates: settings.delegation.defaultToolsets,
  maxSpawnDepth: settings.delegation.maxSpawnDepth,
  orchestrators: settings.delegation.orchestrators,
  cron: { memory: settings.cron.memory, scheduling: settings.cron.allowAgentScheduling }
})

/** The tools of `all` that `turn` may use, in the order given. */
export const offered = <A extends { readonly toolset: string }>(
  all: ReadonlyArray<A>,
  turn: Turn,
  rules: ToolsetRules,
  granted: ReadonlyArray<string> | null,
  role: "leaf" | "orchestrator" | null = null
): ReadonlyArray<A> => all.filter((tool) => isOffered(tool.toolset, turn, rules, granted, role))
