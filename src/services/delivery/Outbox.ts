import { Context, type Effect, Schema } from "effect"
import { Address } from "../../fibers/DeliveryOrigin.js"
import { Millis } from "../operation/Instant.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import { MediaFile } from "./Media.js"

/** pending waits; sending may have left; sent has a proof; unknown is in doubt and is never sent again itself: a reply to a person has a copy (decision 22). */
export const DeliveryState = Schema.Literal("pending", "sending", "sent", "failed", "unknown", "suppressed")
export type DeliveryState = typeof DeliveryState.Type

export const CauseKind = Schema.Literal("turn", "notice", "send_message", "approval", "cron", "command")
export type CauseKind = typeof CauseKind.Type

/** The rule that picked the target (cron-delivery.md 4.2). */
export const Via = Schema.Literal("origin", "origin_fallback", "explicit", "home", "broadcast")
export type Via = typeof Via.Type

/** One message of one cause to one target: a row before it leaves, settled after. */
export class DeliveryRow extends Schema.Class<DeliveryRow>("hermes/delivery/DeliveryRow")({
  id: Schema.String,
  cause: Schema.Struct({ kind: CauseKind, id: Schema.String }),
  address: Address,
  part: Schema.Int,
  parts: Schema.Int,
  text: Schema.String,
  /** The files of this part; several are one album. Its text is their caption then. */
  media: Schema.Array(MediaFile).pipe(
    Schema.propertySignature,
    Schema.withConstructorDefault((): ReadonlyArray<MediaFile> => [])
  ),
  transcriptId: Schema.NullOr(Schema.Number),
  via: Via,
  state: DeliveryState,
  platformMessageId: Schema.NullOr(Schema.String),
  attempts: Schema.Int,
  /** Why it is failed, unknown or suppressed. */
  reason: Schema.NullOr(Schema.String),
  resendOf: Schema.NullOr(Schema.String),
  /** A person waits for it: in doubt it is sent once more, marked. */
  replyToPerson: Schema.Boolean,
  /** Whose work sent it. */
  turnId: Schema.NullOr(Schema.String),
  sessionKey: Schema.NullOr(Schema.String),
  isCron: Schema.Boolean,
  createdAt: Millis,
  settledAt: Schema.NullOr(Millis),
  notBefore: Schema.NullOr(Millis)
}) {}

export interface NewDelivery {
  readonly cause: { readonly kind: CauseKind; readonly id: string }
  readonly address: Address
  readonly text: string
  /** Left out: none. */
  readonly media?: ReadonlyArray<MediaFile>
  readonly part: number
  readonly parts: number
  readonly transcriptId: number | null
  readonly via: Via
  readonly state: "pending" | "sending"
  /** A later part: nothing of it leaves before what is in front of it has. */
  readonly follows?: true
  readonly replyToPerson: boolean
  readonly resendOf: string | null
  readonly turnId: string | null
  readonly sessionKey: string | null
  readonly isCron: boolean
}

/** A chat with rows that wait: until when it is to be left alone, as any of them says; null for not at all. */
export interface WaitingChat {
  readonly platform: string
  readonly chatId: string
  readonly notBefore: number | null
}

/** Every outbound message as a row, unique by (cause, target, part) but for its one resend. */
export class Outbox extends Context.Tag("hermes/delivery/Outbox")<
  Outbox,
  {
    /** Answers the rows as stored. One that exists already (same cause, target and part) is answered as it stands and not inserted again. */
    readonly insert: (deliveries: ReadonlyArray<NewDelivery>) => Step<ReadonlyArray<DeliveryRow>>
    /**
     * A streamed reply's row becomes this delivery: cause, part, text, transcript row and `replyToPerson` are replaced;
     * its id, platform message and time of making stay, and it is `sending`. Answers the row as it now stands.
     */
    readonly become: (id: string, delivery: NewDelivery) => Step<DeliveryRow>
    /** pending → sending, one more attempt. */
    readonly markSending: (id: string) => Step<void>
    /**
     * It is being sent and nothing of it has left: the platform asked to wait until `notBefore`. Found so at a start, as
     * a part that follows is too, it is in no doubt. Null when it leaves now, and from then on it is.
     */
    readonly notePause: (
      id: string,
      pause: { readonly notBefore: number; readonly reason: string } | null
    ) => Step<void>
    /** The message is on the platform but not yet final (a streamed reply). */
    readonly noteMessage: (id: string, platformMessageId: string) => Step<void>
    readonly settle: (
      id: string,
      outcome:
        | { readonly state: "sent"; readonly platformMessageId: string | null; readonly note: string | null }
        | { readonly state: "failed" | "unknown" | "suppressed"; readonly reason: string }
        | { readonly state: "pending"; readonly notBefore: number | null; readonly reason: string }
    ) => Step<void>
    readonly get: (id: string) => Effect.Effect<DeliveryRow | null, StateError>
    readonly inState: (
      states: ReadonlyArray<DeliveryState>,
      limit: number
    ) => Effect.Effect<ReadonlyArray<DeliveryRow>, StateError>
    /** The chats in which something waits; who has waited longest first. */
    readonly waitingChats: Effect.Effect<ReadonlyArray<WaitingChat>, StateError>
    /** What waits in one chat, in the order of sending: a copy that is sent again stands where its original stood. */
    readonly waitingIn: (
      chat: Pick<WaitingChat, "platform" | "chatId">,
      limit: number
    ) => Effect.Effect<ReadonlyArray<DeliveryRow>, StateError>
    readonly ofCause: (kind: CauseKind, id: string) => Effect.Effect<ReadonlyArray<DeliveryRow>, StateError>
    /** The parts with files that belong to these rows of transcripts. */
    readonly mediaOf: (transcriptIds: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<DeliveryRow>, StateError>
    /** What a turn said and what its tools sent, in the order of making. */
    readonly ofTurn: (turnId: string) => Effect.Effect<ReadonlyArray<DeliveryRow>, StateError>
    readonly list: (options: {
      readonly limit: number
      readonly state?: DeliveryState
    }) => Effect.Effect<ReadonlyArray<DeliveryRow>, StateError>
  }
>() {}
