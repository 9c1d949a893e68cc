/** Single facts that outlive the process: a value under a name, as JSON. */
import { Effect, Schema } from "effect"
import { Database, type Step, Transaction } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Rows from "./Rows.js"

export interface Fact<A> {
  /** Null when nothing stands there. */
  readonly get: Effect.Effect<A | null, StateError, Database>
  readonly put: (value: A) => Step<void>
  readonly remove: Step<void>
}

/** The fact of a name. */
export const fact = <A, I>(name: string, schema: Schema.Schema<A, I>): Fact<A> => {
  const stored = Schema.parseJson(schema)
  const one = Rows.first(Schema.Struct({ value: stored }))
  const encode = Schema.encodeSync(stored)
  return {
    get: Effect.flatMap(Database, (database) =>
      Effect.map(
        database.read(`meta.${name}`, (sql) => one(sql`SELECT value FROM meta WHERE key = ${name}`)),
        (row) => row?.value ?? null
      )
    ),
    put: (value) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`INSERT INTO meta (key, value) VALUES (${name}, ${encode(value)})
          ON CONFLICT (key) DO UPDATE SET value = excluded.value`)
      ),
    remove: Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`DELETE FROM meta WHERE key = ${name}`))
  }
}
