/**
 * A Bot API update as we read it: decoded at the edge, every part on its own, so that a field of a shape we do not know
 * costs that field and not the message.
 */
import { Either, Option, Schema } from "effect"
import * as Misfit from "../../services/operation/Misfit.js"

/** What was just decoded is not looked at once more: of the thirty parts that a message may have, most are null. */
const decoded = <A>() => Schema.declare((_value: unknown): _value is A => true)

/** Null when it is absent or not of that shape. */
const part = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknownOption(schema)
  const lenient = Schema.transform(Schema.Unknown, decoded<A | null>(), {
    strict: true,
    decode: (input) => Option.getOrNull(decode(input)),
    encode: (value): unknown => value
  })
  return Schema.optionalWith(lenient, { default: () => null })
}

export const User = Schema.Struct({
  id: Schema.Int,
  is_bot: part(Schema.Boolean),
  first_name: part(Schema.String),
  last_name: part(Schema.String),
  username: part(Schema.String)
})
export type User = typeof User.Type

export const Chat = Schema.Struct({
  id: Schema.Int,
  type: Schema.Literal("private", "group", "supergroup", "channel"),
  title: part(Schema.String),
  username: part(Schema.String),
  first_name: part(Schema.String),
  last_name: part(Schema.String),
  is_forum: part(Schema.Boolean),
  is_direct_messages: part(Schema.Boolean)
})
export type Chat = typeof Chat.Type

const Named = Schema.Struct({
  file_id: part(Schema.String),
  file_unique_id: part(Schema.String),
  file_name: part(Schema.String),
  mime_type: part(Schema.String),
  duration: part(Schema.Number),
  width: part(Schema.Number),
  height: part(Schema.Number),
  file_size: part(Schema.Number)
})
export type Named = typeof Named.Type

const Place = Schema.Struct({ latitude: Schema.Number, longitude: Schema.Number })

/** What a message can carry besides its text. */
const contents = {
  photo: part(Schema.Array(Named)),
  document: part(Named),
  video: part(Named),
  animation: part(Named),
  audio: part(Named),
  voice: part(Named),
  video_note: part(Named),
  sticker: part(Schema.Struct({ emoji: part(Schema.String) })),
  location: part(Place),
  venue: part(Schema.Struct({ location: Place, title: part(Schema.String), address: part(Schema.String) })),
  contact: part(
    Schema.Struct({
      phone_number: part(Schema.String),
      first_name: part(Schema.String),
      last_name: part(Schema.String)
    })
  ),
  poll: part(Schema.Struct({ question: Schema.String, options: Schema.Array(Schema.Struct({ text: Schema.String })) })),
  dice: part(Schema.Struct({ emoji: part(Schema.String), value: part(Schema.Number) })),
  story: part(Schema.Struct({})),
  game: part(Schema.Struct({})),
  checklist: part(Schema.Struct({})),
  paid_media: part(Schema.Struct({})),
  invoice: part(Schema.Struct({}))
}

const body = {
  message_id: Schema.Int,
  text: part(Schema.String),
  caption: part(Schema.String),
  from: part(User),
  sender_chat: part(Chat),
  ...contents
}

const Answered = Schema.Struct({ ...body, forum_topic_created: part(Schema.Struct({})) })
export type Answered = typeof Answered.Type

export const Message = Schema.Struct({
  ...body,
  chat: Chat,
  date: Schema.Number,
  message_thread_id: part(Schema.Int),
  is_topic_message: part(Schema.Boolean),
  direct_messages_topic: part(Schema.Struct({ topic_id: Schema.Int })),
  is_automatic_forward: part(Schema.Boolean),
  media_group_id: part(Schema.String),
  reply_to_message: part(Answered),
  quote: part(Schema.Struct({ text: Schema.String }))
})
export type Message = typeof Message.Type
export type Contents = Pick<Message, keyof typeof contents>

export const CallbackQuery = Schema.Struct({
  id: Schema.String,
  from: User,
  data: part(Schema.String),
  /** The message with the button; without its content once it is too old for the bot. */
  message: part(
    Schema.Struct({
      message_id: Schema.Int,
      chat: Chat,
      message_thread_id: part(Schema.Int),
      is_topic_message: part(Schema.Boolean),
      direct_messages_topic: part(Schema.Struct({ topic_id: Schema.Int }))
    })
  )
})
export type CallbackQuery = typeof CallbackQuery.Type

/** Kinds that are read; an edit is none of them, so it changes nothing (gateway.md, Telegram). */
export const kinds = ["message", "channel_post", "callback_query"] as const

export type Update =
  | { readonly _tag: "Message"; readonly id: number; readonly message: Message }
  | { readonly _tag: "Callback"; readonly id: number; readonly query: CallbackQuery }
  /** A kind that is not read. */
  | { readonly _tag: "Other"; readonly id: number }
  /** One that is read, in a shape that is not; `problem` says where. */
  | { readonly _tag: "Unreadable"; readonly id: number; readonly problem: string }

const decodeId = Schema.decodeUnknownOption(Schema.Struct({ update_id: Schema.Int }))

/** The id alone; null when there is none. */
export const idOf = (input: unknown): number | null =>
  Option.match(decodeId(input), { onNone: () => null, onSome: (found) => found.update_id })

const Envelope = Schema.Struct({
  update_id: Schema.Int,
  message: Schema.optional(Schema.Unknown),
  channel_post: Schema.optional(Schema.Unknown),
  callback_query: Schema.optional(Schema.Unknown)
})
const decodeEnvelope = Schema.decodeUnknownOption(Envelope)
const decodeMessage = Misfit.decoder(Message)
const decodeCallback = Misfit.decoder(CallbackQuery)

/** Null when it has no update id: nothing to confirm and nothing to read. */
export const decode = (input: unknown): Update | null => {
  const envelope = Option.getOrNull(decodeEnvelope(input))
  if (envelope === null) return null
  const id = envelope.update_id
  const message = envelope.message ?? envelope.channel_post
  if (message !== undefined) {
    return Either.match(decodeMessage(message), {
      onLeft: (error) => ({ _tag: "Unreadable" as const, id, problem: Misfit.text(error) }),
      onRight: (decoded) => ({ _tag: "Message" as const, id, message: decoded })
    })
  }
  if (envelope.callback_query === undefined) return { _tag: "Other", id }
  return Either.match(decodeCallback(envelope.callback_query), {
    onLeft: (error) => ({ _tag: "Unreadable" as const, id, problem: Misfit.text(error) }),
    onRight: (query) => ({ _tag: "Callback" as const, id, query })
  })
}

/** The bot itself, as `getMe` says. */
export const Identity = Schema.Struct({
  id: Schema.Int,
  username: part(Schema.String),
  first_name: part(Schema.String)
})
export type Identity = typeof Identity.Type
