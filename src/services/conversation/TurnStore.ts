import { Context, type Effect, Schema } from "effect"
import type { Turn } from "../../fibers/Turn.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"

/** running → ended; `answer` is stored and its delivery under way: answering. */
export type TurnState = "running" | "answering" | "ended"

export type TurnOutcome = "answered" | "interrupted" | "failed" | "suspended" | "unknown"

export interface TurnRow {
  readonly turn: Turn
  readonly inboxId: string | null
  readonly state: TurnState
  readonly outcome: TurnOutcome | null
  readonly startedAt: number
  readonly endedAt: number | null
  /** Unclean restarts that this turn was active in. */
  readonly strikes: number
}

/** A child turn whose parent carries another marker or another origin: the row is refused by a trigger. */
export class TurnRefused extends Schema.TaggedError<TurnRefused>()("TurnRefused", {
  turnId: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `turn ${this.turnId} was refused: ${this.detail}`
  }
}

/** Turns as rows: who, why and where of each are columns that never change. */
export class TurnStore extends Context.Tag("hermes/conversation/TurnStore")<
  TurnStore,
  {
    readonly begin: (turn: Turn, inboxId: string | null) => Step<void, TurnRefused>
    readonly answering: (turnId: string) => Step<void>
    readonly end: (turnId: string, outcome: TurnOutcome) => Step<void>
    readonly get: (turnId: string) => Effect.Effect<TurnRow | null, StateError>
    /** The helpers that a turn gave work to, in the order of their beginning. */
    readonly children: (turnId: string) => Effect.Effect<ReadonlyArray<TurnRow>, StateError>
    /** The turns that an inbound event began, oldest first. */
    readonly ofEvent: (inboxId: string) => Effect.Effect<ReadonlyArray<TurnRow>, StateError>
    /** Turns left open by a process that is gone, oldest first. */
    readonly open: Effect.Effect<ReadonlyArray<TurnRow>, StateError>
    /** One more unclean restart for this open turn; answers the new count. */
    readonly strike: (turnId: string) => Step<number>
  }
>() {}
