/** The database of the home, as its settings want it. */
import { Effect, Layer } from "effect"
import * as Database from "../layers/sqlite/Database.js"
import * as DatabaseRegistry from "../layers/sqlite/DatabaseRegistry.js"
import { Home } from "../services/operation/Home.js"
import { Settings } from "../services/operation/Settings.js"

/** For what nobody waits for: long enough to meet the next message's commit where they come fast. */
const lingerMillis = 5

const options = Effect.gen(function* () {
  const home = yield* Home
  const { database } = yield* Settings
  return { file: home.database, journalMode: database.journalMode }
})

/** For a program that stays: the one of its process. */
export const shared = Layer.unwrapEffect(
  Effect.map(options, (wanted) => DatabaseRegistry.shared({ ...wanted, lingerMillis }))
).pipe(Layer.provideMerge(DatabaseRegistry.layer))

/** For a command that does one thing and ends. */
export const direct = Layer.unwrapEffect(Effect.map(options, Database.layer))
