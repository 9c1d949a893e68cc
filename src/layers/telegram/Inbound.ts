/** From an update to what a person did: written or pressed, with its source in full (gateway.md 2.1). Pure. */
import { InboundEvent, Source } from "../../services/conversation/InboundEvent.js"
import * as Contents from "./Contents.js"
import * as Mention from "./Mention.js"
import type { Answered, Chat, Identity, Message, Update, User } from "./Update.js"

/** What a person wrote: one message, or several that belong together once they are merged. */
export interface Written {
  readonly updates: ReadonlyArray<number>
  readonly chat: Chat
  readonly threadId: string | null
  /** Null: nobody can be named, as an anonymous administrator. */
  readonly userId: string | null
  readonly userName: string | null
  /** The last message's: of messages merged again after a crash with one more, it is a new one, and none is lost. */
  readonly messageId: string
  readonly album: string | null
  readonly text: string
  readonly files: ReadonlyArray<string>
  /** Files that can be fetched. */
  readonly attachments: ReadonlyArray<Contents.Attachment>
  readonly replyTo: InboundEvent["replyTo"]
  readonly answersBot: boolean
  /** Epoch milliseconds. */
  readonly sentAt: number
}

export interface Pressed {
  readonly update: number
  readonly callbackId: string
  readonly chat: Chat
  readonly threadId: string | null
  readonly user: User
  readonly value: string
}

export type Incoming =
  | { readonly _tag: "Written"; readonly written: Written }
  | { readonly _tag: "Pressed"; readonly pressed: Pressed }
  /** Nothing for us; confirmed like everything else. */
  | { readonly _tag: "Dropped"; readonly update: number; readonly reason: string; readonly problem: string | null }

const dropped = (update: number, reason: string, problem: string | null = null): Incoming => ({
  _tag: "Dropped",
  update,
  reason,
  problem
})

export const nameOf = (named: User | Chat): string | null => {
  const full = [named.first_name, named.last_name].filter((part) => part !== null && part !== "").join(" ")
  const title = "title" in named ? named.title : null
  return title ?? (full === "" ? null : full) ?? named.username
}

/** A topic's messages say so; a thread id alone is a chain of replies. General has none, and that is where it goes back to. */
const threadOf = (
  at: Pick<Message, "message_thread_id" | "is_topic_message" | "direct_messages_topic">
): string | null =>
  at.direct_messages_topic !== null
    ? String(at.direct_messages_topic.topic_id)
    : at.is_topic_message === true && at.message_thread_id !== null
      ? String(at.message_thread_id)
      : null

const textOf = (message: Message | Answered): string =>
  [message.text ?? message.caption ?? "", ...Contents.told(message)].filter((part) => part !== "").join("\n")

/** In a topic a message that answers nothing claims to answer the note that opened it. */
const answeredBy = (message: Message): Answered | null =>
  message.reply_to_message === null || message.reply_to_message.forum_topic_created !== null
    ? null
    : message.reply_to_message

const replyOf = (message: Message): InboundEvent["replyTo"] => {
  const answered = answeredBy(message)
  if (answered === null) return null
  const whole = [textOf(answered), Contents.mentioned(answered)].filter((part) => part !== "").join("\n")
  const author = answered.from ?? answered.sender_chat
  return {
    messageId: String(answered.message_id),
    text: message.quote?.text ?? (whole === "" ? null : whole),
    author: author === null ? null : nameOf(author)
  }
}

/** Posts in the name of the group itself come from a bot of Telegram's with this id; so no person can be told from them. */
const anonymousAdministrator = 1_087_968_824

const written = (id: number, message: Message, bot: Identity): Incoming => {
  const { from, sender_chat } = message
  if (from?.id === bot.id) return dropped(id, "our own message")
  const anonymous = from === null || (from.id === anonymousAdministrator && sender_chat !== null)
  if (from?.is_bot === true && !anonymous) return dropped(id, "a bot's message")
  if (message.is_automatic_forward === true) return dropped(id, "a copy of a channel's post")
  const text = textOf(message)
  const files = Contents.files(message)
  const attachments = Contents.attachments(message)
  if (text === "" && files.length === 0 && attachments.length === 0) return dropped(id, "a service message")
  const answered = answeredBy(message)
  return {
    _tag: "Written",
    written: {
      updates: [id],
      chat: message.chat,
      threadId: threadOf(message),
      userId: anonymous ? null : String(from.id),
      userName: nameOf(anonymous ? (sender_chat ?? message.chat) : from),
      messageId: String(message.message_id),
      album: message.media_group_id,
      text,
      files,
      attachments,
      replyTo: replyOf(message),
      answersBot: answered?.from?.id === bot.id,
      sentAt: message.date * 1000
    }
  }
}

export const incoming = (update: Update, bot: Identity): Incoming => {
  switch (update._tag) {
    case "Message":
      return written(update.id, update.message, bot)
    case "Callback": {
      const { query, id } = update
      if (query.from.is_bot === true) return dropped(id, "a bot's button press")
      if (query.message === null || query.data === null) return dropped(id, "a button of no message of ours")
      const threadId = threadOf(query.message)
      const { chat } = query.message
      const pressed = { update: id, callbackId: query.id, chat, threadId, user: query.from, value: query.data }
      return { _tag: "Pressed", pressed }
    }
    case "Other":
      return dropped(update.id, "a kind of update that is not read")
    case "Unreadable":
      return dropped(update.id, "an update of a shape that is not known", update.problem)
  }
}

const chatTypes = { private: "dm", group: "group", supergroup: "group", channel: "channel" } as const

/** Decoded a moment ago: not looked at once more. */
const typed = { disableValidation: true }

const sourceOf = (
  at: { readonly chat: Chat; readonly threadId: string | null },
  who: { readonly userId: string | null; readonly userName: string | null },
  bot: Identity
): Source =>
  new Source(
    {
      platform: "telegram",
      surface: null,
      botId: String(bot.id),
      chatId: String(at.chat.id),
      chatName: nameOf(at.chat),
      chatType: chatTypes[at.chat.type],
      threadId: at.threadId,
      parentChatId: null,
      scopeId: null,
      userId: who.userId,
      userName: who.userName,
      userIdAlt: null,
      isBot: false,
      profile: null,
      uiSessionId: null
    },
    typed
  )

/** The Start button's own command, which asks for nothing. */
const isStart = (text: string): boolean => /^\/start(\s|$)/.test(text)

/** The event of what was written; null when it is not for us. */
export const eventOf = (message: Written, bot: Identity, rules: Mention.Rules): InboundEvent | null => {
  const isPrivate = message.chat.type === "private"
  const addressed = { ...message, private: isPrivate, chatId: String(message.chat.id) }
  if (!Mention.isForBot(addressed, bot.username, rules)) return null
  const bare = Mention.strip(message.text, bot.username)
  if (isStart(bare)) return null
  const note = Contents.note(message.files)
  return new InboundEvent(
    {
      source: sourceOf(message, message, bot),
      text: [bare, note].filter((part) => part !== "").join("\n\n"),
      messageId: message.messageId,
      replyTo: message.replyTo,
      media: [],
      sentAt: message.sentAt,
      sessionId: null
    },
    typed
  )
}

/** The event of a button press: who and where; the value goes beside it. */
export const pressEventOf = (pressed: Pressed, bot: Identity, at: number): InboundEvent =>
  new InboundEvent({
    source: sourceOf(pressed, { userId: String(pressed.user.id), userName: nameOf(pressed.user) }, bot),
    text: "",
    messageId: null,
    replyTo: null,
    media: [],
    sentAt: at,
    sessionId: null
  })
