/**
 * The value of a job's `deliver` and `failure_deliver` (cron-delivery.md 4.1): words and targets, alone or in a list.
 * Pure. Words match without regard to case (decision 20).
 */
import { type Address, sameAddress } from "../../fibers/DeliveryOrigin.js"
import type { Via } from "./Outbox.js"
import * as Target from "./Target.js"

export type Word =
  /** Saved here only. */
  | { readonly _tag: "Local" }
  /** The chat that the job was made in, else the first home channel. */
  | { readonly _tag: "Origin" }
  /** Every platform's home channel. */
  | { readonly _tag: "All" }
  /** A turn in this home's own Bot Chat; a profile when one is named. */
  | { readonly _tag: "BotChat"; readonly profile: string | null }
  /** A platform's home channel. */
  | { readonly _tag: "Platform"; readonly platform: string }
  | { readonly _tag: "Chat"; readonly platform: string; readonly reference: string }

export interface Token {
  /** As the person wrote it. */
  readonly written: string
  readonly word: Word
}

export const botChat = "bot-chat"

/** This home's own profile, by each name that it has (decision 4: one process serves one). */
const ownProfiles: ReadonlySet<string> = new Set(["default", "main"])

/** Does a `bot-chat` word mean this home? */
export const isOwnProfile = (profile: string | null): boolean =>
  profile === null || ownProfiles.has(profile.toLowerCase())

/** Words for where a job's output goes that are no platform. */
const forJobs: ReadonlySet<string> = new Set(["all", "local"])

/** Does it name what only a job has: several places at once, or none? */
export const isForJobs = (written: string): boolean =>
  parse(written).length > 1 || forJobs.has(written.trim().toLowerCase())

const wordOf = (written: string): Word => {
  const { platform, reference } = Target.parse(written)
  if (platform === botChat) return { _tag: "BotChat", profile: reference === "" ? null : reference }
  if (reference !== null) return { _tag: "Chat", platform, reference }
  switch (platform) {
    case "local":
      return { _tag: "Local" }
    case Target.originWord:
      return { _tag: "Origin" }
    case "all":
      return { _tag: "All" }
    default:
      return { _tag: "Platform", platform }
  }
}

/** A value as its words, in order; nothing at all is `local`. */
export const parse = (deliver: string | ReadonlyArray<string> | null): ReadonlyArray<Token> => {
  const parts = (deliver === null ? [] : typeof deliver === "string" ? [deliver] : deliver)
    .flatMap((part) => part.split(","))
    .map((part) => part.trim())
    .filter((part) => part !== "")
  return parts.length === 0
    ? [{ written: "local", word: { _tag: "Local" } }]
    : parts.map((written) => ({ written, word: wordOf(written) }))
}

/** How `parse` would read it again: one spelling for a row. */
export const write = (tokens: ReadonlyArray<Token>): string => tokens.map(({ written }) => written).join(",")

/** Where `origin` falls back to, first match first; platforms not named here come after, by name. */
const homeOrder: ReadonlyArray<string> = [
  "matrix",
  "telegram",
  "discord",
  "slack",
  "signal",
  "mattermost",
  "sms",
  "email",
  "dingtalk",
  "feishu",
  "wecom",
  "weixin",
  "bluebubbles",
  "qqbot",
  "whatsapp",
  "whatsapp_cloud"
]

const order = (platform: string): number => {
  const at = homeOrder.indexOf(platform)
  return at === -1 ? homeOrder.length : at
}

/** Homes in the order in which `origin` falls back to them. */
export const inFallbackOrder = (homes: ReadonlyArray<Address>): ReadonlyArray<Address> =>
  homes.toSorted((a, b) => order(a.platform) - order(b.platform) || (a.platform < b.platform ? -1 : 1))

/** Decision 21: the stronger reason to send somewhere wins when two words name one place. */
const ranks: { readonly [V in Via]: number } = { origin: 3, origin_fallback: 2, explicit: 1, home: 0, broadcast: 0 }

/** One place that a word names, and by which rule. */
export interface Routed {
  readonly token: string
  readonly address: Address
  readonly via: Via
  /** What a person should know about it; null mostly. */
  readonly note: string | null
}

/** One target a place: the first keeps its order, the strongest rule wins, whatever the order. */
export const merge = (routed: ReadonlyArray<Routed>): ReadonlyArray<Routed> => {
  const merged: Array<Routed> = []
  for (const target of routed) {
    const at = merged.findIndex((other) => sameAddress(other.address, target.address))
    const other = merged[at]
    if (other === undefined) merged.push(target)
    else if (ranks[target.via] > ranks[other.via]) merged[at] = target
  }
  return merged
}

/**
 * Is it the chat that the job was made in? Platform and chat agree, and the thread where the origin pins one. Then it
 * counts as the origin, however it was written (decision 21).
 */
export const matchesOrigin = (address: Address, origin: Address | null): boolean =>
  origin !== null &&
  address.platform === origin.platform &&
  address.chatId === origin.chatId &&
  (origin.threadId === null || address.threadId === origin.threadId)
