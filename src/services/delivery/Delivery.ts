import { Context, type Effect } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { Button } from "../adapter/Adapter.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { DeliveryNotFound, ResendRefused } from "./Resend.js"
import type { CauseKind, DeliveryRow, Via } from "./Outbox.js"

export interface Outgoing {
  readonly cause: { readonly kind: CauseKind; readonly id: string }
  readonly address: Address
  readonly text: string
  readonly via: Via
  readonly transcriptId: number | null
  readonly replyToPerson: boolean
  readonly buttons?: ReadonlyArray<Button>
  /** Where relative paths of files stand; left out: in the working directory of the turn. */
  readonly directory?: string | null
  /** The streamed message (`ReplyStream.started`) that this text takes the place of: its row becomes the first part's. */
  readonly grown?: DeliveryRow
}

/** How a delivery of one or more parts ended. */
export interface Delivered {
  readonly deliveries: ReadonlyArray<DeliveryRow>
  /** Every part was sent or waits for its time (`pending`, sent later by itself); none failed or is in doubt. */
  readonly ok: boolean
  /** The first thing that went wrong, or why it waits, as a person would tell it. */
  readonly problem: string | null
  /** Files that were asked for and did not go along, each with its reason. */
  readonly left: ReadonlyArray<string>
}

/** A reply that grows while the model speaks, on a surface that can edit (gateway.md 3.8). */
export interface ReplyStream {
  /** Text so far; edits are paced, so most calls send nothing. */
  readonly update: (text: string) => Effect.Effect<void>
  /** The text so far was not the answer: what follows is a new message. */
  readonly segment: Effect.Effect<void>
  /** The delivery row of the message on the platform, if one was sent. */
  readonly started: Effect.Effect<DeliveryRow | null>
  /** There will be no answer (interrupted, failed): the message stays as it stands and its row is settled. */
  readonly abandon: Effect.Effect<void>
}

/** The one way out: rows first, bytes second, proof third. In order per chat; one target's failure touches no other. */
export class Delivery extends Context.Tag("hermes/delivery/Delivery")<
  Delivery,
  {
    /**
     * The rows of a message, split to the platform's limit, as a step to put into the transaction that stores its text;
     * it takes the id of the transcript row just stored. Their state is `sending`.
     */
    readonly prepare: (
      outgoing: Omit<Outgoing, "transcriptId">
    ) => Effect.Effect<(transcriptId: number | null) => Step<ReadonlyArray<DeliveryRow>>>
    /**
     * Sends prepared rows, part after part, and settles each; it stops at the first part of the text that is not sent,
     * and the rest fails with it. A file that cannot be sent fails alone and is told. Once begun it goes on when the caller is interrupted. `along` goes into the transaction that
     * settles the last row, whatever became of the parts, so that a turn ends in the same commit.
     */
    readonly dispatch: (
      rows: ReadonlyArray<DeliveryRow>,
      buttons?: ReadonlyArray<Button>,
      along?: Step<void>
    ) => Effect.Effect<Delivered, StateError>
    /** Rows, send and settle in one, for what has no transaction of its own. */
    readonly deliver: (outgoing: Outgoing) => Effect.Effect<Delivered, StateError>
    /**
     * Sends a failed message, or one in doubt, once more as a row of its own (decision 22); one in doubt says that it may
     * be there already. A message has one such copy. Fails with `DeliveryNotFound` where there is no such row and with
     * `ResendRefused` where it has arrived, still waits, was kept back or had its copy.
     */
    readonly resend: (id: string) => Effect.Effect<Delivered, DeliveryNotFound | ResendRefused | StateError>
    /** Opens a growing reply of the current turn; null where the surface cannot edit. */
    readonly stream: (outgoing: Omit<Outgoing, "text" | "transcriptId">) => Effect.Effect<ReplyStream | null>
    /**
     * As `dispatch`, and on its way once this returns: what it answers waits for the end. `started` is a streamed message
     * that becomes the final one: an edit if the text differs, further parts as messages.
     */
    readonly begin: (
      rows: ReadonlyArray<DeliveryRow>,
      options?: { readonly started?: DeliveryRow | null; readonly along?: Step<void> }
    ) => Effect.Effect<Effect.Effect<Delivered, StateError>, StateError>
    readonly typing: (address: Address) => Effect.Effect<void>
    /**
     * Once at boot, with the surfaces registered and before anything is admitted: what was never sent is sent; what is
     * in doubt becomes unknown, and a reply to a person is sent once more, marked (decision 22). Waits at most 5 s for
     * the sends. From then on whatever waits is sent when its time has come.
     */
    readonly recover: Effect.Effect<
      { readonly sent: number; readonly unknown: number; readonly resent: number },
      StateError
    >
  }
>() {}
