import { Effect, Layer, Schema } from "effect"
import { Inventory } from "../../services/operation/Inventory.js"
import { Database } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const counts = Rows.all(Schema.Struct({ state: Schema.String, count: Schema.Int }), "deliveries or jobs")
const size = Rows.first(Schema.Struct({ bytes: Schema.Int }))

/** Counted in SQLite. */
export const layer = Layer.effect(
  Inventory,
  Effect.map(Database, (database) =>
    Inventory.of({
      stock: database.read("inventory.stock", (sql) =>
        Effect.all({
          deliveries: counts(sql`SELECT state, count(*) AS count FROM deliveries
            WHERE state IN ('pending', 'sending', 'unknown') GROUP BY state ORDER BY state`),
          jobs: counts(
            sql`SELECT state, count(*) AS count FROM jobs WHERE removed_at IS NULL GROUP BY state ORDER BY state`
          ),
          databaseBytes: Effect.map(
            size(sql`SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()`),
            (found) => found?.bytes ?? 0
          )
        })
      )
    })
  )
)
