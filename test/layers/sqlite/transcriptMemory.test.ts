import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as SessionStore from "../../../src/layers/sqlite/SessionStore.js"
import * as Transcript from "../../../src/layers/sqlite/Transcript.js"
import { makeTranscriptMemory } from "../../../src/layers/sqlite/TranscriptMemory.js"
import { SessionStore as Sessions } from "../../../src/services/session/SessionStore.js"
import {
  type Message,
  type StoredMessage,
  Transcript as Transcripts
} from "../../../src/services/session/Transcript.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as settings from "../../contract/settings.js"
import { layerMemory } from "./temporary.js"

const layer = Layer.provideMerge(
  Layer.merge(SessionStore.layer, Transcript.layer),
  Layer.mergeAll(layerMemory, Ids.layer, settings.layer)
)

const user = (text: string): Message => ({ _tag: "user", text, platformMessageId: null })

const texts = (rows: ReadonlyArray<StoredMessage>) => rows.map((row) => row.message.text)

const setActive = (id: number, active: 0 | 1) =>
  Effect.flatMap(Transaction, (sql) => sql`UPDATE messages SET active = ${active} WHERE id = ${id}`)

describe("what a transcript remembers of its rows", () => {
  it.scoped("is what the database has now, whatever became live or ceased to be", () =>
    Effect.gen(function* () {
      const database = yield* Database
      const transcript = yield* Transcripts
      const session = yield* database.write(
        "test.session",
        Effect.flatMap(Sessions, (sessions) =>
          sessions.create({ key: null, source: "test", origin: null, parentId: null, hidden: false, model: null })
        ).pipe(Effect.provideService(Sessions, yield* Sessions))
      )
      const append = (...some: ReadonlyArray<string>) =>
        database.write("test.append", transcript.append(session.id, null, some.map(user)))
      const loaded = Effect.map(transcript.load(session.id), texts)

      expect(yield* loaded).toEqual([])
      const [first = 0, second = 0] = yield* append("one", "two")
      expect(yield* loaded).toEqual(["one", "two"])
      yield* append("three")
      expect(yield* loaded).toEqual(["one", "two", "three"])
      yield* database.write("test.hide", setActive(first, 0))
      expect(yield* loaded).toEqual(["two", "three"])
      // As many rows as before, and not the same ones.
      yield* database.write("test.swap", Effect.zipRight(setActive(first, 1), setActive(second, 0)))
      expect(yield* loaded).toEqual(["one", "three"])
      yield* append("four")
      expect(yield* loaded).toEqual(["one", "three", "four"])
    }).pipe(Effect.provide(layer))
  )

  it("holds some megabytes and forgets what was kept longest ago", () => {
    const memory = makeTranscriptMemory()
    const rows = (text: string): ReadonlyArray<StoredMessage> => [
      { id: 1, position: 1, at: 0, turnId: null, message: user(text) }
    ]
    memory.keep("a", rows("x".repeat(900_000)))
    memory.keep("b", rows("x".repeat(900_000)))
    memory.keep("a", rows("x".repeat(900_001)))
    memory.keep("c", rows("x".repeat(900_000)))
    expect([memory.get("a") !== null, memory.get("b"), memory.get("c") !== null]).toEqual([true, null, true])
    memory.keep("c", rows("x".repeat(3_000_000)))
    expect(memory.get("c")).toBeNull()
  })
})
