import { Schema } from "effect"
import type { Source } from "../conversation/InboundEvent.js"

/** The deterministic routing string of a conversation (gateway.md 2.2). */
export const SessionKey = Schema.NonEmptyString.pipe(Schema.brand("hermes/SessionKey"))
export type SessionKey = typeof SessionKey.Type

export interface Isolation {
  /** A group conversation per participant (default true). */
  readonly groupSessionsPerUser: boolean
  /** A thread conversation per participant (default false: threads are shared). */
  readonly threadSessionsPerUser: boolean
}

const namespace = (profile: string | null): string =>
  profile === null || profile === "" || profile === "default" ? "main" : profile === "main" ? "main~" : profile

/** The profile that a key's namespace stands for; null when the key has none. */
export const profileOf = (key: string): string | null => {
  const [agent, space] = key.split(":", 2)
  if (agent !== "agent" || space === undefined || space === "") return null
  return space === "main" ? "default" : space === "main~" ? "main" : space
}

const participant = (source: Source): string | null => source.userIdAlt ?? source.userId

/** Where somebody speaks, as far as it decides whose conversation that is. */
export interface Setting {
  readonly chatType: string
  readonly threadId: string | null
}

const isIsolated = (source: Setting, isolation: Isolation): boolean =>
  source.chatType === "dm"
    ? false
    : source.threadId === null
      ? isolation.groupSessionsPerUser
      : isolation.threadSessionsPerUser

/** Do several people share this conversation? Then each message names its sender and nobody is pinned in the prompt (gateway.md 2.2). */
export const isShared = (source: Setting, isolation: Isolation): boolean =>
  source.chatType !== "dm" && !isIsolated(source, isolation)

/** The key of the conversation that an event belongs to: `agent:<namespace>:<platform>:<chatType>[:<slackScope>][:<chat>][:<thread>][:<participant>]`. */
export const sessionKey = (source: Source, isolation: Isolation): SessionKey => {
  const person = participant(source)
  const parts = ["agent", namespace(source.profile), source.platform || source.surface || "local", source.chatType]
  if (source.platform === "slack" && source.scopeId !== null) parts.push(source.scopeId)
  if (source.chatType === "dm") {
    const chat = source.chatId ?? person
    if (chat !== null) parts.push(chat)
    if (source.threadId !== null) parts.push(source.threadId)
  } else {
    if (source.chatId !== null) parts.push(source.chatId)
    if (source.threadId !== null) parts.push(source.threadId)
    if (isIsolated(source, isolation) && person !== null) parts.push(person)
  }
  return SessionKey.make(parts.join(":"))
}
