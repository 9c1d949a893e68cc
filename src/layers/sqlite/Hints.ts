import { Effect, Layer, Schema } from "effect"
import { Hints } from "../../services/delivery/Hints.js"
import { Database } from "../../services/state/Database.js"
import * as Meta from "./Meta.js"

/** Hints as facts of the database. Those that were told are also kept in memory, so that asking costs nothing. */
export const layer = Layer.effect(
  Hints,
  Effect.map(Database, (database) => {
    const told = new Set<string>()
    return Hints.of({
      first: (name) =>
        Effect.suspend(() => {
          if (told.has(name)) return Effect.succeed(false)
          told.add(name)
          const fact = Meta.fact(`hint.${name}`, Schema.Boolean)
          return Effect.flatMap(Effect.provideService(fact.get, Database, database), (known) =>
            known === null ? Effect.as(database.write("hint.told", fact.put(true)), true) : Effect.succeed(false)
          ).pipe(Effect.tapError(() => Effect.sync(() => told.delete(name))))
        })
    })
  })
)
