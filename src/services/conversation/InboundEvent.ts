import { type Effect, Schema } from "effect"

export const ChatType = Schema.Literal("dm", "group", "channel", "thread", "forum")
export type ChatType = typeof ChatType.Type

const text = Schema.NullOr(Schema.String)

/**
 * Where an inbound event came from, in full (gateway.md 2.1). Whether a platform vouched for the sender is not part of
 * it: a stored or forwarded source could be forged.
 */
export class Source extends Schema.Class<Source>("hermes/conversation/Source")({
  /** `telegram`, `web`, `api_server`, or empty for a terminal. */
  platform: Schema.String,
  /** Surface tag when there is no platform (`cli`); else null. */
  surface: text,
  /** The bot that received it, so that two bots in one chat do not share messages. */
  botId: text,
  chatId: text,
  chatName: text,
  chatType: ChatType,
  threadId: text,
  parentChatId: text,
  scopeId: text,
  userId: text,
  userIdAlt: text,
  userName: text,
  isBot: Schema.Boolean,
  profile: text,
  uiSessionId: text
}) {}

/** Who sent it, as an answer of theirs is signed. */
export const signatureOf = ({ userId, userName }: Source): string => userName ?? userId ?? "owner"

/** A platform message id with what it answers; the reply is data, never instructions. */
export const ReplyContext = Schema.Struct({ messageId: Schema.String, text: text, author: text })

/** What came to its end for a conversation: not said by anybody, so it commands, approves and steers nothing. */
export const InternalCause = Schema.Struct({ kind: Schema.Literal("delegation", "process"), id: Schema.String })
export type InternalCause = typeof InternalCause.Type

/** One message of a person, as an adapter hands it to admission; or an internal event in a message's place. */
export class InboundEvent extends Schema.Class<InboundEvent>("hermes/conversation/InboundEvent")({
  source: Source,
  text: Schema.String,
  /** Platform message id: the anchor for replies and, with platform, bot and chat, the event's identity. Null: cannot be a duplicate. */
  messageId: text,
  replyTo: Schema.NullOr(ReplyContext),
  /** Files already stored where the agent can open them. */
  media: Schema.Array(Schema.Struct({ path: Schema.String, mimeType: Schema.String, name: text })),
  /** Epoch milliseconds as the platform says. */
  sentAt: Schema.Number,
  /** The session to use instead of the one that the key points to (an explicit API session). */
  sessionId: text,
  /** Said in the system prompt of the session's first turn (an API request's system message). */
  instructions: text.pipe(
    Schema.propertySignature,
    Schema.withConstructorDefault(() => null)
  ),
  /** It is for the model as it stands, also where it looks like a command: a program wrote it, and nobody typed. */
  verbatim: Schema.optionalWith(Schema.Boolean, { default: () => false }).pipe(
    Schema.withConstructorDefault(() => false)
  ),
  /** Null: a person said it. Rows of before there were others do not have it. */
  internal: Schema.optional(Schema.NullOr(InternalCause)).pipe(
    Schema.withDefaults({ constructor: () => null, decoding: () => null })
  )
}) {}

/** Facts about one delivery of an event that are never stored: who vouches for it and what the surface can do. */
export interface Arrival {
  /** The surface authenticated the sender itself (API key, the owner's own page or terminal). */
  readonly authorizedUpstream: boolean
  readonly asyncDelivery: boolean
  /** A marker found in the environment or forwarded by the `hermes` command (decision 6). */
  readonly marker: import("../../fibers/CronMarker.js").CronMarker
  /** Can somebody be asked here? Null: a person reads this conversation. */
  readonly unattended: "single_query" | "unattended" | null
  readonly workingDirectory: string | null
  /** Fetches what came with it, once it is known that its sender may talk here; bounded, and never fails. Left out: nothing. */
  readonly attachments?: Effect.Effect<Attachments>
}

/** What came with a message: files that are kept, and a note about those that could not be. */
export interface Attachments {
  readonly media: InboundEvent["media"]
  readonly note: string
}
