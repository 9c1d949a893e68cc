import { Effect, Layer, Schema } from "effect"
import { type ArchivedMessage, SessionArchive, type SessionDocument } from "../../services/session/SessionArchive.js"
import { SessionNotFound } from "../../services/session/SessionStore.js"
import { ToolCallPart } from "../../services/session/Transcript.js"
import * as TitleText from "../../services/session/TitleText.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"
import * as SessionRows from "./SessionRows.js"
import * as SessionTitles from "./SessionTitles.js"

const text = Schema.NullOr(Schema.String)
const Calls = Schema.parseJson(Schema.Array(ToolCallPart))
const encodeCalls = Schema.encode(Calls)

const Stored = Rows.whole(
  Schema.Struct({
    id: Schema.Number,
    position: Schema.NullOr(Schema.Number),
    at: Rows.Shown,
    live: Rows.Flag,
    role: Schema.Literal("user", "assistant", "tool", "summary"),
    text: Schema.String,
    reasoning: text,
    toolCalls: Schema.NullOr(Calls),
    callId: text,
    tool: text,
    outcome: text
  })
)

const Inserted = Rows.first(Schema.Struct({ id: Schema.Number }))

const make = Effect.gen(function* () {
  const database = yield* Database
  const sessions = SessionRows.make()

  const read = Effect.fn("SessionArchive.read")(
    (id: string, page: { readonly after: number; readonly limit: number }) =>
      database.read("archive.read", (sql) =>
        Effect.gen(function* () {
          const session = yield* sessions.byId(sql, id)
          if (session === null) return yield* new SessionNotFound({ reference: id })
          const rows = yield* Stored(sql`SELECT id, position, at, active AS live, role, text, reasoning,
            tool_calls AS toolCalls, tool_call_id AS callId, tool_name AS tool, outcome
          FROM messages WHERE session_id = ${id} AND id > ${page.after}
            AND (active = 1 OR (compacted = 1 AND role <> 'summary'))
          ORDER BY id LIMIT ${page.limit}`)
          const { key: _, hidden: __, ...facts } = session
          return {
            session: facts,
            messages: rows.map(({ outcome, toolCalls, ...row }): ArchivedMessage => ({
              ...row,
              toolCalls: toolCalls ?? [],
              finishReason: row.role === "assistant" ? outcome : null,
              disposition: row.role === "tool" ? outcome : null
            }))
          } satisfies SessionDocument
        })
      )
  )

  /** Rows get ids of their own, in the same order; a summary stands in the place of the same row as before. */
  const insert = (sessionId: string, messages: ReadonlyArray<ArchivedMessage>) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const ids = new Map<number, number>()
      for (const message of messages.toSorted((a, b) => a.id - b.id)) {
        const stored = yield* Inserted(
          sql`INSERT INTO messages ${sql.insert({
            session_id: sessionId,
            at: message.at,
            role: message.role,
            text: message.text,
            reasoning: message.reasoning,
            tool_calls: message.toolCalls.length === 0 ? null : yield* encodeCalls(message.toolCalls),
            tool_call_id: message.role === "tool" ? (message.callId ?? "") : null,
            tool_name: message.role === "tool" ? (message.tool ?? "unknown") : null,
            outcome:
              message.role === "assistant"
                ? (message.finishReason ?? "stop")
                : message.role === "tool"
                  ? (message.disposition ?? "unknown")
                  : null,
            active: Rows.flag(message.live),
            compacted: Rows.flag(!message.live),
            position: message.position === null ? null : (ids.get(message.position) ?? null)
          })} RETURNING id`
        )
        ids.set(message.id, stored?.id ?? 0)
      }
    })

  const write = Effect.fn("SessionArchive.write")(({ messages, session }: SessionDocument) =>
    database.write(
      "archive.write",
      Effect.gen(function* () {
        const sql = yield* Transaction
        const there = yield* sql`SELECT 1 FROM sessions WHERE id = ${session.id}`
        if (there.length > 0) return "present" as const
        const title = TitleText.clean(session.title ?? "")
        const free = title === "" ? null : yield* SessionTitles.free(title, session.id)
        yield* sql`INSERT INTO sessions ${sql.insert({
          id: session.id,
          title: free,
          title_source: free === null ? null : (session.titleSource ?? "user"),
          source: session.source,
          platform: session.platform,
          chat_id: session.chatId,
          chat_type: session.chatType,
          thread_id: session.threadId,
          user_id: session.userId,
          model: session.model,
          started_at: session.startedAt,
          last_activity_at: session.lastActivityAt,
          ended_at: session.endedAt ?? session.lastActivityAt,
          end_reason: session.endReason ?? "imported",
          message_count: messages.filter((message) => message.role !== "summary").length,
          archived: Rows.flag(session.archived),
          pinned: Rows.flag(session.pinned)
        })}`
        yield* insert(session.id, messages)
        return "imported" as const
      }),
      "transcript"
    )
  )

  return SessionArchive.of({ read, write })
})

/** Sessions out of SQLite and into it. */
export const layer: Layer.Layer<SessionArchive, never, Database> = Layer.effect(SessionArchive, make)
