/** The side of Telegram that a bot cannot see: people, chats, topics, messages and the queue of updates. Bot API rules, no transport. */

import { isBlank } from "../../services/delivery/Visible.js"
import { Uploaded } from "./Multipart.js"

export interface TelegramUser {
  readonly id: number
  readonly is_bot: boolean
  readonly first_name: string
  readonly username?: string
}

export interface TelegramChat {
  readonly id: number
  readonly type: "private" | "group" | "supergroup" | "channel"
  readonly title?: string
  readonly first_name?: string
  readonly username?: string
  readonly is_forum?: true
  readonly is_direct_messages?: true
}

/** A message as it stands in a chat. */
export interface TelegramMessage {
  readonly messageId: number
  readonly chatId: number
  readonly threadId: number | null
  readonly from: TelegramUser
  readonly text: string
  readonly replyTo: number | null
  readonly entities: ReadonlyArray<unknown>
  /** Values of its buttons, row after row. */
  readonly buttons: ReadonlyArray<{ readonly text: string; readonly callback_data: string }>
  readonly edits: number
  /** What the bot reacted with. */
  readonly reactions: ReadonlyArray<string>
  /** What the bot uploaded with it. */
  readonly files: ReadonlyArray<{ readonly kind: string; readonly name: string; readonly content: Uint8Array }>
}

export type Parameters = { readonly [name: string]: unknown }

export type Answer =
  | { readonly ok: true; readonly result: unknown }
  | {
      readonly ok: false
      readonly error_code: number
      readonly description: string
      readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number }
    }

export const ok = (result: unknown): Answer => ({ ok: true, result })
export const refuse = (
  error_code: number,
  description: string,
  parameters?: { retry_after?: number; migrate_to_chat_id?: number }
): Answer =>
  parameters === undefined ? { ok: false, error_code, description } : { ok: false, error_code, description, parameters }

const badRequest = (description: string): Answer => refuse(400, `Bad Request: ${description}`)

interface Room {
  readonly chat: TelegramChat
  readonly topics: Set<number>
  /** Those of them that the bot opened. */
  readonly opened: Set<number>
  readonly messages: Map<number, TelegramMessage>
  lastId: number
}

/** Messages that a chat keeps; older ones can no longer be edited or replied to. */
const kept = 5_000

export interface Update {
  readonly update_id: number
  readonly [kind: string]: unknown
}

/** Some of the reactions that every chat takes. */
const reactions: ReadonlySet<string> = new Set(["👍", "👎", "❤", "🔥", "🎉", "👀", "🙏"])

const isUploaded = (value: unknown): value is Uploaded => value instanceof Uploaded

const signatures = ["89504e47", "ffd8ff", "47494638", "52494646"]
/** Telegram makes pictures anew, and refuses what is none. */
const looksLikeImage = (content: Uint8Array): boolean => {
  const head = Buffer.from(content.subarray(0, 4)).toString("hex")
  return signatures.some((one) => head.startsWith(one))
}

const record = (value: unknown): Parameters => (typeof value === "object" && value !== null ? { ...value } : {})
const number = (value: unknown): number | null => {
  const parsed = typeof value === "string" && value.trim() !== "" ? Number(value) : value
  return typeof parsed === "number" && Number.isFinite(parsed) ? parsed : null
}
const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export interface World {
  readonly bot: TelegramUser
  readonly addChat: (chat: TelegramChat) => void
  readonly addTopic: (chatId: number, topic: number) => void
  readonly removeTopic: (chatId: number, topic: number) => void
  /** Puts a person's message into a chat and answers its Bot API form. */
  readonly write: (message: {
    readonly chatId: number
    readonly from: TelegramUser
    readonly threadId: number | null
    readonly replyTo: number | null
    readonly fields: Parameters
    readonly at: number
  }) => Parameters
  readonly message: (chatId: number, messageId: number, at: number) => Parameters | null
  readonly posted: (chatId: number) => ReadonlyArray<TelegramMessage>
  readonly enqueue: (fields: Parameters) => number
  /** Forgets updates below `offset` and answers the next ones. */
  readonly updates: (offset: number, limit: number) => ReadonlyArray<Update>
  readonly pending: () => number
  /** A file that people's messages may name by its id. */
  readonly store: (fileId: string, content: Uint8Array) => void
  readonly stored: (fileId: string) => Uint8Array | null
  readonly perform: (method: string, parameters: Parameters, at: number) => Answer
}

/** `messagesBefore`: how many messages a new chat has had already, and how many updates there were. */
export const makeWorld = (bot: TelegramUser, messagesBefore = 0): World => {
  const rooms = new Map<number, Room>()
  const stock = new Map<string, Uint8Array>()
  let queue: Array<Update> = []
  let lastUpdate = 880_000_000 + messagesBefore

  const roomOf = (value: unknown): Room | null => {
    const id = number(value)
    if (id !== null) return rooms.get(id) ?? null
    return [...rooms.values()].find((room) => `@${room.chat.username}` === value) ?? null
  }

  const form = (room: Room, message: TelegramMessage, at: number, fields: Parameters = {}): Parameters => {
    const answered = message.replyTo === null ? undefined : room.messages.get(message.replyTo)
    return {
      message_id: message.messageId,
      date: Math.floor(at / 1000),
      chat: room.chat,
      from: message.from,
      ...(message.threadId === null ? {} : { message_thread_id: message.threadId, is_topic_message: true }),
      ...(answered === undefined ? {} : { reply_to_message: form(room, { ...answered, replyTo: null }, at) }),
      ...(message.text === "" ? {} : { text: message.text }),
      ...fields
    }
  }

  const put = (room: Room, message: TelegramMessage): void => {
    room.messages.set(message.messageId, message)
    if (room.messages.size > kept)
      for (const oldest of [...room.messages.keys()].slice(0, 1)) room.messages.delete(oldest)
  }

  const buttonsOf = (markup: unknown): TelegramMessage["buttons"] | null => {
    const buttons = list(record(markup)["inline_keyboard"])
      .flatMap(list)
      .map((button) => ({
        text: String(record(button)["text"]),
        callback_data: String(record(button)["callback_data"])
      }))
    return buttons.every((button) => Buffer.byteLength(button.callback_data) <= 64 && button.callback_data !== "")
      ? buttons
      : null
  }

  const wrongText = (text: unknown): Answer | null =>
    typeof text !== "string" || isBlank(text)
      ? badRequest("message text is empty")
      : text.length > 4096
        ? badRequest("message is too long")
        : /\p{Surrogate}/u.test(text)
          ? badRequest("strings must be encoded in UTF-8")
          : null

  /** The thread that a message lands in, or why it cannot. */
  const threadOf = (room: Room, parameters: Parameters, answersTo: number | null): number | null | Answer => {
    const direct = number(parameters["direct_messages_topic_id"])
    const topic = number(parameters["message_thread_id"])
    if (room.chat.is_direct_messages === true) {
      if (topic !== null || direct === null) return badRequest("direct messages topic must be specified")
      return direct
    }
    if (direct !== null) return badRequest("chat is not a direct messages chat")
    if (topic === null) return null
    if (!room.topics.has(topic)) return badRequest("message thread not found")
    // A private chat routes into a topic that the bot did not open only for a message that also answers one (gateway.md 1.2).
    return room.chat.type === "private" && answersTo === null && !room.opened.has(topic) ? null : topic
  }

  const send = (parameters: Parameters, at: number): Answer => {
    const room = roomOf(parameters["chat_id"])
    if (room === null) return badRequest("chat not found")
    const wrong = wrongText(parameters["text"])
    if (wrong !== null) return wrong
    const buttons = buttonsOf(parameters["reply_markup"])
    if (buttons === null) return badRequest("BUTTON_DATA_INVALID")
    const reply = record(parameters["reply_parameters"])
    const wanted = number(reply["message_id"])
    const found = wanted !== null && room.messages.has(wanted)
    if (wanted !== null && !found && reply["allow_sending_without_reply"] !== true) {
      return badRequest("message to be replied not found")
    }
    const replyTo = found ? wanted : null
    const threadId = threadOf(room, parameters, replyTo)
    if (threadId !== null && typeof threadId === "object") return threadId
    room.lastId += 1
    const message: TelegramMessage = {
      messageId: room.lastId,
      chatId: room.chat.id,
      threadId,
      from: bot,
      text: String(parameters["text"]),
      replyTo,
      entities: list(parameters["entities"]),
      buttons,
      edits: 0,
      reactions: [],
      files: []
    }
    put(room, message)
    return ok(form(room, message, at))
  }

  /** One message for each file; an album's share the place that the first found. */
  const upload = (
    parameters: Parameters,
    at: number,
    files: ReadonlyArray<{ readonly kind: string; readonly file: unknown; readonly caption: unknown }>
  ): Answer => {
    const room = roomOf(parameters["chat_id"])
    if (room === null) return badRequest("chat not found")
    const reply = record(parameters["reply_parameters"])
    const wanted = number(reply["message_id"])
    const replyTo = wanted !== null && room.messages.has(wanted) ? wanted : null
    const threadId = threadOf(room, parameters, replyTo)
    if (threadId !== null && typeof threadId === "object") return threadId
    const answers: Array<unknown> = []
    for (const { caption, file, kind } of files) {
      if (!isUploaded(file)) return badRequest(`there is no ${kind} in the request`)
      if (file.content.length > 50 * 1024 * 1024) return refuse(413, "Request Entity Too Large")
      if (kind === "photo" && !looksLikeImage(file.content)) return badRequest("IMAGE_PROCESS_FAILED")
      if (typeof caption === "string" && caption.length > 1024) return badRequest("message caption is too long")
      room.lastId += 1
      const message: TelegramMessage = {
        messageId: room.lastId,
        chatId: room.chat.id,
        threadId,
        from: bot,
        text: typeof caption === "string" ? caption : "",
        replyTo,
        entities: [],
        buttons: [],
        edits: 0,
        reactions: [],
        files: [{ kind, name: file.name, content: file.content }]
      }
      put(room, message)
      answers.push(form(room, message, at))
    }
    return ok(answers.length === 1 && files.length === 1 ? answers[0] : answers)
  }

  const uploadOne = (parameters: Parameters, at: number, kind: string): Answer =>
    upload(parameters, at, [{ kind, file: parameters[kind], caption: parameters["caption"] }])

  const uploadGroup = (parameters: Parameters, at: number): Answer => {
    const media = list(parameters["media"]).map(record)
    if (media.length < 2 || media.length > 10) return badRequest("a media group must have 2-10 items")
    return upload(
      parameters,
      at,
      media.map((one) => ({ kind: String(one["type"]), file: one["media"], caption: one["caption"] }))
    )
  }

  const edit = (parameters: Parameters, at: number): Answer => {
    const room = roomOf(parameters["chat_id"])
    if (room === null) return badRequest("chat not found")
    const before = room.messages.get(number(parameters["message_id"]) ?? -1)
    if (before === undefined) return badRequest("message to edit not found")
    if (before.from.id !== bot.id) return badRequest("message can't be edited")
    const wrong = wrongText(parameters["text"])
    if (wrong !== null) return wrong
    const buttons = buttonsOf(parameters["reply_markup"])
    if (buttons === null) return badRequest("BUTTON_DATA_INVALID")
    const text = String(parameters["text"])
    if (text === before.text && JSON.stringify(buttons) === JSON.stringify(before.buttons)) {
      return badRequest(
        "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"
      )
    }
    const after = { ...before, text, buttons, entities: list(parameters["entities"]), edits: before.edits + 1 }
    put(room, after)
    return ok(form(room, after, at))
  }

  const openTopic = (room: Room, parameters: Parameters): Answer => {
    if (room.chat.is_forum !== true) return badRequest("the chat is not a forum")
    const name = String(parameters["name"] ?? "")
    if (name === "" || [...name].length > 128) return badRequest("topic name is invalid")
    // A topic's id is that of the message that opened it.
    room.lastId += 1
    room.topics.add(room.lastId)
    room.opened.add(room.lastId)
    return ok({ message_thread_id: room.lastId, name, icon_color: 7_322_096 })
  }

  const react = (room: Room, parameters: Parameters): Answer => {
    const message = room.messages.get(number(parameters["message_id"]) ?? -1)
    if (message === undefined) return badRequest("message to react not found")
    const emoji = list(parameters["reaction"]).map((reaction) => String(record(reaction)["emoji"]))
    if (emoji.some((one) => !reactions.has(one))) return badRequest("REACTION_INVALID")
    put(room, { ...message, reactions: emoji })
    return ok(true)
  }

  const withChat = (parameters: Parameters, answer: (room: Room) => Answer): Answer => {
    const room = roomOf(parameters["chat_id"])
    return room === null ? badRequest("chat not found") : answer(room)
  }

  return {
    bot,
    addChat: (chat) => {
      if (!rooms.has(chat.id))
        rooms.set(chat.id, { chat, topics: new Set(), opened: new Set(), messages: new Map(), lastId: messagesBefore })
    },
    addTopic: (chatId, topic) => rooms.get(chatId)?.topics.add(topic),
    removeTopic: (chatId, topic) => rooms.get(chatId)?.topics.delete(topic),
    write: ({ chatId, from, threadId, replyTo, fields, at }) => {
      const room = rooms.get(chatId)
      if (room === undefined) return {}
      room.lastId += 1
      const text = typeof fields["text"] === "string" ? fields["text"] : ""
      const written = {
        messageId: room.lastId,
        chatId,
        threadId,
        from,
        text,
        replyTo,
        entities: [],
        buttons: [],
        edits: 0,
        reactions: [],
        files: []
      }
      put(room, written)
      return form(room, written, at, fields)
    },
    message: (chatId, messageId, at) => {
      const room = rooms.get(chatId)
      const message = room?.messages.get(messageId)
      return room === undefined || message === undefined ? null : form(room, message, at)
    },
    posted: (chatId) => [...(rooms.get(chatId)?.messages.values() ?? [])],
    enqueue: (fields) => {
      lastUpdate += 1
      queue.push({ update_id: lastUpdate, ...fields })
      return lastUpdate
    },
    updates: (offset, limit) => {
      if (offset > 0 && (queue[0]?.update_id ?? offset) < offset) {
        queue = queue.filter((update) => update.update_id >= offset)
      }
      return queue.slice(0, limit)
    },
    pending: () => queue.length,
    store: (fileId, content) => void stock.set(fileId, content),
    stored: (fileId) => stock.get(fileId) ?? null,
    perform: (method, parameters, at) => {
      switch (method) {
        case "getMe":
          return ok({
            ...bot,
            can_join_groups: true,
            can_read_all_group_messages: false,
            supports_inline_queries: false
          })
        case "sendMessage":
          return send(parameters, at)
        case "sendPhoto":
        case "sendVideo":
        case "sendAudio":
        case "sendVoice":
        case "sendDocument":
          return uploadOne(parameters, at, method.slice("send".length).toLowerCase())
        case "sendMediaGroup":
          return uploadGroup(parameters, at)
        case "getFile": {
          const id = String(parameters["file_id"])
          const stored = stock.get(id)
          if (stored === undefined) return badRequest("wrong file_id or the file is temporarily unavailable")
          if (stored.length > 20 * 1024 * 1024) return badRequest("file is too big")
          return ok({ file_id: id, file_unique_id: id, file_size: stored.length, file_path: `files/${id}` })
        }
        case "editMessageText":
          return edit(parameters, at)
        case "createForumTopic":
          return withChat(parameters, (room) => openTopic(room, parameters))
        case "setMessageReaction":
          return withChat(parameters, (room) => react(room, parameters))
        case "sendChatAction":
          return withChat(parameters, () => ok(true))
        case "getChat":
          return withChat(parameters, (room) => ok(room.chat))
        case "answerCallbackQuery":
        case "deleteWebhook":
        case "setMyCommands":
          return ok(true)
        case "getWebhookInfo":
          return ok({ url: "", has_custom_certificate: false, pending_update_count: queue.length })
        default:
          return refuse(404, "Not Found: method not found")
      }
    }
  }
}
