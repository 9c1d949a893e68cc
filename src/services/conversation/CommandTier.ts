/** Who may type which command where the owner has named people who may type all (gateway.md 3.2, two tiers). Pure. */
import type { Source } from "./InboundEvent.js"

/** Of direct messages, or of groups. */
export interface Tier {
  /** Null: everybody may use everything. */
  readonly admins: ReadonlyArray<string> | null
  /** What the others may use beside what everybody may. */
  readonly allowed: ReadonlyArray<string>
}

export interface CommandTiers {
  readonly dm: Tier
  readonly group: Tier
}

export const open: CommandTiers = { dm: { admins: null, allowed: [] }, group: { admins: null, allowed: [] } }

/** Tell nothing and change nothing. */
const everybodys: ReadonlySet<string> = new Set(["help", "whoami", "start"])

/** May the sender type it there? While a turn runs, what is going on is anybody's to ask. */
export const permits = (tiers: CommandTiers, source: Source, command: string, busy: boolean): boolean => {
  const { admins, allowed } = source.chatType === "dm" ? tiers.dm : tiers.group
  if (admins === null || everybodys.has(command) || (busy && (command === "status" || command === "context")))
    return true
  if ([source.userId, source.userIdAlt].some((id) => id !== null && admins.includes(id))) return true
  return allowed.some((name) => name.replace(/^\//, "").toLowerCase().replaceAll("_", "-") === command)
}
