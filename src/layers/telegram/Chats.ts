/** What the bot has met so far, so that a reply needs no question to the platform. Bounded: the longest unseen is forgotten. */
import type { ChatInfo } from "../../services/adapter/Adapter.js"
import { nameOf } from "./Inbound.js"
import type { Chat } from "./Update.js"

/** Chats and topics that are remembered, and as many keyboards. */
const remembered = 10_000

/** A map that forgets what was not set for longest. */
export const makeMemory = <A>() => {
  const entries = new Map<string, A>()
  return {
    get: (key: string): A | null => entries.get(key) ?? null,
    set: (key: string, value: A): void => {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size > remembered) for (const oldest of [...entries.keys()].slice(0, 1)) entries.delete(oldest)
    },
    delete: (key: string): void => void entries.delete(key)
  }
}

export interface KnownChat {
  readonly info: ChatInfo
  /** Its threads are the direct messages of a channel, which are addressed in a way of their own (seed: #52060). */
  readonly directMessages: boolean
  /** It has topics, and more can be opened. */
  readonly forum: boolean
}

export const knownChat = (chat: Chat): KnownChat => ({
  info: {
    name: nameOf(chat) ?? String(chat.id),
    type: chat.type === "private" ? "dm" : chat.type === "channel" ? "channel" : "group"
  },
  directMessages: chat.type === "channel" || chat.is_direct_messages === true,
  forum: chat.is_forum === true
})

export interface Chats {
  readonly get: (chatId: string) => KnownChat | null
  readonly meet: (chat: Chat) => KnownChat
  /** The last message seen in a thread: a private topic takes only answers, and a notice has nothing to answer. */
  readonly lastMessage: (chatId: string, threadId: string) => string | null
  readonly noteMessage: (chatId: string, threadId: string, messageId: string) => void
}

export const make = (): Chats => {
  const chats = makeMemory<KnownChat>()
  const last = makeMemory<string>()
  return {
    get: chats.get,
    meet: (chat) => {
      const known = knownChat(chat)
      chats.set(String(chat.id), known)
      return known
    },
    lastMessage: (chatId, threadId) => last.get(`${chatId}:${threadId}`),
    noteMessage: (chatId, threadId, messageId) => last.set(`${chatId}:${threadId}`, messageId)
  }
}
