/** A database as it is when it is new. */
import * as Reactivity from "@effect/experimental/Reactivity"
import { SqliteClient } from "@effect/sql-sqlite-node"
import type Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { CareFailed } from "../../../services/state/Care.js"
import * as Migrations from "../Migrations.js"
import { detailOf } from "../SqliteFailure.js"

/** The version of a database, 0 where that cannot be read. */
export const versionOf = (db: Sqlite.Database): number => {
  try {
    return Number(db.prepare("SELECT max(migration_id) FROM migrations").pluck().get() ?? 0)
  } catch {
    return 0
  }
}

/** Is it known to this program, so that it can be compared with a new one? */
export const isKnown = (version: number): boolean => version >= 1 && version <= Migrations.newest

/** The bytes of the file of an empty database of a version. */
export const image = (version = Migrations.newest): Effect.Effect<Buffer, CareFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const client = yield* SqliteClient.make({ filename: ":memory:", disableWAL: true })
      yield* Effect.scoped(
        Effect.flatMap(client.reserve, (connection) => Migrations.run(connection, ":memory:", version))
      )
      return Buffer.from(yield* client.export)
    })
  ).pipe(
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    Effect.mapError((error) => new CareFailed({ work: "making a new database", detail: detailOf(error) }))
  )
