import type { SqlClient } from "@effect/sql"
import { Clock, Effect, Layer, Schema } from "effect"
import { ChannelDirectory, type NamedTopic } from "../../services/adapter/ChannelDirectory.js"
import { bare } from "../../services/delivery/Target.js"
import { Millis } from "../../services/operation/Instant.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const Row = Schema.Struct({
  platform: Schema.String,
  chatId: Schema.String,
  threadId: Schema.NullOr(Schema.String),
  name: Schema.NullOr(Schema.String),
  type: Schema.String,
  lastSeenAt: Millis
})
const many = Rows.all(Row, "channels")
const oneTopic = Rows.first(Schema.Struct({ threadId: Schema.String }))

const columns = `platform, chat_id AS chatId, nullif(thread_id, '') AS threadId, name, type, last_seen_at AS lastSeenAt`

/** Its conversations are chats under their titles, also before anybody has said anything in them. */
const page = "web"

const conversations = (sql: SqlClient.SqlClient, limit: number) =>
  sql`SELECT * FROM (
    SELECT ${page} AS platform, chat_id AS chatId, NULL AS threadId, title AS name, 'dm' AS type, max(last_activity_at) AS lastSeenAt
    FROM sessions WHERE platform = ${page} AND chat_id IS NOT NULL AND hidden = 0 AND archived = 0 AND ended_at IS NULL
    GROUP BY chat_id ORDER BY lastSeenAt DESC, chat_id LIMIT ${limit})`

/** More names than this with one beginning are several, whichever they are. */
const beginnings = 50

/** The chats that the inbox has met, and the conversations of the page, newest first. */
export const layer = Layer.effect(
  ChannelDirectory,
  Effect.map(Database, (database) =>
    ChannelDirectory.of({
      list: Effect.fn("ChannelDirectory.list")((platforms: ReadonlyArray<string> | null, limit: number) =>
        platforms?.length === 0
          ? Effect.succeed([])
          : database.read("channels.list", (sql) =>
              many(sql`SELECT platform, chatId, threadId, name, type, lastSeenAt FROM (
                  SELECT ${sql.literal(columns)} FROM channels
                  WHERE ${platforms === null ? sql`1` : sql.in("platform", platforms)} AND platform <> ${page}
                  ORDER BY last_seen_at DESC, chat_id LIMIT ${limit})
                ${platforms === null || platforms.includes(page) ? sql`UNION ALL ${conversations(sql, limit)}` : sql``}
                ORDER BY lastSeenAt DESC, chatId LIMIT ${limit}`)
            )
      ),
      candidates: Effect.fn("ChannelDirectory.candidates")((platform: string, reference: string) => {
        const name = bare(reference)
        const [chatId] = reference.split(":")
        const [group] = reference.split("/").map(bare)
        return database.read("channels.candidates", (sql) =>
          // UNION would have each part in the order of chat_id, and for that read every chat of the platform.
          many(sql`SELECT ${sql.literal(columns)} FROM channels WHERE platform = ${platform} AND chat_id IN (
              SELECT ${reference} UNION ALL SELECT ${chatId} UNION ALL
              SELECT chat_id FROM channels WHERE platform = ${platform} AND spoken_name IN (${name}, ${group}) UNION ALL
              SELECT chat_id FROM (SELECT chat_id FROM channels
                WHERE platform = ${platform} AND spoken_name >= ${name} AND spoken_name < ${name + "\u{10ffff}"}
                LIMIT ${beginnings}))
            ORDER BY last_seen_at DESC, chat_id`)
        )
      }),
      topic: Effect.fn("ChannelDirectory.topic")(({ chatId, name, platform }: Omit<NamedTopic, "threadId">) =>
        database.read("channels.topic", (sql) =>
          Effect.map(
            oneTopic(sql`SELECT thread_id AS threadId FROM channels
              WHERE platform = ${platform} AND chat_id = ${chatId} AND spoken_name = ${bare(name)} AND type = 'topic'`),
            (row) => row?.threadId ?? null
          )
        )
      ),
      rememberTopic: Effect.fn("ChannelDirectory.rememberTopic")(({ chatId, name, platform, threadId }: NamedTopic) =>
        database.write(
          "channels.rememberTopic",
          Effect.gen(function* () {
            const sql = yield* Transaction
            const now = yield* Clock.currentTimeMillis
            yield* sql`DELETE FROM channels
              WHERE platform = ${platform} AND chat_id = ${chatId} AND spoken_name = ${bare(name)} AND type = 'topic'`
            yield* sql`INSERT OR REPLACE INTO channels (platform, chat_id, thread_id, name, spoken_name, type, last_seen_at)
              VALUES (${platform}, ${chatId}, ${threadId}, ${name}, ${bare(name)}, 'topic', ${now})`
          })
        )
      )
    })
  )
)
