import type { SqlClient } from "@effect/sql"
import { Effect, Schema } from "effect"
import { Session } from "../../services/session/Session.js"
import type { Owner } from "../../services/session/SessionStore.js"
import * as PromptMemory from "./PromptMemory.js"
import * as Rows from "./Rows.js"

const { fields } = Session

const ToolNames = Schema.parseJson(Schema.Array(Schema.String))

const facts = {
  ...fields,
  hidden: Rows.Flag,
  suspended: Rows.Flag,
  unread: Rows.Flag,
  archived: Rows.Flag,
  pinned: Rows.Flag
}

const Listed = Schema.Struct(facts).pipe(
  Schema.transform(Schema.typeSchema(Session), {
    strict: true,
    decode: (row) => new Session(row, { disableValidation: true }),
    encode: (session) => session
  })
)

/** With the hashes of the prompt and the tools in their places. */
const Hashed = Rows.first(Schema.Struct({ ...facts, toolNames: Schema.NullOr(Schema.String) }))

const columns = (prompt: string, tools: string) =>
  `s.id, s.key, s.title, s.title_source AS titleSource, s.source, s.platform, s.chat_id AS chatId,
  s.chat_type AS chatType, s.thread_id AS threadId, s.user_id AS userId, s.parent_id AS parentId, s.hidden, s.model,
  ${prompt} AS systemPrompt, ${tools} AS toolNames,
  s.started_at AS startedAt, s.last_activity_at AS lastActivityAt, s.ended_at AS endedAt, s.end_reason AS endReason,
  s.suspended, s.message_count AS messageCount, s.unread, s.archived, s.pinned`

const hashed = columns("s.system_prompt_hash", "s.tool_names_hash")
const bare = columns("NULL", "NULL")

/** The sessions, as `sessions AS s`, that an owner may see. */
export const owned = (sql: SqlClient.SqlClient, owner: Owner) =>
  sql`s.hidden = 0 AND s.platform = ${owner.platform} AND s.chat_id IS ${owner.chatId}
    AND (${owner.userId} IS NULL OR s.user_id IS NULL OR s.user_id = ${owner.userId})`

/** The same as text with its values. */
export const ownedBy = ({ chatId, platform, userId }: Owner) => ({
  text: "s.hidden = 0 AND s.platform = ? AND s.chat_id IS ? AND (? IS NULL OR s.user_id IS NULL OR s.user_id = ?)",
  values: [platform, chatId, userId, userId]
})

/**
 * What a query of the table `sessions AS s` selects for {@link many}: null for the prompt and the tools, which are long,
 * and no list shows them.
 */
export const listed = (sql: SqlClient.SqlClient) => sql.literal(bare)

export const many = Rows.all(Listed, "sessions")

const byId = `SELECT ${hashed} FROM sessions AS s WHERE s.id = ?`
const routed = `SELECT ${hashed} FROM routes AS r JOIN sessions AS s ON s.id = r.session_id WHERE r.key = ?`
const lastOpen = `SELECT ${hashed} FROM sessions AS s WHERE s.key = ? AND s.ended_at IS NULL
  ORDER BY s.started_at DESC, s.id DESC LIMIT 1`

/** Sessions one by one, as each turn asks for its own. */
export const make = () => {
  const prompts = PromptMemory.make(Effect.succeed)
  const tools = PromptMemory.make(Schema.decode(ToolNames))

  const one = (statement: string) =>
    Effect.fnUntraced(function* (sql: SqlClient.SqlClient, of: string) {
      const row = yield* Hashed(sql.unsafe(statement, [of]))
      if (row === null) return null
      const systemPrompt = yield* prompts(sql, row.systemPrompt)
      const toolNames = yield* tools(sql, row.toolNames)
      return new Session({ ...row, systemPrompt, toolNames }, { disableValidation: true })
    })

  return {
    byId: one(byId),
    /** The session that the key's route points to, whatever its state. */
    routed: one(routed),
    /** The last open session of a key whose route is lost (gateway.md 2.3, recover). */
    lastOpen: one(lastOpen)
  }
}

/** Points the key to a session. */
export const route = (sql: SqlClient.SqlClient, key: string, id: string, at: number) =>
  Effect.asVoid(sql`INSERT INTO routes (key, session_id, updated_at) VALUES (${key}, ${id}, ${at})
    ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, updated_at = excluded.updated_at`)
