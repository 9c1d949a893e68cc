import { type Effect, Schema } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { MediaFile } from "../delivery/Media.js"

/** What files a platform takes. */
export interface FileCapabilities {
  /** Of one file. */
  readonly maxBytes: number
  /** A larger picture goes as a document. */
  readonly maxPhotoBytes: number
  /** Pictures and films in one message. */
  readonly album: number
}

/** What a platform can do, answered by the adapter's record and by nothing else (gateway.md 4.2). */
export interface AdapterCapabilities {
  readonly asyncDelivery: boolean
  readonly inChannelContinuation: boolean
  readonly messageEditing: boolean
  readonly typing: boolean
  readonly buttons: boolean
  readonly codeBlocks: boolean
  readonly splitsLongMessages: boolean
  /** Longest message, in `lengthUnit`s. */
  readonly maxMessageLength: number
  readonly lengthUnit: "chars" | "utf16"
  /** What stands before a typed command. */
  readonly commandPrefix: string
  /** Does a send answer with a platform id as its proof? Without one the transcript row's id is the proof (decision 22). */
  readonly platformIds: boolean
  /** Left out: it takes none. */
  readonly files?: FileCapabilities
}

/** A surface that takes text and can do nothing else: where a new adapter begins. */
export const plainText: AdapterCapabilities = {
  asyncDelivery: true,
  inChannelContinuation: false,
  messageEditing: false,
  typing: false,
  buttons: false,
  codeBlocks: false,
  splitsLongMessages: false,
  maxMessageLength: 4096,
  lengthUnit: "chars",
  commandPrefix: "/",
  platformIds: true
}

/** A choice offered with a message; `value` comes back through `Admission.press`. */
export interface Button {
  readonly label: string
  readonly value: string
}

/** A file of a message, read when the adapter is about to send it. */
export interface OutboundFile extends MediaFile {
  readonly content: Effect.Effect<Uint8Array, SendRefused>
}

export interface OutboundMessage {
  readonly address: Address
  /** With files: their caption, often empty. */
  readonly text: string
  /** Left out: words alone. Several are one album. */
  readonly files?: ReadonlyArray<OutboundFile>
  /** The delivery row of this message. */
  readonly deliveryId: string
  /** The transcript row that holds the text, on surfaces that show transcripts. */
  readonly transcriptId: number | null
  readonly buttons: ReadonlyArray<Button>
  /** Send the characters as they stand, without markup: the platform refused the formatted text (gateway.md 3.8). */
  readonly plain?: boolean
}

export interface SendReceipt {
  /** The platform's id of the message; null on surfaces that have none. */
  readonly platformMessageId: string | null
  /** What the platform changed about it (thread gone, text cut), for the delivery's story. */
  readonly note: string | null
}

/** The platform said no, and would again. */
export class SendRefused extends Schema.TaggedError<SendRefused>()("SendRefused", {
  platform: Schema.String,
  detail: Schema.String,
  /** `forbidden`, `chat_not_found`, `bad_request`, `too_long`, … */
  code: Schema.String
}) {
  override get message(): string {
    return `${this.platform} refused the message (${this.code}): ${this.detail}`
  }
}

/** Refusals of the chat itself or of the bot: nothing else that is said there arrives either. */
const ofChat = /\((?:forbidden|chat_not_found|unauthorized|unusable)\): /

/** Do the words of a refusal say that the chat takes nothing at all? */
export const isChatRefused = (reason: string): boolean => ofChat.test(reason)

/** Nothing left, or the platform asked to wait; sending again is safe after `retryAfterMillis`. */
export class SendRetryable extends Schema.TaggedError<SendRetryable>()("SendRetryable", {
  platform: Schema.String,
  detail: Schema.String,
  retryAfterMillis: Schema.NullOr(Schema.Number),
  /** The platform refuses what the adapter shows it; whatever is sent waits for a better one. */
  credentialRefused: Schema.optional(Schema.Boolean)
}) {
  override get message(): string {
    return `${this.platform} ${this.credentialRefused === true ? "refuses the token" : "could not be reached"}: ${this.detail}`
  }
}

/** The bytes may have arrived: a read timeout, a connection lost after sending. Never sent again on its own (gateway.md 3.8). */
export class SendUncertain extends Schema.TaggedError<SendUncertain>()("SendUncertain", {
  platform: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.platform} may have got the message: ${this.detail}`
  }
}

export const SendError = Schema.Union(SendRefused, SendRetryable, SendUncertain)
export type SendError = typeof SendError.Type

export type AdapterState =
  | { readonly _tag: "Starting" }
  | { readonly _tag: "Connected" }
  | { readonly _tag: "Reconnecting"; readonly error: string }
  | { readonly _tag: "Failed"; readonly error: string; readonly remedy: string }

export interface ChatInfo {
  readonly name: string
  readonly type: "dm" | "group" | "channel"
}

/** Where a message can go, as this platform writes it. */
export interface ChatPlace {
  readonly chatId: string
  readonly threadId: string | null
}

/** A platform that reads references by its own rules (cron-delivery.md 4.1). */
export interface References {
  /** The place that a reference names, null when it is none. What it does not know is no chat, for jobs too. */
  readonly parse?: (reference: string) => ChatPlace | null
  /** The last word on any place: what is wrong with it, or null. What cannot be looked up now is no reason to complain. */
  readonly complaint?: (place: ChatPlace) => Effect.Effect<string | null>
}

/** One surface: how messages leave for a platform. How they come in is the adapter's own fiber, which calls `Admission.accept`. */
export interface Adapter {
  readonly platform: string
  readonly capabilities: AdapterCapabilities
  readonly references?: References
  readonly state: Effect.Effect<AdapterState>
  readonly send: (message: OutboundMessage) => Effect.Effect<SendReceipt, SendError>
  /** Replaces the text of a message. `final`: no further edit follows, so buttons go too. */
  readonly edit: (
    address: Address,
    platformMessageId: string,
    text: string,
    options: { readonly final: boolean }
  ) => Effect.Effect<void, SendError>
  /** Opens a thread in a chat and answers its id; null where that chat has none. Left out where the platform has no way to. */
  readonly openThread?: (address: Address, name: string) => Effect.Effect<string | null, SendError>
  /** Puts a reaction on a message, or takes it back with null. Left out where the platform has none. It may be done twice. */
  readonly react?: (address: Address, platformMessageId: string, emoji: string | null) => Effect.Effect<void, SendError>
  /** Shows that work goes on; never fails the work. */
  readonly typing: (address: Address) => Effect.Effect<void>
  readonly chatInfo: (chatId: string) => Effect.Effect<ChatInfo>
}
