import { SqlClient } from "@effect/sql"
import { Effect, Schema } from "effect"
import { bare } from "../../../services/delivery/Target.js"
import * as Rows from "../Rows.js"

const Named = Rows.whole(Schema.Struct({ name: Schema.String }))

/** A chat's name as people say it, so that a name is found among many without reading them all. */
export const channelNames = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("ALTER TABLE channels ADD COLUMN spoken_name TEXT")
  for (const { name } of yield* Named(sql`SELECT DISTINCT name FROM channels WHERE name IS NOT NULL`))
    yield* sql`UPDATE channels SET spoken_name = ${bare(name)} WHERE name = ${name}`
  yield* sql.unsafe("CREATE INDEX channels_name ON channels (platform, spoken_name) WHERE spoken_name IS NOT NULL")
})
