import { Database } from "../../../src/services/state/Database.js"
import type { StateError } from "../../../src/services/state/StateError.js"
import type { Effect } from "effect"

/** What a test does about each write of a database, before it or after it. */
export type Door = <A, E>(
  operation: string,
  write: Effect.Effect<A, E | StateError>
) => Effect.Effect<A, E | StateError>

/** A database whose writes go through a door of the test's. */
export const behind = (real: typeof Database.Service, door: Door): typeof Database.Service =>
  Database.of({
    ...real,
    write: (operation, step, patience, commit) => door(operation, real.write(operation, step, patience, commit)),
    writeAhead: (operation, step, patience) => door(operation, real.writeAhead(operation, step, patience))
  })
