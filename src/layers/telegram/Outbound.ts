/** Sending, editing and typing on Telegram. */
import type { RawApi } from "grammy"
import { Effect, Either, Option, Schema } from "effect"
import {
  type Adapter,
  type Button,
  type ChatInfo,
  type OutboundMessage,
  type SendError,
  type SendReceipt,
  SendRefused,
  SendRetryable,
  SendUncertain
} from "../../services/adapter/Adapter.js"
import type { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import { topicNameOf } from "../../services/delivery/Target.js"
import * as SteadyTime from "../../services/operation/SteadyTime.js"
import type { BotApi, BotApiError } from "./BotApi.js"
import { type Chats, type KnownChat, makeMemory } from "./Chats.js"
import { format } from "./Formatting.js"
import { type Effectful, isFormRefused, isThreadGone, isUnchanged, sendErrorOf } from "./SendFailure.js"
import * as Topics from "./Topics.js"
import { Chat } from "./Update.js"
import * as Upload from "./Upload.js"

/** Longest waits for one call, in milliseconds: a message, one with files, an edit, a reaction, a new topic, the typing sign (gateway.md 3.8), a question about a chat. */
const patience = {
  send: 30_000,
  upload: 290_000,
  edit: 15_000,
  reaction: 15_000,
  topic: 15_000,
  typing: 1_500,
  chat: 10_000
}

/** The topic of a forum that its messages carry no id of, and that refuses its own. */
const general = "1"
/** Characters of a topic's name. */
const longestTopic = 128
/** Bytes of a button's value. */
const longestValue = 64
/** Buttons side by side. */
const perRow = 3

const Sent = Schema.Struct({ message_id: Schema.Int })
const decodeSent = Schema.decodeUnknownOption(Sent)
/** An album is as many messages; its first is the one that is meant. */
const firstOf = (answer: unknown): unknown => (Array.isArray(answer) ? answer[0] : answer)
const decodeChat = Schema.decodeUnknownOption(Chat)

const refuse = (code: string, detail: string): SendRefused => new SendRefused({ platform: "telegram", code, detail })

const integer = (text: string | null): number | null => {
  const value = text === null || !/^-?\d+$/.test(text) ? Number.NaN : Number(text)
  return Number.isSafeInteger(value) ? value : null
}

const isPrivate = (chatId: string): boolean => /^\d+$/.test(chatId)

type Keyboard = { readonly inline_keyboard: Array<Array<{ readonly text: string; readonly callback_data: string }>> }

const keyboardOf = (
  buttons: ReadonlyArray<Button>
): { readonly keyboard: Keyboard | null; readonly note: string | null } => {
  const [fitting, others] = [true, false].map((wanted) =>
    buttons.filter((button) => Buffer.byteLength(button.value) <= longestValue === wanted)
  )
  const keys = (fitting ?? []).map(({ label, value }) => ({ text: label, callback_data: value }))
  const rows = keys.length <= perRow ? [keys] : keys.map((key) => [key])
  return {
    keyboard: keys.length === 0 ? null : { inline_keyboard: rows },
    note:
      others === undefined || others.length === 0
        ? null
        : `buttons left out, their values are longer than ${longestValue} bytes: ${others.map((one) => one.label).join(", ")}`
  }
}

/** Where a message goes, with what was changed about it on the way. */
interface Route {
  readonly chatId: string
  readonly threadId: string | null
  /** The name that its topic has to be found by; null once it was found a second time, and where there is none. */
  readonly topicName: string | null
  readonly notes: ReadonlyArray<string>
  /** The platform did not take the files as pictures or sounds. */
  readonly asDocuments: boolean
}

type Reaction = NonNullable<Parameters<RawApi["setMessageReaction"]>[0]["reaction"]>

export type Outbound = Pick<Adapter, "send" | "edit" | "typing" | "chatInfo"> &
  Required<Pick<Adapter, "openThread" | "react">>

export const make = (api: BotApi, chats: Chats, directory: typeof ChannelDirectory.Service): Outbound => {
  const floods = makeMemory<number>()
  const keyboards = makeMemory<Keyboard>()

  /** Flood control is honoured for every later call to that chat too, without asking again. */
  const unlessFlooded = (chatId: string): Effect.Effect<void, SendError> =>
    Effect.suspend(() => {
      const until = floods.get(chatId)
      if (until === null) return Effect.void
      return Effect.flatMap(SteadyTime.now, (now) =>
        until <= now
          ? Effect.void
          : Effect.fail(
              new SendRetryable({
                platform: "telegram",
                detail: "flood control of this chat is still in force",
                retryAfterMillis: until - now
              })
            )
      )
    })

  const noteFlood = (chatId: string, error: BotApiError): Effect.Effect<void> =>
    error._tag !== "BotApiRefused" || error.code !== 429
      ? Effect.void
      : Effect.map(SteadyTime.now, (now) => floods.set(chatId, now + (error.retryAfterSeconds ?? 1) * 1000))

  /** Asks Telegram once about a chat that nothing is known of. */
  const lookUp = (chatId: string): Effect.Effect<KnownChat | null> => {
    const known = chats.get(chatId)
    if (known !== null) return Effect.succeed(known)
    const id = integer(chatId) ?? chatId
    return api
      .call("getChat", (raw, signal) => raw.getChat({ chat_id: id }, signal), patience.chat)
      .pipe(
        Effect.map((answer) => Option.getOrNull(Option.map(decodeChat(answer), chats.meet))),
        Effect.catchAll((error) =>
          Effect.as(Effect.logDebug("telegram: a chat could not be looked up", error.message), null)
        )
      )
  }

  /** A topic of a channel's direct messages goes by another name than one of a forum or of a private chat (seed: #52060). */
  const threadParameters = (
    route: Route
  ): Effect.Effect<{ readonly message_thread_id?: number; readonly direct_messages_topic_id?: number }, SendError> => {
    if (route.threadId === null || (route.threadId === general && !isPrivate(route.chatId))) return Effect.succeed({})
    const topic = integer(route.threadId)
    if (topic === null) return Effect.fail(refuse("bad_request", `"${route.threadId}" is no topic id`))
    return Effect.map(lookUp(route.chatId), (known) =>
      known?.directMessages === true ? { direct_messages_topic_id: topic } : { message_thread_id: topic }
    )
  }

  /** A private topic takes a message only as an answer, so one that answers nothing answers the last seen there. */
  const anchorOf = (anchor: string | null, { chatId, threadId }: Route): number | null =>
    integer(anchor ?? (threadId !== null && isPrivate(chatId) ? chats.lastMessage(chatId, threadId) : null))

  const createTopic = (chatId: string, name: string, effect: Effectful): Effect.Effect<string, SendError> =>
    Effect.zipRight(
      unlessFlooded(chatId),
      api
        .call(
          "createForumTopic",
          (raw, signal) =>
            raw.createForumTopic(
              { chat_id: integer(chatId) ?? chatId, name: Array.from(name).slice(0, longestTopic).join("") },
              signal
            ),
          patience.topic
        )
        .pipe(
          Effect.tapError((error) => noteFlood(chatId, error)),
          Effect.mapError((error) => sendErrorOf(error, effect)),
          Effect.map((opened) => String(opened.message_thread_id))
        )
    )

  // In doubt it is opened again: an empty topic too many harms nobody, and the message has surely not left.
  const topics = Topics.make(directory, (chatId, name) => createTopic(chatId, name, "idempotent"))

  /** A route with its topic's id in place of the topic's name. */
  const intoTopic = (route: Route, name: string, gone: string | null): Effect.Effect<Route, SendError> =>
    Effect.map(topics.find(route.chatId, name, gone), ({ note, threadId }) => ({
      ...route,
      threadId,
      topicName: gone === null ? name : null,
      notes: note === null ? route.notes : [...route.notes, note]
    }))

  const routeOf = ({ address: { chatId, threadId } }: OutboundMessage): Effect.Effect<Route, SendError> => {
    const route: Route = { chatId, threadId, topicName: null, notes: [], asDocuments: false }
    const name = topicNameOf("telegram", route)
    return name === null ? Effect.succeed(route) : intoTopic(route, name, null)
  }

  /** The same message by another route, once for each reason. */
  const detour = (message: OutboundMessage, route: Route, error: BotApiError): Route | null => {
    if (isFormRefused(error) && !route.asDocuments && message.files?.some(({ kind }) => kind !== "document") === true)
      return { ...route, asDocuments: true, notes: [...route.notes, `sent as a plain file: ${error.message}`] }
    if (isThreadGone(error) && route.threadId !== null) {
      return { ...route, threadId: null, notes: [...route.notes, "its topic is gone; sent to the chat itself"] }
    }
    const moved = error._tag === "BotApiRefused" && error.migratedTo !== null ? String(error.migratedTo) : null
    return moved === null || moved === route.chatId
      ? null
      : { ...route, chatId: moved, notes: [...route.notes, `the group became a supergroup; sent to ${moved}`] }
  }

  /** The call that sends it: words, or files. */
  const callFor = (message: OutboundMessage, route: Route, where: Upload.Where, keyboard: Keyboard | null) => {
    const { files } = message
    if (files !== undefined && files.length > 0)
      return Effect.map(Upload.callFor(api, files, where, message.text, route.asDocuments), ({ method, run }) =>
        api.call(method, run, patience.upload)
      )
    const { text, entities } = format(message.text)
    return Effect.succeed(
      api.call(
        "sendMessage",
        (raw, signal): Promise<unknown> =>
          raw.sendMessage(
            {
              ...where,
              text,
              ...(entities.length === 0 ? {} : { entities: [...entities] }),
              ...(keyboard === null ? {} : { reply_markup: keyboard })
            },
            signal
          ),
        patience.send
      )
    )
  }

  const attempt = Effect.fnUntraced(function* (
    message: OutboundMessage,
    route: Route,
    left: number
  ): Effect.fn.Return<SendReceipt, SendError> {
    yield* unlessFlooded(route.chatId)
    const thread = yield* threadParameters(route)
    const { keyboard, note } = keyboardOf(message.buttons)
    const anchor = anchorOf(message.address.anchor, route)
    const where: Upload.Where = {
      chat_id: integer(route.chatId) ?? route.chatId,
      ...thread,
      ...(anchor === null ? {} : { reply_parameters: { message_id: anchor, allow_sending_without_reply: true } })
    }
    const answer = yield* Effect.either(yield* callFor(message, route, where, keyboard))
    if (Either.isLeft(answer)) {
      yield* noteFlood(route.chatId, answer.left)
      if (left > 0 && route.topicName !== null && isThreadGone(answer.left))
        return yield* attempt(message, yield* intoTopic(route, route.topicName, route.threadId), left - 1)
      const next = left > 0 ? detour(message, route, answer.left) : null
      return yield* next === null ? Effect.fail(sendErrorOf(answer.left, "once")) : attempt(message, next, left - 1)
    }
    const sent = Option.getOrNull(decodeSent(firstOf(answer.right)))
    if (sent === null) {
      return yield* new SendUncertain({ platform: "telegram", detail: "the answer names no message" })
    }
    const platformMessageId = String(sent.message_id)
    if (keyboard !== null) keyboards.set(`${route.chatId}:${platformMessageId}`, keyboard)
    const notes = note === null ? route.notes : [...route.notes, note]
    return { platformMessageId, note: notes.length === 0 ? null : notes.join("; ") }
  })

  const edit: Outbound["edit"] = (address, platformMessageId, input, { final }) =>
    Effect.gen(function* () {
      const id = integer(platformMessageId)
      if (id === null) return yield* refuse("message_gone", `"${platformMessageId}" is no message id`)
      yield* unlessFlooded(address.chatId)
      const { text, entities } = format(input)
      const key = `${address.chatId}:${platformMessageId}`
      const keyboard = final ? null : keyboards.get(key)
      yield* api
        .call(
          "editMessageText",
          (raw, signal) =>
            raw.editMessageText(
              {
                chat_id: integer(address.chatId) ?? address.chatId,
                message_id: id,
                text,
                ...(entities.length === 0 ? {} : { entities: [...entities] }),
                ...(keyboard === null ? {} : { reply_markup: keyboard })
              },
              signal
            ),
          patience.edit
        )
        .pipe(
          Effect.catchIf(isUnchanged, () => Effect.void),
          Effect.tapError((error) => noteFlood(address.chatId, error)),
          Effect.mapError((error) => sendErrorOf(error, "idempotent"))
        )
      if (final) keyboards.delete(key)
    })

  const openThread: Outbound["openThread"] = (address, name) =>
    Effect.gen(function* () {
      if ((yield* lookUp(address.chatId))?.forum !== true) return null
      return yield* createTopic(address.chatId, name, "once")
    })

  const react: Outbound["react"] = (address, platformMessageId, emoji) =>
    Effect.gen(function* () {
      const id = integer(platformMessageId)
      if (id === null) return yield* refuse("message_gone", `"${platformMessageId}" is no message id`)
      yield* unlessFlooded(address.chatId)
      // Telegram takes a fixed set and answers about any other; its type lists that set.
      const reaction = (emoji === null ? [] : [{ type: "emoji", emoji }]) as Reaction
      yield* api
        .call(
          "setMessageReaction",
          (raw, signal) =>
            raw.setMessageReaction(
              { chat_id: integer(address.chatId) ?? address.chatId, message_id: id, reaction },
              signal
            ),
          patience.reaction
        )
        .pipe(
          Effect.tapError((error) => noteFlood(address.chatId, error)),
          Effect.mapError((error) => sendErrorOf(error, "idempotent"))
        )
    })

  const typing: Outbound["typing"] = (address) =>
    Effect.gen(function* () {
      yield* unlessFlooded(address.chatId)
      // General's own id is good for this one call.
      const topic = integer(address.threadId)
      const thread = topic === null ? {} : { message_thread_id: topic }
      const chat_id = integer(address.chatId) ?? address.chatId
      yield* api
        .call(
          "sendChatAction",
          (raw, signal) => raw.sendChatAction({ chat_id, action: "typing", ...thread }, signal),
          patience.typing
        )
        .pipe(Effect.tapError((error) => noteFlood(address.chatId, error)))
    }).pipe(Effect.catchAll((error) => Effect.logDebug("telegram: the typing sign was not shown", error.message)))

  const fallback = (chatId: string): ChatInfo => ({ name: chatId, type: isPrivate(chatId) ? "dm" : "group" })

  return {
    send: (message) => Effect.flatMap(routeOf(message), (route) => attempt(message, route, 3)),
    edit: Effect.fn("Telegram.edit")(edit),
    openThread: Effect.fn("Telegram.openThread")(openThread),
    react: Effect.fn("Telegram.react")(react),
    typing,
    chatInfo: (chatId) => Effect.map(lookUp(chatId), (known) => known?.info ?? fallback(chatId))
  }
}
