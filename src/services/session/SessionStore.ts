import { Context, type Effect, Schema } from "effect"
import type { Source } from "../conversation/InboundEvent.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { Session, SessionId, TitleSource } from "./Session.js"
import type { SessionKey } from "./SessionKey.js"

/** No session by that id, prefix or title that this chat may use. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {
  reference: Schema.String
}) {
  override get message(): string {
    return `no session here is called "${this.reference}"; /sessions lists them`
  }
}

/** More than one session fits; nobody guesses. */
export class SessionAmbiguous extends Schema.TaggedError<SessionAmbiguous>()("SessionAmbiguous", {
  reference: Schema.String,
  candidates: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `"${this.reference}" fits several sessions: ${this.candidates.join(", ")}`
  }
}

/** The title belongs to another session. */
export class TitleTaken extends Schema.TaggedError<TitleTaken>()("TitleTaken", { title: Schema.String }) {
  override get message(): string {
    return `another session is already called "${this.title}"`
  }
}

export interface NewSession {
  readonly key: SessionKey | null
  readonly source: string
  readonly origin: Source | null
  readonly parentId: SessionId | null
  readonly hidden: boolean
  readonly model: string | null
  /** Taken instead of a fresh id. */
  readonly id?: SessionId
}

/** Who may see a session: its own platform and chat, and its own user where the chat is isolated (gateway.md 2.6). */
export interface Owner {
  readonly platform: string
  readonly chatId: string | null
  readonly userId: string | null
}

/** Where a conversation is, and with whom. */
export interface Place {
  readonly platform: string
  readonly chatId: string
  readonly threadId: string | null
  readonly userId: string | null
}

export class SessionStore extends Context.Tag("hermes/session/SessionStore")<
  SessionStore,
  {
    /** The open session that the key points to; created, and the route written, when there is none or it has ended. */
    readonly resolve: (key: SessionKey, source: Source) => Effect.Effect<Session, StateError>
    readonly peek: (key: SessionKey) => Effect.Effect<Session | null, StateError>
    readonly get: (id: string) => Effect.Effect<Session | null, StateError>
    readonly create: (session: NewSession) => Step<Session>
    /** `/new`: ends the session that the key points to and points it to a fresh one. */
    readonly reset: (
      key: SessionKey,
      source: Source
    ) => Effect.Effect<{ readonly previous: Session | null; readonly fresh: Session }, StateError>
    /** `/resume`: points the key to another session of the same owner, by id, unique id prefix or title. */
    readonly resume: (
      key: SessionKey,
      reference: string,
      owner: Owner
    ) => Effect.Effect<Session, StateError | SessionNotFound | SessionAmbiguous>
    /**
     * `/branch`: a session of its own with a copy of the live rows, to which the key points from then on. The one that
     * it came from ends and stays as it is (state-agent.md 2.5).
     */
    readonly branch: (
      key: SessionKey,
      source: Source,
      title: string | null
    ) => Effect.Effect<Session, StateError | SessionNotFound | TitleTaken>
    /**
     * The one live session of a place: the person's own, or the only one there is. Several people's and none of theirs:
     * null, nobody guesses (state-agent.md 2.1). Without its prompt.
     */
    readonly findByOrigin: (place: Place) => Effect.Effect<Session | null, StateError>
    /**
     * Newest activity first; without hidden ones. Null owner lists all; archived ones only when they are asked for.
     * Without their prompts.
     */
    readonly list: (options: {
      readonly owner: Owner | null
      readonly limit: number
      readonly before?: number
      /** With `before`: also those of that very millisecond whose ids come after this one's in the list. */
      readonly beforeId?: string
      readonly archived?: boolean
      readonly pinned?: boolean
      /** Runs of jobs alone, or none of them; looked for among the newest 10,000 sessions. */
      readonly runs?: boolean
    }) => Effect.Effect<ReadonlyArray<Session>, StateError>
    readonly setTitle: (
      id: SessionId,
      title: string,
      source: TitleSource
    ) => Effect.Effect<Session, StateError | SessionNotFound | TitleTaken>
    /** Names a session after the first words of a person, if nobody has named it yet. */
    readonly deriveTitle: (id: SessionId, text: string) => Step<void>
    /** Pins prompt, tools and model for the session's life (state-agent.md 3.3). What is whole of a spoilt pin stays. */
    readonly pinPrompt: (
      id: SessionId,
      pinned: { readonly systemPrompt: string; readonly toolNames: ReadonlyArray<string>; readonly model: string }
    ) => Step<void>
    /** The first end reason stays. */
    readonly end: (id: SessionId, reason: string) => Step<void>
    readonly remove: (id: SessionId) => Effect.Effect<boolean, StateError>
    readonly setSuspended: (id: SessionId, suspended: boolean) => Step<void>
    readonly setArchived: (id: SessionId, archived: boolean) => Step<void>
    readonly setPinned: (id: SessionId, pinned: boolean) => Step<void>
    /**
     * Deletes ended sessions whose last activity is before `before`, at most `limit`; pinned ones, and those that a
     * pinned one came from, stay. Answers their ids. `dryRun` deletes nothing.
     */
    readonly prune: (options: {
      readonly before: number
      readonly limit: number
      readonly dryRun?: boolean
    }) => Effect.Effect<ReadonlyArray<string>, StateError>
    readonly setUnread: (id: SessionId, unread: boolean) => Step<void>
  }
>() {}
