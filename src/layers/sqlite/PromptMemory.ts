import type { SqlClient, SqlError } from "@effect/sql"
import { Effect, type ParseResult, Schema } from "effect"
import { createHash } from "node:crypto"
import { Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

/** Of all texts together, in UTF-16 units: some megabytes at most, for some hundred conversations. */
const mostText = 2_000_000

const Body = Rows.first(Schema.Struct({ body: Schema.Unknown }))

type Failure = SqlError.SqlError | ParseResult.ParseError

const hashOf = (body: string): string => createHash("sha256").update(body).digest("hex")

/** Stores a text for all who have the same, in the place of a spoilt one if need be; gives its hash. */
export const store = (body: string) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    const hash = hashOf(body)
    yield* sql`INSERT INTO prompts (hash, body) VALUES (${hash}, ${body})
      ON CONFLICT (hash) DO UPDATE SET body = excluded.body WHERE body IS NOT excluded.body`
    return hash
  })

/** What is stored under a hash; null where there is none, or a spoilt one that has another hash. */
export type PromptMemory<A> = (sql: SqlClient.SqlClient, hash: string | null) => Effect.Effect<A | null, Failure>

/**
 * What `decode` makes of the texts in `prompts` that were read last. A text is stored under its own hash and so never
 * becomes another: what was read once stays true, and what was spoilt is seen. Each turn asks for its
 * conversation's, and a long one costs several times the rest of its row.
 */
export const make = <A>(decode: (body: string) => Effect.Effect<A, ParseResult.ParseError>): PromptMemory<A> => {
  const known = new Map<string, { readonly text: number; readonly value: A }>()
  let held = 0

  const keep = (hash: string, text: number, value: A): void => {
    known.set(hash, { text, value })
    held += text
    for (const [oldest, { text: freed }] of known) {
      if (held <= mostText) return
      known.delete(oldest)
      held -= freed
    }
  }

  const read = (sql: SqlClient.SqlClient, hash: string) =>
    Effect.gen(function* () {
      const row = yield* Body(sql`SELECT body FROM prompts WHERE hash = ${hash}`)
      if (row === null || typeof row.body !== "string" || hashOf(row.body) !== hash) return null
      const value = yield* decode(row.body)
      if (!known.has(hash)) keep(hash, row.body.length, value)
      return value
    })

  return (sql, hash) => {
    if (hash === null) return Effect.succeed(null)
    const found = known.get(hash)
    return found === undefined ? read(sql, hash) : Effect.succeed(found.value)
  }
}
