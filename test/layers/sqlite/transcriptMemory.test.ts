import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import path from "node:path"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as CompactionStore from "../../../src/layers/sqlite/CompactionStore.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as Rows from "../../../src/layers/sqlite/Rows.js"
import * as SessionArchive from "../../../src/layers/sqlite/SessionArchive.js"
import * as SessionStore from "../../../src/layers/sqlite/SessionStore.js"
import * as Transcript from "../../../src/layers/sqlite/Transcript.js"
import { makeTranscriptMemory } from "../../../src/layers/sqlite/TranscriptMemory.js"
import { CompactionStore as Compactions } from "../../../src/services/session/CompactionStore.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { SessionArchive as Archive } from "../../../src/services/session/SessionArchive.js"
import { SessionStore as Sessions } from "../../../src/services/session/SessionStore.js"
import {
  type LiveRows,
  liveRows,
  type Message,
  Transcript as Transcripts,
  storedMessage
} from "../../../src/services/session/Transcript.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as settings from "../../contract/settings.js"
import { folder, layerMemory } from "./temporary.js"

const layer = Layer.provideMerge(
  Layer.merge(SessionStore.layer, Transcript.layer),
  Layer.mergeAll(layerMemory, Ids.layer, settings.layer)
)

const user = (text: string): Message => ({ _tag: "user", text, platformMessageId: null })

/** The texts of the rows, which what is kept beside them is true of. */
const asKept = (live: LiveRows) => {
  expect(live).toEqual(liveRows(live.rows))
  return live.rows.map((row) => row.message.text)
}

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
        Effect.map(database.write("test.append", transcript.append(session.id, null, some.map(user))), (rows) =>
          rows.map((row) => row.id)
        )
      const loaded = Effect.map(transcript.live(session.id), asKept)

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

  /** Every way in which rows change that are no new ones; each is done after the rows were read, and shows in the next reading. */
  it.scoped("is told of whatever changes a row, by whom ever", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "state.db")
      const stores = Layer.mergeAll(SessionStore.layer, Transcript.layer, CompactionStore.layer, SessionArchive.layer)
      const open = Layer.build(Layer.provideMerge(stores, Layer.mergeAll(SqliteDatabase.layer({ file }), Ids.layer)))
      const services = yield* open
      const database = Context.get(services, Database)
      const transcript = Context.get(services, Transcripts)
      const compactions = Context.get(services, Compactions)
      const archive = Context.get(services, Archive)
      const id = SessionId.make("ses_one")
      const create = Context.get(services, Sessions).create({
        id,
        key: null,
        source: "test",
        origin: null,
        parentId: null,
        hidden: false,
        model: null
      })
      const append = (...some: ReadonlyArray<string>) =>
        Effect.map(database.write("test.append", transcript.append(id, null, some.map(user))), (rows) =>
          rows.map((row) => row.id)
        )
      const loaded = Effect.map(transcript.live(id), asKept)
      const changed = (by: typeof Database.Service, statement: string) =>
        by.write(
          "test.change",
          Effect.flatMap(Transaction, (sql) => sql.unsafe(statement))
        )

      yield* database.write("test.session", create)
      const ids = yield* append("one", "two", "three", "four")
      expect(yield* loaded).toEqual(["one", "two", "three", "four"])

      const lease = yield* Effect.flatten(compactions.acquire(id))
      const [one = 0, two = 0] = ids
      yield* compactions.commit(lease, { rows: [one, two], position: two, summary: "both", effective: true })
      yield* compactions.release(lease)
      expect(yield* loaded).toEqual(["both", "three", "four"])

      yield* append("five")
      expect(yield* loaded).toEqual(["both", "three", "four", "five"])
      yield* database.write("test.rewind", transcript.rewind(id, 1))
      expect(yield* loaded).toEqual(["both", "three", "four"])
      // Taken back and said anew: as many rows as were known, the newest another one.
      yield* append("six")
      expect(yield* loaded).toEqual(["both", "three", "four", "six"])

      const other = Context.get(yield* open, Database)
      yield* changed(other, "UPDATE messages SET text = 'edited' WHERE text = 'three'")
      expect(yield* loaded).toEqual(["both", "edited", "four", "six"])
      yield* changed(other, "DELETE FROM messages WHERE text = 'four'")
      expect(yield* loaded).toEqual(["both", "edited", "six"])
      yield* changed(other, "UPDATE messages SET active = 1 WHERE text = 'one'")
      expect(yield* loaded).toEqual(["one", "both", "edited", "six"])

      // Another session under the same name, whose rows were changed as often.
      const document = yield* archive.read(id, { after: 0, limit: 100 })
      const before = yield* database.read("test.revision", (sql) =>
        Rows.count(sql`SELECT transcript_revision AS count FROM sessions`)
      )
      yield* Context.get(services, Sessions).remove(id)
      yield* archive.write({ ...document, messages: document.messages.slice(0, 1) })
      yield* changed(other, `UPDATE sessions SET transcript_revision = ${before}`)
      expect(yield* loaded).toEqual(document.messages.slice(0, 1).map(({ text }) => text))
    })
  )

  it("holds some forty megabytes and forgets what was kept longest ago", () => {
    const memory = makeTranscriptMemory()
    const rows = (text: string) =>
      liveRows([storedMessage({ id: 1, position: 1, at: 0, turnId: null, message: user(text) })])
    memory.keep("a", 0, rows("x".repeat(3_600_000)))
    memory.keep("b", 0, rows("x".repeat(3_600_000)))
    memory.keep("a", 0, rows("x".repeat(3_600_001)))
    memory.keep("c", 0, rows("x".repeat(3_600_000)))
    expect([memory.get("a") !== null, memory.get("b"), memory.get("c") !== null]).toEqual([true, null, true])
    memory.keep("c", 0, rows("x".repeat(12_000_000)))
    expect(memory.get("c")).toBeNull()
  })

  it("holds two hundred conversations that go on at once", () => {
    const memory = makeTranscriptMemory()
    const rows = liveRows(
      Array.from({ length: 400 }, (_, index) =>
        storedMessage({ id: index + 1, position: index + 1, at: 0, turnId: null, message: user("what was said") })
      )
    )
    const names = Array.from({ length: 200 }, (_, index) => `session ${index}`)
    for (const name of names) memory.keep(name, 0, rows)
    expect(names.filter((name) => memory.get(name) === null)).toEqual([])
    for (const name of ["one more", "and another"]) for (const _ of names) memory.keep(`${name} ${_}`, 0, rows)
    expect(names.filter((name) => memory.get(name) !== null)).toEqual([])
  })
})
