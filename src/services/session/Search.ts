import { Context, type Effect } from "effect"
import type { StateError } from "../state/StateError.js"
import type { Owner } from "./SessionStore.js"

export const roles = ["user", "assistant", "tool"] as const
export type SearchRole = (typeof roles)[number]

export interface SearchOptions {
  readonly text: string
  readonly limit: number
  /** Newest first, or what fits best among the newest that fit at all. */
  readonly sort: "newest" | "relevance"
  /** Whose sessions; null searches all that are in lists. */
  readonly owner: Owner | null
  readonly sessionId?: string
  readonly source?: string
  /** What people and the agent said when left out: results of tools are found when they are asked for. */
  readonly roles?: ReadonlyArray<SearchRole>
  /** Epoch milliseconds. */
  readonly after?: number
  readonly before?: number
}

export interface SearchHit {
  readonly messageId: number
  readonly sessionId: string
  readonly title: string | null
  readonly source: string
  readonly role: SearchRole
  readonly at: number
  /** The text around the first match, which stands between `>>>` and `<<<`. */
  readonly snippet: string
}

export interface SearchStatus {
  /** `current`: all messages are in it; `behind`: the newest are looked through one by one; `rebuilding`: most are; `off`: all are. */
  readonly index: "current" | "behind" | "rebuilding" | "off"
  /** Messages that are not in the index yet. */
  readonly waiting: number
}

/**
 * Finds what was said. The index only makes it fast: where it is damaged, away or behind, the messages themselves are
 * looked through, so nothing that is stored is not found. Taken back and hidden messages are never found; those that a
 * summary stands for are.
 */
export class Search extends Context.Tag("hermes/session/Search")<
  Search,
  {
    /** Whatever is typed, it is no error. */
    readonly search: (options: SearchOptions) => Effect.Effect<ReadonlyArray<SearchHit>, StateError>
    readonly status: Effect.Effect<SearchStatus, StateError>
    /** Brings the index up to the newest message in slices; succeeds when it is there, or cannot be used. */
    readonly catchUp: Effect.Effect<void, StateError>
    /** Makes the index anew, from the first message on. */
    readonly rebuild: Effect.Effect<void, StateError>
  }
>() {}
