/**
 * The grammar of targets (gateway.md 6.2, cron-delivery.md 4.1): `platform` or `platform:reference`, where a reference
 * is what the platform itself would write, or a name of the channel directory. Pure.
 */
import type { KnownChat } from "../adapter/ChannelDirectory.js"

/** The word for the chat that the work came from. */
export const originWord = "origin"

export interface Target {
  /** Lower-case. */
  readonly platform: string
  /** As written, null for a bare platform. */
  readonly reference: string | null
}

export interface Place {
  readonly chatId: string
  readonly threadId: string | null
}

/** Words match without regard to case (decision 20); a reference does not. */
export const parse = (target: string): Target => {
  const text = target.trim()
  const colon = text.indexOf(":")
  return colon === -1
    ? { platform: text.toLowerCase(), reference: null }
    : { platform: text.slice(0, colon).trim().toLowerCase(), reference: text.slice(colon + 1).trim() }
}

/** The platforms' own ways to name a chat: `chat` and, where there is one, `thread`. */
const e164 = /^(?<chat>\+[1-9]\d{6,14})$/
const number = /^(?<chat>-?\d{1,32})$/

const forms: { readonly [platform: string]: ReadonlyArray<RegExp> } = {
  telegram: [
    /^(?<chat>-?\d{1,20})(?::(?<thread>\d{1,20}))?$/,
    /^(?<chat>@[A-Za-z][A-Za-z0-9_]{3,31})$/,
    // A private chat and a topic's name. Numbers alone are a slip of the pen, and a comma begins another target.
    /^(?<chat>\d{1,20}):(?<thread>(?![-\d:\s]*$)[^,\r\n]+)$/
  ],
  web: [/^(?<chat>ses_[0-9a-z]{8,64})$/],
  discord: [/^(?<chat>\d{15,21})(?::(?<thread>\d{15,21}))?$/],
  slack: [
    /^(?<chat>[CGD][A-Z0-9]{6,20})(?::(?<thread>\d{6,12}\.\d{1,8}))?$/,
    /^(?<chat>U[A-Z0-9]{6,20})$/,
    /^<@(?<chat>U[A-Z0-9]{6,20})>$/,
    /^(?<chat>@[a-z0-9][a-z0-9._-]{0,79})$/
  ],
  feishu: [/^(?<chat>(?:oc|ou|on|chat|open)_[A-Za-z0-9_-]{4,64})$/],
  matrix: [
    /^(?<chat>![^\s:]+:[A-Za-z0-9.-]+(?::\d+)?)(?::(?<thread>\$\S+))?$/,
    /^(?<chat>@[^\s:]+:[A-Za-z0-9.-]+(?::\d+)?)$/
  ],
  whatsapp: [/^(?<chat>[0-9A-Za-z.-]{5,64}@(?:s\.whatsapp\.net|g\.us|lid|newsletter))$/, e164],
  whatsapp_cloud: [e164],
  signal: [e164, /^(?<chat>group:\S+)$/],
  sms: [e164],
  photon: [e164],
  yuanbao: [/^(?<chat>(?:group|direct):\S+)$/, number],
  email: [/^(?<chat>[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+)$/]
}

/** The place that a reference names by itself; null when it is not of the platform's own form. */
export const native = (platform: string, reference: string): Place | null => {
  for (const pattern of forms[platform] ?? [number]) {
    const groups = pattern.exec(reference)?.groups
    if (groups?.["chat"] !== undefined) return { chatId: groups["chat"], threadId: groups["thread"] ?? null }
  }
  return null
}

/** Platforms on which a thread is a chat of its own, whatever it hangs on. */
const chatsOfTheirOwn: ReadonlySet<string> = new Set(["discord"])

/** Is a thread of this platform a chat of its own? */
export const threadIsChat = (platform: string): boolean => chatsOfTheirOwn.has(platform)

const withoutZeros = (text: string): string => (/^-?\d+$/.test(text) ? String(BigInt(text)) : text)

/** No topic, or the one that a forum's messages carry no id of. */
const isGeneral = (chatId: string, topic: string): boolean => topic === "0" || (topic === "1" && !/^\d/.test(chatId))

const spellings: { readonly [platform: string]: (place: Place) => Place } = {
  telegram: ({ chatId, threadId }) => {
    const chat = chatId.startsWith("@") ? chatId.toLowerCase() : withoutZeros(chatId)
    const topic = threadId === null ? null : withoutZeros(threadId.trim().replace(/\s+/g, " "))
    return { chatId: chat, threadId: topic === null || isGeneral(chat, topic) ? null : topic }
  },
  discord: ({ chatId, threadId }) => {
    const thread = threadId === null ? null : withoutZeros(threadId)
    return { chatId: thread ?? withoutZeros(chatId), threadId: thread }
  }
}

/** The one spelling of a place, as the platform's own messages have it: what is one place there is one here. */
export const canonical = (platform: string, { chatId, threadId }: Place): Place =>
  spellings[platform]?.({ chatId, threadId }) ?? { chatId, threadId }

/** The topic's name, where a place is a private chat of Telegram and a topic that is opened when something is first sent there; else null. */
export const topicNameOf = (platform: string, { chatId, threadId }: Place): string | null =>
  platform === "telegram" && threadId !== null && /^\d+$/.test(chatId) && !/^-?\d+$/.test(threadId) ? threadId : null

export type Found =
  | { readonly _tag: "One"; readonly place: Place }
  | { readonly _tag: "None" }
  /** Nobody guesses. */
  | { readonly _tag: "Several"; readonly chats: ReadonlyArray<KnownChat> }

const folded = (text: string): string => text.trim().replace(/\s+/g, " ").toLowerCase()

/** A name as a person would say it: `#general` and `@anna` are `general` and `anna`. */
export const bare = (text: string): string => folded(text).replace(/^[#@]\s*/, "")

const placeOf = (chat: KnownChat): Place => ({ chatId: chat.chatId, threadId: chat.threadId })

const idOf = (chat: Place): string => (chat.threadId === null ? chat.chatId : `${chat.chatId}:${chat.threadId}`)

/** One place, if these are one: a chat stands for its threads when it is among them, or when they all bear its name. */
const only = (chats: ReadonlyArray<KnownChat>): Found => {
  const whole = chats.filter((chat) => chat.threadId === null)
  const distinct = new Map((whole.length > 0 ? whole : chats).map((chat) => [idOf(chat), chat]))
  const [first, second] = distinct.values()
  if (first === undefined) return { _tag: "None" }
  if (second === undefined) return { _tag: "One", place: placeOf(first) }
  const oneChat = [...distinct.values()].every((chat) => chat.chatId === first.chatId)
  return oneChat
    ? { _tag: "One", place: { chatId: first.chatId, threadId: null } }
    : { _tag: "Several", chats: [...distinct.values()] }
}

/** `name / topic`, the topic by its name or id; a chat may also bear exactly that name. */
const topic = (reference: string, chats: ReadonlyArray<KnownChat>): ReadonlyArray<KnownChat> => {
  const at = reference.indexOf("/")
  if (at === -1) return []
  const [name, thread] = [bare(reference.slice(0, at)), bare(reference.slice(at + 1))]
  const ids = new Set(chats.flatMap((chat) => (bare(chat.name ?? "") === name ? [chat.chatId] : [])))
  return chats.filter(
    (chat) =>
      chat.threadId !== null && ids.has(chat.chatId) && (chat.threadId === thread || bare(chat.name ?? "") === thread)
  )
}

/** A chat of the directory: exact id, exact name (`name`, `#name`, `@name`), `name / topic`, then a unique beginning. */
export const find = (reference: string, chats: ReadonlyArray<KnownChat>): Found => {
  const name = bare(reference)
  if (name === "") return { _tag: "None" }
  const named = chats.filter((chat) => chat.name !== null && bare(chat.name) !== "")
  const steps = [
    () => chats.filter((chat) => idOf(chat) === reference),
    () => named.filter((chat) => folded(chat.name ?? "") === folded(reference)),
    () => named.filter((chat) => bare(chat.name ?? "") === name),
    () => topic(reference, named),
    () => named.filter((chat) => bare(chat.name ?? "").startsWith(name))
  ]
  for (const step of steps) {
    const found = only(step())
    if (found._tag !== "None") return found
  }
  return { _tag: "None" }
}

/** How to write a known chat as a target. */
export const write = (chat: Place & { readonly platform: string }): string => `${chat.platform}:${idOf(chat)}`

/** What a session key says of its chat (gateway.md 2.2); null when it names none. A suffix that may be a thread or a participant is left out. */
export const ofSessionKey = (key: string): (Place & { readonly platform: string }) | null => {
  const [agent, , platform, chatType, ...rest] = key.split(":")
  if (agent !== "agent" || platform === undefined || chatType === undefined) return null
  const [chatId, suffix] = platform === "slack" && rest.length > 1 ? rest.slice(1) : rest
  if (chatId === undefined || chatId === "") return null
  const isThread = chatType === "dm" || chatType === "thread"
  return { platform, chatId, threadId: isThread ? (suffix ?? null) : null }
}
