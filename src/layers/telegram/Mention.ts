/** Is a message meant for the bot, and what does it say without its name (gateway.md 4.3)? Pure. */

export interface Rules {
  /** In groups, only what names or answers the bot is for it. */
  readonly requireMention: boolean
  /** Chats, as `id` or `id:topic`, in which everything is for it. */
  readonly freeResponseChats: ReadonlyArray<string>
}

export interface Addressed {
  readonly private: boolean
  readonly chatId: string
  readonly threadId: string | null
  readonly text: string
  /** It answers a message of the bot's. */
  readonly answersBot: boolean
}

const literal = (name: string): string => name.replace(/[^\w]/g, "\\$&")

const named = (username: string, flags: string): RegExp => new RegExp(`(?<![\\w@.])@${literal(username)}(?!\\w)`, flags)

const command = /^\/(\w{1,64})@(\w+)/

const isFree = (rules: Rules, message: Addressed): boolean =>
  rules.freeResponseChats.includes(message.chatId) ||
  (message.threadId !== null && rules.freeResponseChats.includes(`${message.chatId}:${message.threadId}`))

/** A command that names another bot is never ours; otherwise a free chat, a command with our name, our name, or an answer to us. */
export const isForBot = (message: Addressed, username: string | null, rules: Rules): boolean => {
  if (message.private) return true
  const addressee = command.exec(message.text)?.[2]?.toLowerCase()
  if (addressee !== undefined) return addressee === username?.toLowerCase()
  if (!rules.requireMention || isFree(rules, message) || message.answersBot) return true
  return username !== null && named(username, "i").test(message.text)
}

/** Without the bot's name, unless nothing else was said: `/new@bot now` → `/new now`, `@bot, hello` → `hello`. */
export const strip = (text: string, username: string | null): string => {
  if (username === null || !text.includes("@")) return text
  const bare = text
    .replace(new RegExp(`^(/\\w{1,64})@${literal(username)}(?!\\w)`, "i"), "$1")
    .replace(new RegExp(`${named(username, "i").source}[,:]?[ \\t]?`, "gi"), "")
    .trim()
  return bare === "" ? text : bare
}
