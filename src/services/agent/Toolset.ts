/** Which tools a turn is offered (gateway.md 7.2, 8.1; decision 23). Pure. */
import { Context } from "effect"
import * as Field from "../../fibers/Field.js"
import * as CronMarker from "../../fibers/CronMarker.js"
import type { Turn } from "../../fibers/Turn.js"
import type { SettingsShape } from "../operation/Settings.js"
import { expanded, isExternal } from "./ToolsetName.js"

/** What a delegate gets when the owner named nothing. */
const delegateDefault = ["terminal", "file", "web"]

/** Nobody reads along in a scheduled run, and its answer has a target of its own. */
const notInCron = ["messaging", "clarify"]

/** A helper speaks with nobody, and what it read is no reason to remember anything: whatever the owner names. */
const notForDelegates = ["clarify", "memory"]

/** Surfaces that cannot show a question in the middle, or where nobody trusted writes (gateway.md 8.2). */
const ofSurface: {
  readonly [surface: string]: { readonly without?: ReadonlyArray<string>; readonly only?: ReadonlyArray<string> }
} = {
  api_server: { without: ["clarify"] },
  webhook: { only: ["web", "search", "vision", "clarify"] }
}

export interface ToolsetRules {
  /** What the owner gives a surface, by platform or surface; a surface that is not named has its own default. */
  readonly platforms: { readonly [surface: string]: ReadonlyArray<string> }
  /** Switched off by the owner: subtracted last, whoever asks. */
  readonly disabled: ReadonlyArray<string>
  /** The ceiling of a delegate; empty takes terminal, file and web. */
  readonly delegates: ReadonlyArray<string>
  readonly maxSpawnDepth: number
  /** Do helpers get the tools of MCP servers, whatever else they get? */
  readonly inheritMcp: boolean
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

/** Servers outside come along, unless the job picks among them or wants none (cron-delivery.md 3.5). */
const isGranted = (toolset: string, granted: ReadonlyArray<string>): boolean =>
  (expanded(granted)?.includes(toolset) ?? true) ||
  (isExternal(toolset) && !granted.some((name) => name === "no_mcp" || isExternal(name)))

const isInCron = (toolset: string, rules: ToolsetRules, granted: ReadonlyArray<string> | null): boolean => {
  if (toolset === "cronjob" && !rules.cron.scheduling) return false
  if (toolset === "memory" && !rules.cron.memory) return false
  return granted === null ? !notInCron.includes(toolset) : isGranted(toolset, granted)
}

/** Does the surface that the turn came from have the tools of this set? A helper's and a scheduled run's are other rules. */
const isOnSurface = (toolset: string, turn: Turn, rules: ToolsetRules): boolean => {
  const surface = Field.valueOrNull(turn.identity.platform) || Field.valueOrNull(turn.identity.source) || ""
  const named = Object.hasOwn(rules.platforms, surface) ? rules.platforms[surface] : undefined
  if (named !== undefined) {
    const given = expanded(named)
    return given === null || given.includes(toolset) || (isExternal(toolset) && !given.includes("no_mcp"))
  }
  const usual = Object.hasOwn(ofSurface, surface) ? ofSurface[surface] : undefined
  return (usual?.only?.includes(toolset) ?? true) && !(usual?.without?.includes(toolset) ?? false)
}

/** May `turn` use the tools of this set? */
export const isOffered = (
  toolset: string,
  turn: Turn,
  rules: ToolsetRules,
  granted: ReadonlyArray<string> | null,
  role: "leaf" | "orchestrator" | null = null
): boolean => {
  if (rules.disabled.includes(toolset) || rules.disabled.includes("*")) return false
  if (toolset === "delegation" && turn.depth >= rules.maxSpawnDepth) return false
  if (CronMarker.isCron(turn.marker) && !isInCron(toolset, rules, turn.depth === 0 ? granted : null)) return false
  if (turn.depth === 0) return CronMarker.isCron(turn.marker) || isOnSurface(toolset, turn, rules)
  if (notForDelegates.includes(toolset)) return false
  if (toolset === "delegation" && role !== null && rules.orchestrators) return role === "orchestrator"
  if (isExternal(toolset) && rules.inheritMcp) return granted === null || isGranted(toolset, granted)
  return (rules.delegates.length === 0 ? delegateDefault : rules.delegates).includes(toolset)
}

/** The rules as the owner set them. */
export const rulesOf = (settings: SettingsShape): ToolsetRules => ({
  disabled: expanded(settings.disabledToolsets) ?? ["*"],
  platforms: settings.platformToolsets,
  delegates: settings.delegation.defaultToolsets,
  maxSpawnDepth: settings.delegation.maxSpawnDepth,
  inheritMcp: settings.delegation.inheritMcpToolsets,
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
