import { Context, type Effect, Schema } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { SessionId } from "./Session.js"

/** A tool call as the model made it: `arguments` is the undecoded JSON text (decision 30). */
export const ToolCallPart = Schema.Struct({ id: Schema.String, name: Schema.String, arguments: Schema.String })
export type ToolCallPart = typeof ToolCallPart.Type

/** A row of a transcript that is sent to the model as it stands. */
export const Message = Schema.Union(
  Schema.TaggedStruct("user", { text: Schema.String, platformMessageId: Schema.NullOr(Schema.String) }),
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

export interface StoredMessage {
  readonly id: number
  readonly at: number
  readonly turnId: string | null
  readonly message: Message
}

export class Transcript extends Context.Tag("hermes/session/Transcript")<
  Transcript,
  {
    /** Appends rows in order, with the session's counters and activity; answers their ids. */
    readonly append: (
      sessionId: SessionId,
      turnId: string | null,
      messages: ReadonlyArray<Message>
    ) => Step<ReadonlyArray<number>>
    /** The live rows in order. */
    readonly load: (sessionId: SessionId) => Effect.Effect<ReadonlyArray<StoredMessage>, StateError>
    /** Rows for people, newest last: at most `limit` before `beforeId`. */
    readonly page: (
      sessionId: SessionId,
      options: { readonly limit: number; readonly beforeId?: number }
    ) => Effect.Effect<ReadonlyArray<StoredMessage>, StateError>
  }
>() {}
