import { Schema } from "effect"
import { Millis } from "../operation/Instant.js"

export const SessionId = Schema.NonEmptyString.pipe(
  Schema.filter((id) => !/\.\.|[\\/]|^[A-Za-z]:/.test(id) || "a session id has no path in it"),
  Schema.brand("hermes/SessionId")
)
export type SessionId = typeof SessionId.Type

/** Who gave a title, from the least to the most: only a person's word replaces a person's. */
export const TitleSource = Schema.Literal("derived", "llm", "user")
export type TitleSource = typeof TitleSource.Type

const text = Schema.NullOr(Schema.String)

/** One transcript and what it belongs to. Times are epoch milliseconds. */
export class Session extends Schema.Class<Session>("hermes/session/Session")({
  id: SessionId,
  key: text,
  title: text,
  titleSource: Schema.NullOr(TitleSource),
  /** `telegram`, `web`, `api_server`, `cli`, `cron`, `subagent`, … */
  source: Schema.String,
  platform: text,
  chatId: text,
  chatType: text,
  threadId: text,
  userId: text,
  /** Set on a delegate's transcript and on a branch. */
  parentId: text,
  /** Delegated transcripts are kept out of lists. */
  hidden: Schema.Boolean,
  model: text,
  systemPrompt: text,
  /** Tool names pinned with the prompt; null until the first turn. */
  toolNames: Schema.NullOr(Schema.Array(Schema.String)),
  startedAt: Millis,
  lastActivityAt: Millis,
  endedAt: Schema.NullOr(Millis),
  endReason: text,
  /** Active in three unclean restarts in a row: no turn runs here until the person starts a new session (decision 25). */
  suspended: Schema.Boolean,
  messageCount: Schema.Int,
  /** Out of the lists, and as it was otherwise. */
  archived: Schema.Boolean,
  /** On top of the lists, and never pruned. */
  pinned: Schema.Boolean,
  unread: Schema.Boolean
}) {}
