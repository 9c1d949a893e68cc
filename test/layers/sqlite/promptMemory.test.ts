import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makePromptMemory } from "../../../src/layers/sqlite/PromptMemory.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { layerMemory } from "./temporary.js"

const store = (hash: string, body: string) =>
  Effect.flatMap(
    Transaction,
    (sql) => sql`INSERT INTO prompts (hash, body) VALUES (${hash}, ${body})
      ON CONFLICT (hash) DO UPDATE SET body = excluded.body`
  )

describe("what is remembered of prompts", () => {
  it.scoped("is asked for once, as long as there is room for it", () =>
    Effect.gen(function* () {
      const database = yield* Database
      const memory = makePromptMemory(Effect.succeed)
      const read = (hash: string | null) => database.read("test.read", (sql) => memory(sql, hash))
      const write = (hash: string, body: string) => database.write("test.store", store(hash, body))

      expect(yield* read(null)).toBeNull()
      // What is not there is not remembered either.
      expect(yield* read("a")).toBeNull()
      yield* write("a", "x".repeat(900_000))
      expect((yield* read("a"))?.length).toBe(900_000)
      // No program does that: it shows where the answer comes from.
      yield* write("a", "other")
      expect((yield* read("a"))?.length).toBe(900_000)
      for (const hash of ["b", "c"]) {
        yield* write(hash, "x".repeat(900_000))
        expect((yield* read(hash))?.length).toBe(900_000)
      }
      expect(yield* read("a")).toBe("other")
    }).pipe(Effect.provide(layerMemory))
  )
})
