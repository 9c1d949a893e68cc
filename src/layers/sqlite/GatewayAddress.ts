import { Effect, Layer } from "effect"
import { GatewayAddress, GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { Database, Transaction } from "../../services/state/Database.js"
import { place, placeName, statement } from "./PublishedAddress.js"
import * as Rows from "./Rows.js"

const one = Rows.first(GatewayAddress)

/** The gateway's address as the one row of its table; none of a gateway that has another home. */
export const layer = Layer.effect(
  GatewayAddresses,
  Effect.map(Database, (database) => {
    /** What this process has published is there until it takes it away: nobody else has the home meanwhile. */
    let own: GatewayAddress | null = null
    const read = database.read("gateway.current", (sql) => one(sql.unsafe(statement)))
    return GatewayAddresses.of({
      publish: Effect.fn("GatewayAddresses.publish")((address: GatewayAddress) =>
        Effect.map(
          database.write(
            "gateway.publish",
            Effect.gen(function* () {
              const sql = yield* Transaction
              yield* sql`INSERT INTO gateway (one, pid, url, version, state, started_at)
                VALUES (1, ${address.pid}, ${address.url}, ${address.version}, ${address.state}, ${address.startedAt})
                ON CONFLICT (one) DO UPDATE SET pid = excluded.pid, url = excluded.url, version = excluded.version,
                  state = excluded.state, started_at = excluded.started_at`
              yield* sql`INSERT INTO meta (key, value) VALUES (${placeName}, ${sql.literal(place)})
                ON CONFLICT (key) DO UPDATE SET value = excluded.value`
            })
          ),
          () => {
            own = address
          }
        )
      ),
      withdraw: Effect.fn("GatewayAddresses.withdraw")((pid: number) =>
        Effect.suspend(() => {
          own = null
          return database.write(
            "gateway.withdraw",
            Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`DELETE FROM gateway WHERE pid = ${pid}`))
          )
        })
      ),
      current: Effect.suspend(() => (own === null ? read : Effect.succeed(own)))
    })
  })
)
