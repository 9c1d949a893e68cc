import { Context, type Effect, Schema } from "effect"
import { Instant } from "../operation/Instant.js"
import type { StateError } from "../state/StateError.js"
import { SessionId, TitleSource } from "./Session.js"
import type { SessionNotFound } from "./SessionStore.js"
import { ToolCallPart } from "./Transcript.js"

const text = Schema.NullOr(Schema.String)
const orNull = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(Schema.NullOr(schema), { default: () => null })

/** A session as it leaves one home and comes into another. Times are ISO 8601 in UTC. */
export const ArchivedSession = Schema.Struct({
  id: SessionId,
  title: text,
  titleSource: orNull(TitleSource),
  source: Schema.String,
  platform: orNull(Schema.String),
  chatId: orNull(Schema.String),
  chatType: orNull(Schema.String),
  threadId: orNull(Schema.String),
  userId: orNull(Schema.String),
  model: orNull(Schema.String),
  startedAt: Instant,
  lastActivityAt: Instant,
  endedAt: orNull(Instant),
  endReason: orNull(Schema.String),
  archived: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  pinned: Schema.optionalWith(Schema.Boolean, { default: () => false })
}).annotations({ identifier: "ArchivedSession" })
export type ArchivedSession = typeof ArchivedSession.Type

/** A row of its transcript: `live` ones are what the model is sent, the others are what a summary stands for. */
export const ArchivedMessage = Schema.Struct({
  id: Schema.Int,
  /** Of a summary: the row in whose place it stands. */
  position: orNull(Schema.Int),
  at: Instant,
  live: Schema.optionalWith(Schema.Boolean, { default: () => true }),
  role: Schema.Literal("user", "assistant", "tool", "summary"),
  text: Schema.String,
  reasoning: orNull(Schema.String),
  toolCalls: Schema.optionalWith(Schema.Array(ToolCallPart), { default: () => [] }),
  finishReason: orNull(Schema.String),
  callId: orNull(Schema.String),
  tool: orNull(Schema.String),
  disposition: orNull(Schema.String)
}).annotations({ identifier: "ArchivedMessage" })
export type ArchivedMessage = typeof ArchivedMessage.Type

export const SessionDocument = Schema.Struct({ session: ArchivedSession, messages: Schema.Array(ArchivedMessage) })
export type SessionDocument = typeof SessionDocument.Type

/** What one import takes at most (state-agent.md 1.12). */
export const limits = {
  sessions: 500,
  messages: 10_000,
  messagesInAll: 50_000,
  bytes: 5 * 1_048_576,
  bytesInAll: 25 * 1_048_576
} as const

/** `present`: a session of that id is there already and stays as it is. */
export type ImportOutcome = "imported" | "present"

/** Sessions out of a home and into one. What was taken back is not among it. */
export class SessionArchive extends Context.Tag("hermes/session/SessionArchive")<
  SessionArchive,
  {
    /** The session, and at most `limit` rows after a row's id in the order of their making. */
    readonly read: (
      id: string,
      page: { readonly after: number; readonly limit: number }
    ) => Effect.Effect<SessionDocument, StateError | SessionNotFound>
    /** All rows of one session in one transaction, or none. It belongs to no conversation until somebody resumes it. */
    readonly write: (document: SessionDocument) => Effect.Effect<ImportOutcome, StateError>
  }
>() {}
