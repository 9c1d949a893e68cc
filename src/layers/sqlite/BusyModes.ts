import { Effect, Layer, Schema } from "effect"
import { BusyModes } from "../../services/conversation/BusyModes.js"
import { BusyMode, Settings } from "../../services/operation/Settings.js"
import { Database } from "../../services/state/Database.js"
import * as Meta from "./Meta.js"
import * as Rows from "./Rows.js"

const prefix = "busy_mode."

const rows = Rows.all(Schema.Struct({ key: Schema.String, value: Schema.parseJson(BusyMode) }), "meta")

/** Choices as facts of the database, all of them in memory: few people choose, and every message asks. */
export const layer = Layer.effect(
  BusyModes,
  Effect.gen(function* () {
    const database = yield* Database
    const { conversation } = yield* Settings
    const stored = yield* database.read("busy.modes", (sql) =>
      rows(sql`SELECT key, value FROM meta WHERE substr(key, 1, ${prefix.length}) = ${prefix}`)
    )
    const chosen = new Map(stored.map(({ key, value }) => [key.slice(prefix.length), value]))
    return BusyModes.of({
      of: (key) => Effect.sync(() => chosen.get(key) ?? conversation.busyMode),
      choose: (key, mode) =>
        Effect.tap(database.write("busy.choose", Meta.fact(`${prefix}${key}`, BusyMode).put(mode)), () =>
          Effect.sync(() => chosen.set(key, mode))
        )
    })
  })
)
