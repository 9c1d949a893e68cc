import Sqlite from "better-sqlite3"
import { Effect, Schema } from "effect"
import { GatewayAddress } from "../../services/operation/GatewayAddress.js"

/** As JSON, the file that this database is in: a copied home holds the address of the gateway that it was copied from. */
export const place = "json_quote((SELECT file FROM pragma_database_list WHERE name = 'main'))"
export const placeName = "gateway.place"

/** The address of the gateway that has this very home, at most one row. */
export const statement = `SELECT pid, url, version, state, started_at AS startedAt FROM gateway WHERE one = 1
  AND (SELECT value FROM meta WHERE key = '${placeName}') = ${place}`

/** Why a glance saw nothing: whoever opens the database as it should be opened is told. */
export class Unseen extends Schema.TaggedError<Unseen>()("Unseen", { detail: Schema.String }) {}

const decode = Schema.decodeUnknownSync(Schema.Array(GatewayAddress))

/**
 * The address that a gateway left in a database; null without one. Read by the driver alone: all that belongs to a
 * database takes longer to load than a short command's own work. It changes nothing and waits for nobody.
 *
 * @param file - the path of the database
 * @returns fails with `Unseen` where the file cannot be read so: it is locked, damaged, or has no such table.
 */
export const glance = (file: string): Effect.Effect<GatewayAddress | null, Unseen> =>
  Effect.try({
    try: () => {
      const database = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: 0 })
      try {
        return decode(database.prepare(statement).all())[0] ?? null
      } finally {
        database.close()
      }
    },
    catch: (error) => new Unseen({ detail: error instanceof Error ? error.message : String(error) })
  })
