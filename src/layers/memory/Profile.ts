/** What a platform looks like from here, without the platform: what it can do, how its ids look, how its places become a source. */
import type { AdapterCapabilities, ChatInfo } from "../../services/adapter/Adapter.js"
import { type ChatType, Source } from "../../services/conversation/InboundEvent.js"
import * as Telegram from "../telegram/Capabilities.js"

/** Somebody on the platform. */
export interface Person {
  readonly id: string
  readonly name: string
}

/** Somewhere on the platform, as the adapter addresses it. */
export interface Place {
  readonly chatId: string
  readonly chatName: string
  readonly chatType: ChatType
  readonly threadId: string | null
  readonly parentChatId: string | null
  readonly scopeId: string | null
}

export interface Profile {
  readonly platform: string
  readonly capabilities: AdapterCapabilities
  readonly botId: string
  /** The n-th person, message and place of each kind; ids have the platform's shape. */
  readonly person: (n: number) => Person
  readonly messageId: (n: number) => string
  readonly dm: (n: number) => Place
  readonly group: (n: number) => Place
  /** The id of the n-th thread that the bot opens in a chat; null where that chat has none. */
  readonly newThread: (chatId: string, n: number) => string | null
  /** The n-th thread of a group, where the platform has one. */
  readonly thread: (group: Place, n: number) => Place
}

const names = ["Ada", "Bob", "Cleo", "Dan", "Eve", "Finn", "Grace", "Hugo"]
const nameOf = (n: number): string => `${names[n % names.length]}${n < names.length ? "" : ` ${n}`}`

const digits = (n: number, length: number): string => String(n).padStart(length, "0")
const upper = (n: number, length: number): string => n.toString(36).toUpperCase().padStart(length, "0")

const place = (fields: Partial<Place> & Pick<Place, "chatId" | "chatName" | "chatType">): Place => ({
  threadId: null,
  parentChatId: null,
  scopeId: null,
  ...fields
})

/** Users and private chats share their number, groups are negative, a topic keeps the group's type. */
export const telegram: Profile = {
  platform: "telegram",
  capabilities: Telegram.capabilities,
  botId: "7000000001",
  person: (n) => ({ id: String(500_000_000 + n), name: nameOf(n) }),
  messageId: (n) => String(n),
  dm: (n) => place({ chatId: String(500_000_000 + n), chatName: nameOf(n), chatType: "dm" }),
  group: (n) => place({ chatId: String(-1_001_000_000_000 - n), chatName: `Group ${n}`, chatType: "group" }),
  newThread: (chatId, n) => (chatId.startsWith("-") ? String(900 + n) : null),
  thread: (group, n) => ({ ...group, threadId: String(100 + n) })
}

/** Ids are snowflakes; a thread is a channel of its own with a parent; the guild is its scope. */
export const discord: Profile = {
  platform: "discord",
  capabilities: {
    ...Telegram.capabilities,
    maxMessageLength: 2000,
    lengthUnit: "chars"
  },
  botId: `1099${digits(1, 14)}`,
  person: (n) => ({ id: `1100${digits(n, 14)}`, name: nameOf(n) }),
  messageId: (n) => `1200${digits(n, 14)}`,
  dm: (n) => place({ chatId: `1300${digits(n, 14)}`, chatName: nameOf(n), chatType: "dm" }),
  group: (n) =>
    place({
      chatId: `1400${digits(n, 14)}`,
      chatName: `channel-${n}`,
      chatType: "group",
      scopeId: `1500${digits(1, 14)}`
    }),
  newThread: (chatId, n) => (chatId.startsWith("1300") ? null : `1700${digits(n, 14)}`),
  thread: (group, n) => {
    const id = `1600${digits(n, 14)}`
    return { ...group, chatId: id, threadId: id, parentChatId: group.chatId, chatType: "thread" }
  }
}

/** The workspace is the scope and part of the key; a thread is the time stamp of the message that it hangs on. */
export const slack: Profile = {
  platform: "slack",
  capabilities: {
    ...Telegram.capabilities,
    inChannelContinuation: true,
    typing: false,
    maxMessageLength: 39_000,
    lengthUnit: "chars",
    commandPrefix: "!"
  },
  botId: `U${upper(1, 10)}`,
  person: (n) => ({ id: `U1${upper(n, 9)}`, name: nameOf(n) }),
  messageId: (n) => `1764417600.${digits(n, 6)}`,
  dm: (n) => place({ chatId: `D${upper(n, 10)}`, chatName: nameOf(n), chatType: "dm", scopeId: `T${upper(1, 10)}` }),
  group: (n) =>
    place({ chatId: `C${upper(n, 10)}`, chatName: `channel-${n}`, chatType: "group", scopeId: `T${upper(1, 10)}` }),
  newThread: (_chatId, n) => `1764500000.${digits(n, 6)}`,
  thread: (group, n) => ({ ...group, threadId: `1764400000.${digits(n, 6)}` })
}

export const profiles = { telegram, discord, slack } as const

export type ProfileName = keyof typeof profiles

/** The source of what `person` says in `place`. */
export const sourceOf = (profile: Profile, at: Place, person: Person): Source =>
  new Source({
    platform: profile.platform,
    surface: null,
    botId: profile.botId,
    chatId: at.chatId,
    chatName: at.chatName,
    chatType: at.chatType,
    threadId: at.threadId,
    parentChatId: at.parentChatId,
    scopeId: at.scopeId,
    userId: person.id,
    userIdAlt: null,
    userName: person.name,
    isBot: false,
    profile: null,
    uiSessionId: null
  })

export const chatInfoOf = (at: Place): ChatInfo => ({
  name: at.chatName,
  type: at.chatType === "dm" ? "dm" : at.chatType === "channel" ? "channel" : "group"
})
