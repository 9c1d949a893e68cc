import { Context, type Effect } from "effect"
import type { SessionKey } from "../session/SessionKey.js"
import type { StateError } from "../state/StateError.js"
import type { NoticePlace } from "../delivery/Notifier.js"
import type { InboxEntry, InboxMessage } from "./Inbox.js"
import type { TurnRow } from "./TurnStore.js"

export type ConversationPhase = "idle" | "running" | "stopping"

export interface ConversationView {
  readonly sessionKey: string
  readonly phase: ConversationPhase
  readonly turnId: string | null
  readonly startedAt: number | null
  readonly queued: number
}

/** One actor per session key: a mailbox, one turn at a time, the busy policy. Actors belong to nobody and end when idle (gateway.md 3.7). */
export class Conversations extends Context.Tag("hermes/conversation/Conversations")<
  Conversations,
  {
    /**
     * Stores a message and hands it to its conversation, on the place reserved for it: where nothing keeps it from its
     * turn, in the transaction that begins that. Null, the place given back, when the same one is there already.
     */
    readonly accept: (message: InboxMessage) => Effect.Effect<InboxEntry | null, StateError>
    /** Hands an accepted event to its conversation, on the place reserved for it. */
    readonly offer: (entry: InboxEntry) => Effect.Effect<void>
    /** Takes a place in the conversation's queue before the event is stored; false at the cap (decisions: 32). */
    readonly reserve: (sessionKey: SessionKey) => Effect.Effect<boolean>
    /** Gives back a place whose event was not stored. */
    readonly release: (sessionKey: SessionKey) => Effect.Effect<void>
    /** Goes on with a turn that an earlier process began. */
    readonly resume: (row: TurnRow, entry: InboxEntry) => Effect.Effect<void>
    /** `/stop` from anywhere: ends the running turn, drops what waits; false when nothing ran. */
    readonly stop: (sessionKey: string) => Effect.Effect<boolean>
    /** Where each turn that runs is heard; several conversations may share a chat. */
    readonly runningPlaces: Effect.Effect<ReadonlyArray<NoticePlace>>
    readonly views: Effect.Effect<ReadonlyArray<ConversationView>>
    /** At boot: dead turns follow decision 25, then unbegun events are answered in order. `unclean`: the last process did not end by itself, which counts as a strike. */
    readonly recover: (boot: {
      readonly unclean: boolean
    }) => Effect.Effect<{ readonly resumed: number; readonly begun: number; readonly suspended: number }, StateError>
    /**
     * Interrupts each turn that only waits for a person, so that it is resumed with its question by the next start: it has
     * nothing to finish. For a drain; looks again and again, and never ends.
     */
    readonly parkWaiting: Effect.Effect<never>
    /** Interrupts every running turn and waits until each is resumable. */
    readonly interruptAll: Effect.Effect<void>
  }
>() {}
