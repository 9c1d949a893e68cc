import { Clock, Effect, Layer, Schema } from "effect"
import { type Address, address } from "../../fibers/DeliveryOrigin.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import { Settings } from "../../services/operation/Settings.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const Row = Schema.Struct({
  platform: Schema.String,
  chatId: Schema.String,
  threadId: Schema.NullOr(Schema.String),
  scopeId: Schema.NullOr(Schema.String)
})
const many = Rows.all(Row, "home_channels")
const one = Rows.first(Row)

const columns = `platform, chat_id AS chatId, thread_id AS threadId, scope_id AS scopeId`

/** Home channels in SQLite; a platform without a row has the one of the configuration. */
export const layer = Layer.effect(
  HomeChannels,
  Effect.gen(function* () {
    const database = yield* Database
    const settings = yield* Settings

    const configured = new Map<string, Address>()
    const telegram = settings.telegram.homeChannel
    if (telegram !== null) configured.set("telegram", address({ platform: "telegram", ...telegram }))

    return HomeChannels.of({
      get: Effect.fn("HomeChannels.get")((platform: string) =>
        Effect.map(
          database.read("home.get", (sql) =>
            one(sql`SELECT ${sql.literal(columns)} FROM home_channels WHERE platform = ${platform}`)
          ),
          (row) => (row === null ? (configured.get(platform) ?? null) : address(row))
        )
      ),
      set: Effect.fn("HomeChannels.set")((home: Address) =>
        database.write(
          "home.set",
          Effect.gen(function* () {
            const sql = yield* Transaction
            yield* sql`INSERT INTO home_channels (platform, chat_id, thread_id, scope_id, set_at)
              VALUES (${home.platform}, ${home.chatId}, ${home.threadId}, ${home.scopeId}, ${yield* Clock.currentTimeMillis})
              ON CONFLICT (platform) DO UPDATE SET chat_id = excluded.chat_id, thread_id = excluded.thread_id,
                scope_id = excluded.scope_id, set_at = excluded.set_at`
          })
        )
      ),
      all: Effect.map(
        database.read("home.all", (sql) =>
          many(sql`SELECT ${sql.literal(columns)} FROM home_channels ORDER BY platform`)
        ),
        (rows) => {
          const set = new Map(configured)
          for (const row of rows) set.set(row.platform, address(row))
          return [...set.values()]
        }
      )
    })
  })
)
