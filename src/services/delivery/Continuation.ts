/**
 * How a person goes on from what a job said (cron-delivery.md 4.3, 4.4): which way its message takes, and whose
 * conversations know of it afterwards. Pure, but for the Tag at the end.
 */
import { Context, type Effect } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import { Source } from "../conversation/InboundEvent.js"
import type { JobOrigin } from "../schedule/Job.js"
import type { StateError } from "../state/StateError.js"
import type { Routed } from "./Deliver.js"
import type { Via } from "./Outbox.js"
import { threadIsChat, topicNameOf } from "./Target.js"

/** Where a job's message is gone on from: a thread of its own, or the chat itself. */
export type Surface = "thread" | "in_channel"

/** What a job says about attaching, and what holds for jobs that say nothing. */
export interface Attaching {
  readonly attach: boolean | null
  readonly byDefault: boolean
}

const attached = ({ attach, byDefault }: Attaching): boolean => attach ?? byDefault

/** May the target's conversation be told? One row a rule (decision 21: a bare platform and `all` never). */
const eligibility: { readonly [V in Via]: (attaching: Attaching) => boolean } = {
  origin: attached,
  origin_fallback: attached,
  // Another chat than the job's own is told only when the job itself asks for it.
  explicit: ({ attach }) => attach === true,
  home: () => false,
  broadcast: () => false
}

export const isEligible = (via: Via, attaching: Attaching): boolean => eligibility[via](attaching)

/** What a platform can do right now; an unknown platform can do nothing. */
export interface Abilities {
  readonly live: boolean
  readonly inChannel: boolean
  readonly threads: boolean
}

export type Way =
  /** As addressed; the conversation there is told when `mirror`. */
  | { readonly _tag: "Addressed"; readonly mirror: boolean }
  /** A new thread named after the job, whose conversation begins with the message. */
  | { readonly _tag: "NewThread" }
  /** Without the thread; the flat conversation and the thread that would hang on the message both begin with it. */
  | { readonly _tag: "Flat" }

/** A direct conversation: said so, or a Slack id of that form where nobody said. */
export const isDirect = (origin: Pick<JobOrigin, "chatType"> | null, chatId: string): boolean =>
  origin?.chatType === null || origin === null || origin.chatType === undefined
    ? /^D[A-Z0-9]{6,}$/.test(chatId)
    : origin.chatType === "dm"

/** Clearing the thread and seeding are one decision, so that they cannot drift apart. */
export const wayOf = (
  target: Pick<Routed, "address" | "via">,
  origin: JobOrigin | null,
  surface: Surface,
  attaching: Attaching,
  abilities: Abilities
): Way => {
  const mirror = isEligible(target.via, attaching)
  const isOrigin = target.via === "origin"
  if (surface === "in_channel" && abilities.inChannel && abilities.live) {
    const continuable =
      isOrigin || (mirror && (isDirect(origin, target.address.chatId) || (origin?.userId ?? null) !== null))
    if (continuable) return { _tag: "Flat" }
  }
  if (surface === "thread" && mirror && abilities.live && abilities.threads && target.address.threadId === null)
    return { _tag: "NewThread" }
  return { _tag: "Addressed", mirror }
}

/** The tenant of the origin goes with what is sent to the origin, never elsewhere, and never over a stamp of its own (4.5). */
export const stamped = (target: Pick<Routed, "address" | "via">, origin: JobOrigin | null): Address =>
  target.via !== "origin" || origin === null || target.address.scopeId !== null
    ? target.address
    : { ...target.address, scopeId: origin.scopeId }

/** Who speaks where nobody does: a seeded thread is everybody's. */
const cronUser = "system:cron"

const sourceOf = (
  address: Address,
  fields: {
    readonly chatType: Source["chatType"]
    readonly userId: string
    readonly chatId: string
    readonly threadId: string | null
  },
  scopeId: string | null
): Source =>
  new Source({
    platform: address.platform,
    surface: null,
    botId: null,
    chatName: null,
    parentChatId: null,
    userIdAlt: null,
    userName: null,
    isBot: false,
    profile: null,
    uiSessionId: null,
    scopeId: address.scopeId ?? scopeId,
    ...fields
  })

/** The conversation of the chat itself, as its own people's messages find it; null where it is a group and nobody is known. */
export const flatSeed = (address: Address, origin: JobOrigin | null): Source | null => {
  const scopeId = origin?.scopeId ?? null
  const userId = origin?.userId ?? null
  if (isDirect(origin, address.chatId))
    return sourceOf(
      address,
      { chatType: "dm", userId: userId ?? cronUser, chatId: address.chatId, threadId: null },
      scopeId
    )
  return userId === null
    ? null
    : sourceOf(address, { chatType: "group", userId, chatId: address.chatId, threadId: null }, scopeId)
}

/** Platforms whose threads keep the type of their group; elsewhere a thread is a kind of its own. */
const groupThreads: ReadonlySet<string> = new Set(["slack", "matrix", "telegram"])

/** The conversation of a thread, as replies in it find it. */
export const threadSeed = (address: Address, threadId: string, origin: JobOrigin | null): Source => {
  const { chatId, platform } = address
  const scopeId = origin?.scopeId ?? null
  if (isDirect(origin, chatId) || topicNameOf(platform, address) !== null)
    return sourceOf(address, { chatType: "dm", userId: cronUser, chatId, threadId }, scopeId)
  return groupThreads.has(platform)
    ? sourceOf(address, { chatType: "group", userId: cronUser, chatId, threadId }, scopeId)
    : sourceOf(
        address,
        { chatType: "thread", userId: cronUser, chatId: threadIsChat(platform) ? threadId : chatId, threadId },
        scopeId
      )
}

/** What a job wants to say, where. */
export interface Saying {
  readonly job: { readonly name: string; readonly attachToSession: boolean | null; readonly origin: JobOrigin | null }
  readonly target: Pick<Routed, "address" | "via">
}

/** A way that is begun: where to send, and whom to tell once it has certainly arrived. */
export interface Continued {
  readonly address: Address
  /**
   * After a confirmed send, with the platform's id of its first message and the clean text (unwrapped, without media,
   * redacted). Conversations that could not be told are a warning in the log with the reason, never silence, and never
   * a failure of what was delivered.
   */
  readonly arrived: (platformMessageId: string | null, text: string) => Effect.Effect<void>
}

export class Continuation extends Context.Tag("hermes/delivery/Continuation")<
  Continuation,
  {
    /** Chooses the way and opens a thread where it needs one (at most 30 s; without one the message goes as addressed). */
    readonly begin: (saying: Saying) => Effect.Effect<Continued, StateError>
  }
>() {}
