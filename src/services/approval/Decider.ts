/** Who decides about a tool call, as one value computed once from the turn (gateway.md 5.2, decision 28). Pure. */
import * as CronMarker from "../../fibers/CronMarker.js"
import type { Turn } from "../../fibers/Turn.js"
import type { SettingsShape } from "../operation/Settings.js"

export type Decider =
  /** A person reads this conversation and is asked there. */
  | { readonly _tag: "Person"; readonly sessionKey: string }
  /** The owner's setting says yes without asking. */
  | { readonly _tag: "Setting"; readonly setting: string }
  /** Nobody is there, and nobody there means no. */
  | { readonly _tag: "Nobody"; readonly setting: string; readonly kind: "cron" | "single_query" | "unattended" }

const modeOf = { cron: "cronMode", single_query: "singleQueryMode", unattended: "unattendedMode" } as const

/**
 * `off` asks nobody. A cron run is never asked about, even where its turn is bound to a chat: there is nobody to
 * answer. A delegate's presence and marker are its parent's, so it is asked about where its parent is.
 */
export const deciderOf = (turn: Turn, approvals: SettingsShape["approvals"]): Decider => {
  if (approvals.mode === "off") return { _tag: "Setting", setting: "approvals.mode" }
  const kind = CronMarker.isCron(turn.marker) ? "cron" : turn.presence._tag === "Nobody" ? turn.presence.kind : null
  if (kind === null && turn.presence._tag === "Human") return { _tag: "Person", sessionKey: turn.presence.sessionKey }
  const nobody = kind ?? "unattended"
  const setting = `approvals.${nobody}_mode`
  return approvals[modeOf[nobody]] === "approve"
    ? { _tag: "Setting", setting }
    : { _tag: "Nobody", setting, kind: nobody }
}
