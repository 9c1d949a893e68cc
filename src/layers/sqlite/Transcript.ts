import type { SqlClient } from "@effect/sql"
import { Clock, Effect, Layer, type ParseResult, Schema } from "effect"
import type { SessionId } from "../../services/session/Session.js"
import {
  type LiveRows,
  liveRows,
  type Appended,
  type Message,
  NothingToRewind,
  Picture,
  SessionCompacting,
  type StoredMessage,
  storedMessage,
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
  at: Rows.Shown,
  turnId: Schema.NullOr(Schema.String),
  text: Schema.String
}

/** The outcome of a row in a person's role that no person said. */
const mirrored = "mirrored"

const Pictures = Schema.parseJson(Schema.Array(Picture))
const encodePictures = Schema.encode(Pictures)

const Row = Schema.Union(
  Schema.Struct({
    ...common,
    role: Schema.Literal("user"),
    platformMessageId: Schema.NullOr(Schema.String),
    media: Schema.NullOr(Pictures),
    outcome: Schema.NullOr(Schema.String)
  }),
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
      return {
        _tag: "user",
        text: row.text,
        platformMessageId: row.platformMessageId,
        ...(row.media === null ? {} : { media: row.media }),
        ...(row.outcome === mirrored ? { mirrored: true } : {})
      }
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

const storedOf = (row: typeof Row.Type): StoredMessage =>
  storedMessage({ id: row.id, position: row.position, at: row.at, turnId: row.turnId, message: messageOf(row) })

const decode = Rows.whole(Row)
const decodeLive = Rows.whole(Schema.extend(Row, Schema.Struct({ revision: Schema.Number })))

const nothing = liveRows([])

/**
 * Rows come in the order of their ids; a summary stands where the rows were that it is about. What came later than those
 * that are in their places comes behind them, as long as none of it is a summary.
 */
const withFresh = (placed: LiveRows, fresh: ReadonlyArray<StoredMessage>): LiveRows => {
  const rows = placed.rows.concat(fresh)
  if (fresh.some((row) => row.position !== row.id))
    return liveRows(rows.sort((a, b) => a.position - b.position || a.id - b.id))
  const added = liveRows(fresh)
  return { rows, read: placed.read.concat(added.read), tokens: placed.tokens + added.tokens }
}

const columns = `id, coalesce(position, id) AS position, at, turn_id AS turnId, role, text, reasoning, tool_calls AS toolCalls, tool_call_id AS toolCallId,
  tool_name AS toolName, outcome, platform_message_id AS platformMessageId, media`

/** Live rows from an id on, each with the revision of them all. */
const liveFrom = `SELECT coalesce((SELECT transcript_revision FROM sessions WHERE id = ?), 0) AS revision, ${columns}
  FROM messages WHERE session_id = ? AND active = 1 AND id >= ? ORDER BY id`

const insertMessage = `INSERT INTO messages (session_id, turn_id, at, role, text, reasoning, tool_calls, tool_call_id, tool_name,
  outcome, platform_message_id, media) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const touchSession = `UPDATE sessions SET message_count = message_count + ?, last_activity_at = ?, archived = 0 WHERE id = ?`

type Own = readonly [
  reasoning: string | null,
  toolCalls: string | null,
  toolCallId: string | null,
  toolName: string | null,
  outcome: string | null,
  platformMessageId: string | null,
  media: string | null
]

/** The columns that a message has of its own; the others are null. */
const ownOf = (message: Message): Effect.Effect<Own, ParseResult.ParseError> => {
  switch (message._tag) {
    case "user": {
      const own = (pictures: string | null): Own => [
        null,
        null,
        null,
        null,
        message.mirrored === true ? mirrored : null,
        message.platformMessageId,
        pictures
      ]
      return message.media === undefined || message.media.length === 0
        ? Effect.succeed(own(null))
        : Effect.map(encodePictures(message.media), own)
    }
    case "assistant": {
      const own = (calls: string | null): Own => [
        message.reasoning,
        calls,
        null,
        null,
        message.finishReason,
        null,
        null
      ]
      return message.toolCalls.length === 0
        ? Effect.succeed(own(null))
        : Effect.map(encodeCalls(message.toolCalls), own)
    }
    case "tool":
      return Effect.succeed([null, null, message.callId, message.tool, message.disposition, null, null])
  }
}

const Persons = Rows.whole(
  Schema.Struct({ position: Schema.Number, text: Schema.String, media: Schema.NullOr(Pictures) })
)

/**
 * The newest live messages of persons that no summary has taken in. What came into the conversation by itself is a row of
 * the same role, and so is what was said in its chat by others, which no turn wrote.
 */
const personsOf = (sql: SqlClient.SqlClient, sessionId: string, limit: number) =>
  Effect.gen(function* () {
    const live = sql`session_id = ${sessionId} AND active = 1`
    const [summary] = yield* Persons(sql`SELECT coalesce(position, id) AS position, text, NULL AS media FROM messages
      WHERE ${live} AND role = 'summary' ORDER BY 1 DESC LIMIT 1`)
    return yield* Persons(sql`SELECT id AS position, text, media FROM messages AS m
      WHERE ${live} AND role = 'user' AND id > ${summary?.position ?? 0} AND outcome IS NOT ${mirrored}
        AND NOT EXISTS (SELECT 1 FROM turns AS t JOIN inbound_events AS e ON e.id = t.inbox_id
          WHERE t.id = m.turn_id AND e.event ->> 'internal' IS NOT NULL)
      ORDER BY id DESC LIMIT ${limit}`)
  })

const make = Effect.gen(function* () {
  const database = yield* Database
  const memory = makeTranscriptMemory()

  const live = (sessionId: SessionId) =>
    database.glance("transcript.load", (sql) => {
      const from = (id: number) => decodeLive(sql.unsafe(liveFrom, [sessionId, sessionId, id]))
      const kept = (known: Remembered | null, revision: number, found: ReadonlyArray<typeof Row.Type>): LiveRows => {
        const fresh = found.map(storedOf)
        const all = withFresh(known ?? nothing, fresh)
        memory.keep(sessionId, revision, all, known, fresh)
        return all
      }
      const anew = Effect.map(from(0), (found) => kept(null, found[0]?.revision ?? 0, found))
      const known = memory.get(sessionId)
      if (known === null) return anew
      return Effect.flatMap(from(known.lastId), ([newest, ...fresh]) =>
        newest?.id === known.lastId && newest.revision === known.revision
          ? Effect.succeed(kept(known, known.revision, fresh))
          : anew
      )
    })

  return Transcript.of({
    append: Effect.fnUntraced(function* (sessionId, turnId, messages) {
      const stored: Array<Appended> = []
      if (messages.length === 0) return stored
      const sql = yield* Transaction
      const at = yield* Clock.currentTimeMillis
      for (const message of messages) {
        const own = yield* ownOf(message)
        const values = [sessionId, turnId, at, message._tag, message.text, ...own]
        stored.push({ id: yield* Rows.insertedId(sql.unsafe(insertMessage, values)), at })
      }
      yield* sql.unsafe(touchSession, [messages.length, at, sessionId])
      return stored
    }),
    rewind: (sessionId, turns) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const now = yield* Clock.currentTimeMillis
        if (yield* isLeased(sql, sessionId, now)) return yield* new SessionCompacting({ sessionId })
        const from = (yield* personsOf(sql, sessionId, Math.max(1, turns))).at(-1)
        if (from === undefined) return yield* new NothingToRewind({ sessionId })
        const gone = yield* sql`UPDATE messages SET active = 0
          WHERE session_id = ${sessionId} AND active = 1 AND coalesce(position, id) >= ${from.position} RETURNING id`
        yield* sql`UPDATE sessions SET message_count = max(0, message_count - ${gone.length}), last_activity_at = ${now}
          WHERE id = ${sessionId}`
        return { text: from.text, media: from.media ?? [], rows: gone.length }
      }),
    canRewind: (sessionId) =>
      database.read("transcript.rewindable", (sql) =>
        Effect.map(personsOf(sql, sessionId, 1), (persons) => persons.length > 0)
      ),
    load: (sessionId) => Effect.map(live(sessionId), ({ rows }) => rows),
    live,
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
