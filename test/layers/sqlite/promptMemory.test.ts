import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as PromptMemory from "../../../src/layers/sqlite/PromptMemory.js"
import * as Sessions from "../../../src/layers/sqlite/SessionStore.js"
import type { SessionId } from "../../../src/services/session/Session.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as settings from "../../contract/settings.js"
import { key, source } from "../../contract/sources.js"
import { layerMemory } from "./temporary.js"

/** No program does that. */
const spoil = (hash: string, body: string | Uint8Array) =>
  Effect.flatMap(Transaction, (sql) => sql`UPDATE prompts SET body = ${body} WHERE hash = ${hash}`)

describe("what is remembered of prompts", () => {
  it.scoped("is asked for once, as long as there is room for it", () =>
    Effect.gen(function* () {
      const database = yield* Database
      const memory = PromptMemory.make(Effect.succeed)
      const read = (hash: string | null) => database.read("test.read", (sql) => memory(sql, hash))
      const write = (body: string) => database.write("test.store", PromptMemory.store(body))

      expect(yield* read(null)).toBeNull()
      // What is not there is not remembered either.
      expect(yield* read("a")).toBeNull()
      const body = "a".repeat(900_000)
      const hash = yield* write(body)
      expect(yield* read(hash)).toBe(body)
      // It shows where the answer comes from.
      yield* database.write("test.spoil", spoil(hash, "other"))
      expect(yield* read(hash)).toBe(body)
      for (const letter of ["b", "c"]) {
        const other = letter.repeat(900_000)
        expect(yield* read(yield* write(other))).toBe(other)
      }
      expect(yield* read(hash)).toBeNull()
    }).pipe(Effect.provide(layerMemory))
  )

  it.scoped.each([
    ["a word", "spoilt"],
    ["nothing", ""],
    ["no text", new Uint8Array([0, 255])],
    ["another list", "[]"]
  ] as const)(
    "holds of each text only what has its hash; %s in its place goes with the next pin, for all",
    ([, spoilt]) =>
      Effect.gen(function* () {
        const database = yield* Database
        const pin = (id: SessionId, systemPrompt: string, toolNames: ReadonlyArray<string>) =>
          Effect.flatMap(SessionStore, (sessions) =>
            database.write("test.pin", sessions.pinPrompt(id, { systemPrompt, toolNames, model: "m" }))
          )
        /** As after a restart: nothing of it was read before. */
        const pinned = (id: SessionId) =>
          Effect.gen(function* () {
            const session = yield* (yield* SessionStore).get(id)
            return [session?.systemPrompt, session?.toolNames]
          }).pipe(Effect.provide(Layer.fresh(Sessions.layer)))

        const sessions = yield* SessionStore
        const one = yield* sessions.resolve(key("one"), source())
        const other = yield* sessions.resolve(key("other"), source())
        for (const { id } of [one, other]) yield* pin(id, "be kind", ["a"])
        const hashes = yield* database.read(
          "test.hashes",
          (sql) => sql<{ readonly hash: string; readonly body: string }>`SELECT hash, body FROM prompts ORDER BY body`
        )
        expect(hashes.map(({ body }) => body)).toEqual(['["a"]', "be kind"])

        yield* database.write("test.spoil", spoil(hashes[0]?.hash ?? "", spoilt))
        expect(yield* pinned(one.id)).toEqual(["be kind", null])
        yield* Effect.provide(pin(one.id, "be cruel", ["b"]), Layer.fresh(Sessions.layer))
        expect(yield* pinned(one.id)).toEqual(["be kind", ["b"]])
        expect(yield* pinned(other.id)).toEqual(["be kind", null])
        yield* Effect.provide(pin(other.id, "be cruel", ["a"]), Layer.fresh(Sessions.layer))
        expect(yield* pinned(other.id)).toEqual(["be kind", ["a"]])

        yield* database.write("test.spoil", spoil(hashes[1]?.hash ?? "", spoilt))
        expect(yield* pinned(one.id)).toEqual([null, ["b"]])
        yield* Effect.provide(pin(one.id, "be kind", []), Layer.fresh(Sessions.layer))
        expect([yield* pinned(one.id), yield* pinned(other.id)]).toEqual([
          ["be kind", ["b"]],
          ["be kind", ["a"]]
        ])
      }).pipe(
        Effect.provide(Layer.provideMerge(Sessions.layer, Layer.mergeAll(layerMemory, Ids.layer, settings.layer)))
      )
  )
})
