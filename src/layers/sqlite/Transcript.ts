import { Clock, Effect, Layer, Schema } from "effect"
import type { SessionId } from "../../services/session/Session.js"
import {
  type Message,
  NothingToRewind,
  SessionCompacting,
  type StoredMessage,
  ToolCallPart,
  Transcript
} from "../../services/session/Transcript.js"
import { Database, Transaction } from "../../services/state/Database.js"
import { isLeased } from "./CompactionStore.js"
import * as Rows from "./Rows.js"
import { makeTranscriptMemory, type Remembered } from "./TranscriptMemory.js"

const Calls = Schema.parseJson(Schema.Array(ToolCallPart))
const encodeCalls = Schema.encode(Calls)

const common = {
  id: Schema.Number,
  position: Schema.Number,
  at: Schema.Number,
  turnId: Schema.NullOr(Schema.String),
  text: Schema.String
}

const Row = Schema.Union(
  Schema.Struct({ ...common, role: Schema.Literal("user"), platformMessageId: Schema.NullOr(Schema.String) }),
  Schema.Struct({
    ...common,
    role: Schema.Literal("assistant"),
    reasoning: Schema.NullOr(Schema.String),
    toolCalls: Schema.NullOr(Calls),
    outcome: Schema.String
  }),
  Schema.Struct({
    ...common,
    role: Schema.Literal("tool"),
    toolCallId: Schema.String,
    toolName: Schema.String,
    outcome: Schema.String
  }),
  Schema.Struct({ ...common, role: Schema.Literal("summary") })
)

const messageOf = (row: typeof Row.Type): StoredMessage["message"] => {
  switch (row.role) {
    case "user":
      return { _tag: "user", text: row.text, platformMessageId: row.platformMessageId }
    case "assistant":
      return {
        _tag: "assistant",
        text: row.text,
        reasoning: row.reasoning,
        toolCalls: row.toolCalls ?? [],
        finishReason: row.outcome
      }
    case "tool":
      return { _tag: "tool", callId: row.toolCallId, tool: row.toolName, text: row.text, disposition: row.outcome }
    case "summary":
      return { _tag: "summary", text: row.text }
  }
}

const storedOf = (row: typeof Row.Type): StoredMessage => ({
  id: row.id,
  position: row.position,
  at: row.at,
  turnId: row.turnId,
  message: messageOf(row)
})

const decode = Rows.all(Row)

/** Rows come in the order of their ids; a summary stands where the rows were that it is about. */
const inPlace = (rows: ReadonlyArray<StoredMessage>): ReadonlyArray<StoredMessage> =>
  rows.some((row) => row.position !== row.id) ? rows.toSorted((a, b) => a.position - b.position || a.id - b.id) : rows

const columns = `id, coalesce(position, id) AS position, at, turn_id AS turnId, role, text, reasoning, tool_calls AS toolCalls, tool_call_id AS toolCallId,
  tool_name AS toolName, outcome, platform_message_id AS platformMessageId`

/** The columns that a message has of its own; the others are null. */
const valuesOf = (message: Message) =>
  Effect.gen(function* () {
    const none = { reasoning: null, tool_calls: null, tool_call_id: null, tool_name: null, outcome: null }
    const values = { role: message._tag, text: message.text, ...none, platform_message_id: null }
    switch (message._tag) {
      case "user":
        return { ...values, platform_message_id: message.platformMessageId }
      case "assistant":
        return {
          ...values,
          reasoning: message.reasoning,
          tool_calls: message.toolCalls.length === 0 ? null : yield* encodeCalls(message.toolCalls),
          outcome: message.finishReason
        }
      case "tool":
        return { ...values, tool_call_id: message.callId, tool_name: message.tool, outcome: message.disposition }
    }
  })

const Standing = Rows.first(Schema.Struct({ count: Schema.Number, sum: Schema.Number }))

const Persons = Rows.all(Schema.Struct({ position: Schema.Number, text: Schema.String }))

const Inserted = Rows.all(Schema.Struct({ id: Schema.Number }))

const make = Effect.gen(function* () {
  const database = yield* Database
  const memory = makeTranscriptMemory()
  return Transcript.of({
    append: (sessionId, turnId, messages) =>
      Effect.gen(function* () {
        if (messages.length === 0) return []
        const sql = yield* Transaction
        const at = yield* Clock.currentTimeMillis
        const rows = yield* Effect.forEach(messages, (message) =>
          Effect.map(valuesOf(message), (values) => ({ session_id: sessionId, turn_id: turnId, at, ...values }))
        )
        const inserted = yield* Rows.inserted(rows, (some) =>
          Inserted(sql`INSERT INTO messages ${sql.insert(some)} RETURNING id`)
        )
        yield* sql`UPDATE sessions SET message_count = message_count + ${messages.length}, last_activity_at = ${at}, archived = 0
          WHERE id = ${sessionId}`
        // Ids grow in the order of the values, and the rows of RETURNING come in any.
        return inserted.map((row) => row.id).toSorted((a, b) => a - b)
      }),
    rewind: (sessionId, turns) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const now = yield* Clock.currentTimeMillis
        if (yield* isLeased(sql, sessionId, now)) return yield* new SessionCompacting({ sessionId })
        const live = sql`session_id = ${sessionId} AND active = 1`
        const [summary] = yield* Persons(sql`SELECT coalesce(position, id) AS position, text FROM messages
          WHERE ${live} AND role = 'summary' ORDER BY 1 DESC LIMIT 1`)
        const persons = yield* Persons(sql`SELECT id AS position, text FROM messages
          WHERE ${live} AND role = 'user' AND id > ${summary?.position ?? 0} ORDER BY id DESC LIMIT ${Math.max(1, turns)}`)
        const from = persons.at(-1)
        if (from === undefined) return yield* new NothingToRewind({ sessionId })
        const gone = yield* sql`UPDATE messages SET active = 0
          WHERE ${live} AND coalesce(position, id) >= ${from.position} RETURNING id`
        yield* sql`UPDATE sessions SET message_count = max(0, message_count - ${gone.length}), last_activity_at = ${now}
          WHERE id = ${sessionId}`
        return { text: from.text, rows: gone.length }
      }),
    load: (sessionId: SessionId) =>
      database.read("transcript.load", (sql) => {
        /** Live rows after `id`. */
        const after = (id: number) =>
          Effect.map(
            decode(sql`SELECT ${sql.literal(columns)} FROM messages
              WHERE session_id = ${sessionId} AND active = 1 AND id > ${id} ORDER BY id`),
            (rows) => rows.map(storedOf)
          )
        const stands = ({ count, lastId, sum }: Remembered) =>
          Effect.map(
            Standing(sql`SELECT count(*) AS count, total(id) AS sum FROM messages
              WHERE session_id = ${sessionId} AND active = 1 AND id <= ${lastId}`),
            (now) => now !== null && now.count === count && now.sum === sum
          )
        const known = memory.get(sessionId)
        const rows =
          known === null
            ? after(0)
            : Effect.flatMap(stands(known), (same) =>
                same ? Effect.map(after(known.lastId), (fresh) => known.rows.concat(fresh)) : after(0)
              )
        return Effect.tap(Effect.map(rows, inPlace), (all) => Effect.sync(() => memory.keep(sessionId, all)))
      }),
    page: Effect.fn("Transcript.page")(
      (
        sessionId: SessionId,
        options: { readonly limit: number; readonly beforeId?: number; readonly afterId?: number }
      ) =>
        database.read("transcript.page", (sql) =>
          Effect.map(
            decode(sql`SELECT ${sql.literal(columns)} FROM messages
              WHERE session_id = ${sessionId} AND (active = 1 OR (compacted = 1 AND role <> 'summary'))
                AND ${options.beforeId === undefined ? sql`1` : sql`id < ${options.beforeId}`}
                AND ${options.afterId === undefined ? sql`1` : sql`id > ${options.afterId}`}
              ORDER BY id ${sql.literal(options.afterId === undefined ? "DESC" : "ASC")} LIMIT ${options.limit}`),
            (rows) => (options.afterId === undefined ? rows.toReversed() : rows).map(storedOf)
          )
        )
    )
  })
})

/** Transcripts in SQLite. */
export const layer = Layer.effect(Transcript, make)
