import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { ActivityUsage } from "../operation/Activity.js"
import { Instant } from "../operation/Instant.js"
import { BusyMode } from "../operation/Settings.js"
import type { Session } from "../session/Session.js"
import { ToolCallPart, type StoredMessage } from "../session/Transcript.js"
import { Conflict, NotFound, TooMany } from "./ApiError.js"
import { FileView } from "./Deliveries.js"
import { Authentication } from "./Caller.js"
import { Limit, PathText } from "./Parameters.js"
import {
  CompressResult,
  ExportParameters,
  ImportBody,
  ImportResult,
  PruneBody,
  PruneResult,
  SearchHitView,
  SearchParameters,
  SessionPage
} from "./SessionSearch.js"
import { answersWithEvents } from "./EventStream.js"

const text = Schema.NullOr(Schema.String)

/** A session as `hermes sessions list` shows it (contract §2). */
export const SessionView = Schema.Struct({
  id: Schema.String,
  key: text,
  title: text,
  source: Schema.String,
  platform: text,
  chatId: text,
  threadId: text,
  userId: text,
  parentId: text,
  model: text,
  startedAt: Instant,
  lastActivityAt: Instant,
  endedAt: Schema.NullOr(Instant),
  endReason: text,
  messages: Schema.Int,
  unread: Schema.Boolean,
  archived: Schema.Boolean,
  pinned: Schema.Boolean,
  suspended: Schema.Boolean
}).annotations({ identifier: "Session" })
export type SessionView = typeof SessionView.Type

export const sessionView = (session: Session): SessionView => ({
  id: session.id,
  key: session.key,
  title: session.title,
  source: session.source,
  platform: session.platform,
  chatId: session.chatId,
  threadId: session.threadId,
  userId: session.userId,
  parentId: session.parentId,
  model: session.model,
  startedAt: session.startedAt,
  lastActivityAt: session.lastActivityAt,
  endedAt: session.endedAt,
  endReason: session.endReason,
  messages: session.messageCount,
  unread: session.unread,
  archived: session.archived,
  pinned: session.pinned,
  suspended: session.suspended
})

/** A call of a tool: `preview` is what it is about in a line; absent where nobody knows the tool any more. */
const ToolCallView = Schema.Struct({ ...ToolCallPart.fields, preview: Schema.optional(Schema.String) })

/** A row of a transcript. What a role does not have is null. */
export const MessageView = Schema.Struct({
  id: Schema.Int,
  at: Instant,
  turnId: text,
  role: Schema.Literal("user", "assistant", "tool", "summary"),
  text: Schema.String,
  reasoning: text,
  toolCalls: Schema.Array(ToolCallView),
  finishReason: text,
  callId: text,
  tool: text,
  disposition: text,
  /** What was sent along with it. */
  files: Schema.Array(FileView),
  /** A tool's: what people said while it ran, which the model read with its result; absent where nobody did. */
  told: Schema.optional(Schema.Array(Schema.Struct({ text: Schema.String, messageId: text, at: Instant })))
}).annotations({ identifier: "Message" })
export type MessageView = typeof MessageView.Type

const toolCallView = (call: ToolCallPart, preview: string | undefined) =>
  preview === undefined ? call : { ...call, preview }

export const messageView = (
  { id, at, turnId, message }: StoredMessage,
  files: ReadonlyArray<FileView> = [],
  previewOf: (call: ToolCallPart) => string | undefined = () => undefined
): MessageView => ({
  id,
  files,
  at,
  turnId,
  role: message._tag,
  text: message.text,
  reasoning: message._tag === "assistant" ? message.reasoning : null,
  toolCalls: message._tag === "assistant" ? message.toolCalls.map((call) => toolCallView(call, previewOf(call))) : [],
  finishReason: message._tag === "assistant" ? message.finishReason : null,
  callId: message._tag === "tool" ? message.callId : null,
  tool: message._tag === "tool" ? message.tool : null,
  disposition: message._tag === "tool" ? message.disposition : null
})

/** Whose session it is: the page's (`web`) or a terminal's (`cli`). */
export const Surface = Schema.Literal("web", "cli")
export type Surface = typeof Surface.Type

const absolutePath = Schema.String.pipe(
  Schema.filter((path) => path.startsWith("/") || "an absolute path"),
  Schema.annotations({ description: "The directory that a terminal's turn works in." })
)

export const NewSessionBody = Schema.Struct({
  title: Schema.optional(Schema.NonEmptyString),
  surface: Schema.optionalWith(Surface, { default: () => "web" as const })
})

/** Absent fields stay as they are. */
export const SessionPatch = Schema.Struct({
  title: Schema.optional(Schema.NonEmptyString),
  unread: Schema.optional(Schema.Boolean),
  archived: Schema.optional(Schema.Boolean),
  pinned: Schema.optional(Schema.Boolean)
})

export const ChatBody = Schema.Struct({
  text: Schema.NonEmptyString,
  surface: Schema.optionalWith(Surface, { default: () => "web" as const }),
  /** The client's own id of the message: sent again with the same one, it is taken once. */
  messageId: Schema.optionalWith(Schema.NullOr(Schema.NonEmptyString.pipe(Schema.maxLength(200))), {
    default: () => null
  }),
  /** A tab's return address. */
  uiSessionId: Schema.optionalWith(text, { default: () => null }),
  /** One question and no more: nobody can be asked anything, and nothing arrives later (`hermes chat -q`). */
  once: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  workingDirectory: Schema.optionalWith(Schema.NullOr(absolutePath), { default: () => null }),
  /** Files that were attached before (`POST /api/files`). */
  files: Schema.optionalWith(Schema.Array(Schema.NonEmptyString).pipe(Schema.maxItems(10)), { default: () => [] })
})

/** How the turn of a message ended: `answered`, `interrupted`, `failed`, `suspended`, `command`, `steered` or `dropped`. */
export const ChatResult = Schema.Struct({
  sessionId: Schema.String,
  turnId: Schema.String,
  outcome: Schema.String,
  text: Schema.String,
  usage: Schema.NullOr(ActivityUsage)
}).annotations({ identifier: "ChatResult" })

const Flag = Schema.optional(Schema.BooleanFromString)

const byId = Schema.Struct({ id: PathText })

/** Conversations: their list, their transcripts, and talking in them. */
export const Sessions = HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/api/sessions")
      .setUrlParams(
        Schema.Struct({
          limit: Limit(50, 500),
          before: Schema.optional(Instant),
          beforeId: Schema.optional(Schema.String),
          archived: Flag,
          pinned: Flag,
          runs: Flag
        })
      )
      .addSuccess(Schema.Array(SessionView))
      .annotate(
        OpenApi.Summary,
        "Sessions, newest activity first; those of delegates and archived ones are left out. `runs`: those of jobs' runs alone, or without them"
      )
  )
  .add(
    HttpApiEndpoint.get("search", "/api/sessions/search")
      .setUrlParams(SearchParameters)
      .addSuccess(Schema.Array(SearchHitView))
      .annotate(OpenApi.Summary, "Finds what was said in any session; nothing that can be typed is an error")
  )
  .add(
    HttpApiEndpoint.post("import", "/api/sessions/import")
      .setPayload(ImportBody)
      .addSuccess(ImportResult)
      .annotate(OpenApi.Summary, "Puts an exported session into this home, whole or not at all")
  )
  .add(
    HttpApiEndpoint.post("prune", "/api/sessions/prune")
      .setPayload(PruneBody)
      .addSuccess(PruneResult)
      .annotate(OpenApi.Summary, "Deletes ended sessions without activity for so many days; pinned ones stay")
  )
  .add(
    HttpApiEndpoint.get("export", "/api/sessions/:id/export")
      .setPath(byId)
      .setUrlParams(ExportParameters)
      .addSuccess(SessionPage)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "A session with its rows after a row's id, in the order of their making")
  )
  .add(
    HttpApiEndpoint.post("compress", "/api/sessions/:id/compress")
      .setPath(byId)
      .setPayload(Schema.Struct({ focus: Schema.optional(Schema.NonEmptyString) }))
      .addSuccess(CompressResult)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "Puts a summary in the place of the session's earlier part")
  )
  .add(
    HttpApiEndpoint.post("create", "/api/sessions")
      .annotate(OpenApi.Summary, "Begins a conversation")
      .setPayload(NewSessionBody)
      .addSuccess(SessionView, { status: 201 })
  )
  .add(
    HttpApiEndpoint.get("get", "/api/sessions/:id")
      .annotate(OpenApi.Summary, "One session")
      .setPath(byId)
      .addSuccess(SessionView)
      .addError(NotFound)
  )
  .add(
    HttpApiEndpoint.patch("update", "/api/sessions/:id")
      .setPath(byId)
      .setPayload(SessionPatch)
      .addSuccess(SessionView)
      .addError(NotFound)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Renames a session, archives or pins it, or marks it as read")
  )
  .add(
    HttpApiEndpoint.del("remove", "/api/sessions/:id")
      .setPath(byId)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "Stops what runs there and deletes the session with its transcript")
  )
  .add(
    HttpApiEndpoint.get("messages", "/api/sessions/:id/messages")
      .setPath(byId)
      .setUrlParams(Schema.Struct({ limit: Limit(100, 1_000), before: Schema.optional(Schema.NumberFromString) }))
      .addSuccess(Schema.Array(MessageView))
      .addError(NotFound)
      .annotate(OpenApi.Summary, "A page of the transcript, oldest first: the last rows, or those before a row's id")
  )
  .add(
    HttpApiEndpoint.post("chat", "/api/sessions/:id/chat")
      .setPath(byId)
      .setPayload(ChatBody)
      .addSuccess(ChatResult)
      .addError(NotFound)
      .addError(Conflict)
      .addError(TooMany)
      .annotateContext(
        answersWithEvents(
          "Says something in a session",
          "With `Accept: text/event-stream` the events of the turn as they happen, its delegates' too, up to its " +
            "`turn.ended`; else its result when it has ended. The turn goes on when the connection is lost."
        )
      )
  )
  .add(
    HttpApiEndpoint.get("busy", "/api/sessions/:id/busy")
      .setPath(byId)
      .addSuccess(Schema.Struct({ mode: BusyMode }))
      .addError(NotFound)
      .annotate(OpenApi.Summary, "What a message does there while a turn runs")
  )
  .add(
    HttpApiEndpoint.post("stop", "/api/sessions/:id/stop")
      .setPath(byId)
      .addSuccess(Schema.Struct({ stopped: Schema.Boolean }))
      .addError(NotFound)
      .annotate(OpenApi.Summary, "Ends the running turn and drops what waits; false when nothing ran")
  )
  .middleware(Authentication)
