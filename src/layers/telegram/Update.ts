/**
 * A Bot API update as we read it: decoded at the edge, every part on its own, so that a field of a shape we do not know
 * costs that field and not the message.
 */
import { type Effect, Either, Option, ParseResult, Predicate, Schema } from "effect"
import * as Misfit from "../../services/operation/Misfit.js"

/** What was just decoded is not looked at once more: of the thirty parts that a message may have, most are null. */
const decoded = <A>() => Schema.declare((_value: unknown): _value is A => true)

interface Shapes {
  readonly [key: string]: Schema.Schema.AnyNoContext
}

/** Null what is absent or not of its shape. */
type Parts<P extends Shapes> = { readonly [K in keyof P]: Schema.Schema.Type<P[K]> | null }

/** A record with what it needs, which fails without it, and with its parts. */
const record = <N extends { readonly [key: string]: unknown }, I, P extends Shapes>(
  needed: Schema.Schema<N, I> & { readonly fields: object },
  parts: P
): Schema.Schema<N & Parts<P>, unknown> => {
  const decodeNeeded = ParseResult.decodeUnknown(needed)
  const decoders = new Map(Object.entries(parts).map(([key, part]) => [key, Schema.decodeUnknownOption(part)]))
  // Every key is there before a value is: an object that grows to so many has ten times the size.
  const empty = Object.fromEntries([...Object.keys(needed.fields), ...decoders.keys()].map((key) => [key, null]))
  return Schema.transformOrFail(Schema.Unknown, decoded<N & Parts<P>>(), {
    strict: false,
    decode: (input: unknown, _options, ast): Effect.Effect<unknown, ParseResult.ParseIssue> =>
      Predicate.isRecord(input)
        ? ParseResult.map(decodeNeeded(input), (found) => {
            const whole: Record<string, unknown> = Object.assign({ ...empty }, found)
            for (const key of Object.keys(input)) {
              const decode = decoders.get(key)
              if (decode !== undefined) whole[key] = Option.getOrNull(decode(input[key]))
            }
            return whole
          })
        : ParseResult.fail(new ParseResult.Type(ast, input)),
    encode: (value: unknown) => ParseResult.succeed(value)
  })
}

/** A record that needs nothing. */
const Any = Schema.Struct({})

export const User = record(Schema.Struct({ id: Schema.Int }), {
  is_bot: Schema.Boolean,
  first_name: Schema.String,
  last_name: Schema.String,
  username: Schema.String
})
export type User = typeof User.Type

export const Chat = record(
  Schema.Struct({ id: Schema.Int, type: Schema.Literal("private", "group", "supergroup", "channel") }),
  {
    title: Schema.String,
    username: Schema.String,
    first_name: Schema.String,
    last_name: Schema.String,
    is_forum: Schema.Boolean,
    is_direct_messages: Schema.Boolean
  }
)
export type Chat = typeof Chat.Type

const Named = record(Any, {
  file_id: Schema.String,
  file_unique_id: Schema.String,
  file_name: Schema.String,
  mime_type: Schema.String,
  duration: Schema.Number,
  width: Schema.Number,
  height: Schema.Number,
  file_size: Schema.Number
})
export type Named = typeof Named.Type

const Place = Schema.Struct({ latitude: Schema.Number, longitude: Schema.Number })

/** What a message can carry besides its text. */
const contents = {
  photo: Schema.Array(Named),
  document: Named,
  video: Named,
  animation: Named,
  audio: Named,
  voice: Named,
  video_note: Named,
  sticker: record(Any, { emoji: Schema.String }),
  location: Place,
  venue: record(Schema.Struct({ location: Place }), { title: Schema.String, address: Schema.String }),
  contact: record(Any, { phone_number: Schema.String, first_name: Schema.String, last_name: Schema.String }),
  poll: Schema.Struct({ question: Schema.String, options: Schema.Array(Schema.Struct({ text: Schema.String })) }),
  dice: record(Any, { emoji: Schema.String, value: Schema.Number }),
  story: Schema.Struct({}),
  game: Schema.Struct({}),
  checklist: Schema.Struct({}),
  paid_media: Schema.Struct({}),
  invoice: Schema.Struct({})
}

const body = { text: Schema.String, caption: Schema.String, from: User, sender_chat: Chat, ...contents }

const Answered = record(Schema.Struct({ message_id: Schema.Int }), { ...body, forum_topic_created: Schema.Struct({}) })
export type Answered = typeof Answered.Type

/** Where in its chat a message stands. */
const place = {
  message_thread_id: Schema.Int,
  is_topic_message: Schema.Boolean,
  direct_messages_topic: Schema.Struct({ topic_id: Schema.Int })
}

export const Message = record(Schema.Struct({ message_id: Schema.Int, chat: Chat, date: Schema.Number }), {
  ...body,
  ...place,
  is_automatic_forward: Schema.Boolean,
  media_group_id: Schema.String,
  reply_to_message: Answered,
  quote: Schema.Struct({ text: Schema.String })
})
export type Message = typeof Message.Type
export type Contents = Pick<Message, keyof typeof contents>

export const CallbackQuery = record(Schema.Struct({ id: Schema.String, from: User }), {
  data: Schema.String,
  /** The message with the button; without its content once it is too old for the bot. */
  message: record(Schema.Struct({ message_id: Schema.Int, chat: Chat }), place)
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
export const Identity = record(Schema.Struct({ id: Schema.Int }), {
  username: Schema.String,
  first_name: Schema.String
})
export type Identity = typeof Identity.Type
