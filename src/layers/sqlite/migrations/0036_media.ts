import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Messages carry files: a part's, and a person's pictures. Both are JSON, null for nearly all. */
export const media = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE deliveries ADD COLUMN media TEXT")
  yield* sql.unsafe("CREATE INDEX deliveries_media ON deliveries (transcript_id) WHERE media IS NOT NULL")
  yield* sql.unsafe("CREATE INDEX deliveries_media_shown ON deliveries (platform_message_id) WHERE media IS NOT NULL")
  yield* sql.unsafe("ALTER TABLE messages ADD COLUMN media TEXT")
})
