import { Context, type Effect } from "effect"
import type { SessionKey } from "../session/SessionKey.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { InboundEvent } from "./InboundEvent.js"

/**
 * accepted → running → answered, or steered into a running turn, or dropped (by `/stop`, `/new`, or superseded).
 * An accepted event outlives a crash and is answered in order.
 */
export type InboxState = "accepted" | "running" | "answered" | "steered" | "interrupted" | "dropped" | "failed"

/** What `Arrival` facts a stored event keeps: enough to enter the same turn after a restart. */
export interface StoredArrival {
  readonly asyncDelivery: boolean
  readonly marker: import("../../fibers/CronMarker.js").CronMarker
  readonly unattended: "single_query" | "unattended" | null
  readonly workingDirectory: string | null
  /** Its sender was let in by a code alone, which is looked at again when its turn begins. */
  readonly paired?: boolean | undefined
}

/** What is to be stored. */
export interface InboxMessage {
  readonly key: SessionKey
  readonly event: InboundEvent
  readonly arrival: StoredArrival
}

export interface InboxEntry extends InboxMessage {
  readonly id: string
  /** Order of acceptance within the home. */
  readonly sequence: number
  readonly acceptedAt: number
  readonly state: InboxState
  readonly turnId: string | null
  /** The last message of a person is taken back and said again, in the transaction that begins the turn (`/retry`). */
  readonly again?: boolean
}

/** The durable inbox: an event is acknowledged to its platform only after its row is committed. */
export class Inbox extends Context.Tag("hermes/conversation/Inbox")<
  Inbox,
  {
    /** Null when the same (platform, bot, chat, message id) is there already (decision 24). */
    readonly accept: (
      key: SessionKey,
      event: InboundEvent,
      arrival: StoredArrival
    ) => Effect.Effect<InboxEntry | null, StateError>
    /**
     * As `accept`, in the transaction that begins its turn, or that settles what caused an internal event: both or
     * neither. `id` is a fresh event's, `turnId` that of the turn that takes it up with this.
     */
    readonly acceptWith: (
      id: string,
      key: SessionKey,
      event: InboundEvent,
      arrival: StoredArrival,
      turnId?: string | null
    ) => Step<InboxEntry | null>
    readonly settle: (id: string, state: InboxState, turnId: string | null) => Step<void>
    /** Accepted events that nobody has begun, oldest first. */
    readonly unbegun: Effect.Effect<ReadonlyArray<InboxEntry>, StateError>
    readonly get: (id: string) => Effect.Effect<InboxEntry | null, StateError>
    /** What was told to running turns of a conversation, of what was accepted between two instants; in that order. */
    readonly steered: (
      key: SessionKey,
      between: { readonly from: number; readonly to: number }
    ) => Effect.Effect<ReadonlyArray<InboxEntry>, StateError>
  }
>() {}
