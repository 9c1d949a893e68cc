import { Effect, Layer, Schema } from "effect"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import { Database } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const Row = Schema.Struct({
  platform: Schema.String,
  chatId: Schema.String,
  threadId: Schema.NullOr(Schema.String),
  name: Schema.NullOr(Schema.String),
  type: Schema.String,
  lastSeenAt: Schema.Number
})
const many = Rows.all(Row)

const columns = `platform, chat_id AS chatId, nullif(thread_id, '') AS threadId, name, type, last_seen_at AS lastSeenAt`

/** The chats that the inbox has met, newest first. */
export const layer = Layer.effect(
  ChannelDirectory,
  Effect.map(Database, (database) =>
    ChannelDirectory.of({
      list: Effect.fn("ChannelDirectory.list")((platform: string | null) =>
        database.read("channels.list", (sql) =>
          many(sql`SELECT ${sql.literal(columns)} FROM channels
            WHERE ${platform === null ? sql`1` : sql`platform = ${platform}`} ORDER BY last_seen_at DESC, chat_id`)
        )
      )
    })
  )
)
