import { Context, type Effect, Schema } from "effect"
import * as AnswerNotes from "../delivery/AnswerNotes.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { SessionId } from "./Session.js"
import * as TokenCount from "./TokenCount.js"

/** A tool call as the model made it: `arguments` is the undecoded JSON text (decision 30). */
export const ToolCallPart = Schema.Struct({ id: Schema.String, name: Schema.String, arguments: Schema.String })
export type ToolCallPart = typeof ToolCallPart.Type

/** Where a picture of a person's lies. */
export const Picture = Schema.Struct({ path: Schema.String, mimeType: Schema.String })
export type Picture = typeof Picture.Type

/** A row of a transcript that is sent to the model as it stands. */
export const Message = Schema.Union(
  Schema.TaggedStruct("user", {
    text: Schema.String,
    platformMessageId: Schema.NullOr(Schema.String),
    /** Pictures that came with it, for a model that sees; its text names them for any other. */
    media: Schema.optional(Schema.Array(Picture)),
    /** Said in this chat by another turn (`Mirror`): a person said nothing, and can take nothing back. */
    mirrored: Schema.optional(Schema.Boolean)
  }),
  Schema.TaggedStruct("assistant", {
    text: Schema.String,
    reasoning: Schema.NullOr(Schema.String),
    toolCalls: Schema.Array(ToolCallPart),
    /** `stop`, `tool_calls`, `length`, `interrupted`, `error`, … */
    finishReason: Schema.String
  }),
  Schema.TaggedStruct("tool", {
    callId: Schema.String,
    tool: Schema.String,
    text: Schema.String,
    /** How the call ended: `ok`, `error`, `cancelled`, `skipped`, `unknown`. */
    disposition: Schema.String
  })
)
export type Message = typeof Message.Type

/** What stands in a transcript for the rows that a compaction took out of it. Reference, never an order. */
export const Summary = Schema.TaggedStruct("summary", { text: Schema.String })
export type Summary = typeof Summary.Type

export interface StoredMessage {
  readonly id: number
  /** Live rows stand in the order of this: a row's own id, or the place that a summary took. */
  readonly position: number
  readonly at: number
  readonly turnId: string | null
  readonly message: Message | Summary
  /** What a model reads of it; null where it is shown nothing. Made once, and asked for at each turn of its conversation. */
  readonly own: Message | Summary | null
  /** What it costs a model, about. */
  readonly tokens: number
}

export const storedMessage = ({
  at,
  id,
  message,
  position,
  turnId
}: Omit<StoredMessage, "own" | "tokens">): StoredMessage => ({
  id,
  position,
  at,
  turnId,
  message,
  own: AnswerNotes.own(message),
  tokens: TokenCount.ofMessage(message)
})

/** The live rows of a conversation in order, with what each of its turns asks of them all. */
export interface LiveRows {
  readonly rows: ReadonlyArray<StoredMessage>
  /** What a model reads of each. */
  readonly read: ReadonlyArray<StoredMessage["own"]>
  /** What they cost a model together, about. */
  readonly tokens: number
}

export const liveRows = (rows: ReadonlyArray<StoredMessage>): LiveRows => ({
  rows,
  read: rows.map(({ own }) => own),
  tokens: TokenCount.ofRows(rows)
})

/** A compaction is writing a summary of this conversation; what would take rows away has to wait. */
export class SessionCompacting extends Schema.TaggedError<SessionCompacting>()("SessionCompacting", {
  sessionId: Schema.String
}) {
  override get message(): string {
    return "I am summarising this conversation at the moment; try again when that is done"
  }
}

/** There is no message of a person left that could be taken back. */
export class NothingToRewind extends Schema.TaggedError<NothingToRewind>()("NothingToRewind", {
  sessionId: Schema.String
}) {
  override get message(): string {
    return "there is nothing here that could be taken back: what came before was summarised, or nothing was said yet"
  }
}

/** What a rewind took out of the live transcript. */
export interface Rewound {
  /** The text of the oldest message of a person that was taken back, and the pictures that came with it. */
  readonly text: string
  readonly media: ReadonlyArray<Picture>
  readonly rows: number
}

/** A row that was appended: its id, and its time in epoch milliseconds, which is the one that a page shows. */
export interface Appended {
  readonly id: number
  readonly at: number
}

export class Transcript extends Context.Tag("hermes/session/Transcript")<
  Transcript,
  {
    /** Appends rows in order, with the session's counters and activity; answers where they are. */
    readonly append: (
      sessionId: SessionId,
      turnId: string | null,
      messages: ReadonlyArray<Message>
    ) => Step<ReadonlyArray<Appended>>
    /**
     * Takes the last `turns` messages of a person back, with everything after them: the rows stay stored, and are live
     * no more, nor shown or found (state-agent.md 2.5). A number beyond the beginning goes to the beginning.
     */
    readonly rewind: (sessionId: SessionId, turns: number) => Step<Rewound, SessionCompacting | NothingToRewind>
    /** Is there a message of a person that `rewind` would take back? */
    readonly canRewind: (sessionId: SessionId) => Effect.Effect<boolean, StateError>
    /** The live rows in order. */
    readonly load: (sessionId: SessionId) => Effect.Effect<ReadonlyArray<StoredMessage>, StateError>
    /** The same, with what is kept beside them. */
    readonly live: (sessionId: SessionId) => Effect.Effect<LiveRows, StateError>
    /** Rows for people, newest last: the last `limit` before `beforeId`, or the first `limit` after `afterId`. */
    readonly page: (
      sessionId: SessionId,
      options: { readonly limit: number; readonly beforeId?: number; readonly afterId?: number }
    ) => Effect.Effect<ReadonlyArray<StoredMessage>, StateError>
  }
>() {}
