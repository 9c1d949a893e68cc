import { Context, type Effect } from "effect"
import type { StateError } from "../state/StateError.js"
import type { SessionId } from "./Session.js"

/** `share`: the conversation has grown; `overflow`: the model has refused it; `person`: somebody asked for it. */
export type CompactionTrigger = "share" | "overflow" | "person"

export interface CompactionRequest {
  readonly sessionId: SessionId
  readonly sessionKey: string
  readonly trigger: CompactionTrigger
  /** What the summary keeps above all. */
  readonly focus?: string
  /** Rows at the end that stay, in place of the settings'. */
  readonly keepLast?: number
  /** Above 1: the model has refused what an earlier compaction of the same turn left. */
  readonly pressure?: number
  /** What the model takes in that the conversation goes to; the configured one's when left out. */
  readonly contextWindow?: number
}

export type CompactionOutcome =
  | {
      readonly _tag: "Compacted"
      readonly rows: number
      readonly tokensBefore: number
      readonly tokensAfter: number
      /** `outline`: no model could write it. */
      readonly by: "model" | "outline"
    }
  /** There is too little that could go. */
  | { readonly _tag: "NothingToDo" }
  /** Somebody is at it, or too many conversations are. */
  | { readonly _tag: "Busy" }
  /** It failed a moment ago; times are epoch milliseconds. */
  | { readonly _tag: "CoolingDown"; readonly until: number; readonly error: string | null }
  /** The last two runs saved next to nothing. */
  | { readonly _tag: "Ineffective" }
  /** The transcript is as it was. */
  | { readonly _tag: "Failed"; readonly detail: string }

/** Puts a summary in the place of the earlier part of a conversation. Whatever happens, no row is lost or moved. */
export class Compaction extends Context.Tag("hermes/session/Compaction")<
  Compaction,
  {
    /** Is a conversation of so many tokens and rows due? Always false where compaction is switched off. */
    readonly isDue: (size: {
      readonly tokens: number
      readonly rows: number
      readonly contextWindow?: number
    }) => boolean
    readonly run: (request: CompactionRequest) => Effect.Effect<CompactionOutcome, StateError>
    /** Is a summary of the session being made in this process? */
    readonly isRunning: (sessionId: string) => Effect.Effect<boolean>
  }
>() {}
