/** Search with its index, without it, with a damaged one: what is found is the same. */
import { describe, expect, it, layer as suiteLayer } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, FastCheck as fc, Layer } from "effect"
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as SearchLayer from "../../../src/layers/sqlite/Search.js"
import * as SearchIndex from "../../../src/layers/sqlite/SearchIndex.js"
import * as SessionStoreLayer from "../../../src/layers/sqlite/SessionStore.js"
import * as TranscriptLayer from "../../../src/layers/sqlite/Transcript.js"
import { Search, type SearchOptions } from "../../../src/services/session/Search.js"
import * as SearchQuery from "../../../src/services/session/SearchQuery.js"
import * as SearchText from "../../../src/services/session/SearchText.js"
import type { SessionId } from "../../../src/services/session/Session.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { type Message, Transcript } from "../../../src/services/session/Transcript.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { scaled } from "../../scale.js"
import { folder, layerMemory } from "./temporary.js"

const user = (text: string): Message => ({ _tag: "user", text, platformMessageId: null })
const tool = (text: string): Message => ({ _tag: "tool", callId: "c", tool: "terminal", text, disposition: "ok" })

const stores = Layer.mergeAll(SessionStoreLayer.layer, TranscriptLayer.layer)

const inMemory = SearchLayer.layer.pipe(
  Layer.provideMerge(stores),
  Layer.provideMerge(Layer.mergeAll(layerMemory, Ids.layer, SearchIndex.layerMemory))
)

const inFiles = (directory: string) =>
  SearchLayer.layer.pipe(
    Layer.provideMerge(stores),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.orDie(SqliteDatabase.layer({ file: `${directory}/state.db` })),
        Ids.layer,
        SearchIndex.layer({ file: `${directory}/search.db` })
      )
    )
  )

const fresh = (facts: { readonly hidden?: boolean; readonly source?: string } = {}) =>
  Effect.flatMap(Database, (database) =>
    Effect.flatMap(SessionStore, (sessions) =>
      database.write(
        "test",
        sessions.create({
          key: null,
          source: facts.source ?? "cli",
          origin: null,
          parentId: null,
          hidden: facts.hidden ?? false,
          model: null
        })
      )
    )
  )

const append = (id: SessionId, messages: ReadonlyArray<Message>) =>
  Effect.flatMap(Database, (database) =>
    Effect.flatMap(Transcript, (transcript) => database.write("test", transcript.append(id, null, messages)))
  )

const write = <A, E>(step: Effect.Effect<A, E, Transaction>) =>
  Effect.flatMap(Database, (database) => database.write("test", step))

const found = (text: string, options: Partial<SearchOptions> = {}) =>
  Effect.flatMap(Search, (search) =>
    Effect.map(search.search({ text, limit: 50, sort: "newest", owner: null, ...options }), (hits) =>
      hits.map((hit) => hit.snippet)
    )
  )

const caughtUp = Effect.flatMap(Search, (search) => search.catchUp)
const state = Effect.flatMap(Search, (search) => Effect.map(search.status, ({ index }) => index))

describe("search", () => {
  suiteLayer(inMemory)((it) => {
    it.effect("finds words, phrases, beginnings, alternatives and what has not a word in it; newest first", () =>
      Effect.gen(function* () {
        const { id } = yield* fresh()
        yield* append(id, [
          user("The Café in Lisbon opens at nine"),
          user("a cafe without a terrace"),
          user("look at foo.bar-baz_qux please")
        ])
        for (const indexedFirst of [false, true]) {
          if (indexedFirst) yield* caughtUp
          expect(yield* found("CAFE")).toEqual([
            "a >>>cafe<<< without a terrace",
            "The >>>Café<<< in Lisbon opens at nine"
          ])
          expect(yield* found('"opens at"')).toHaveLength(1)
          expect(yield* found('"at opens"')).toEqual([])
          expect(yield* found("lis*")).toHaveLength(1)
          expect(yield* found("terrace OR lisbon")).toHaveLength(2)
          expect(yield* found("cafe NOT terrace")).toHaveLength(1)
          expect(yield* found("foo.bar-baz_qux")).toHaveLength(1)
        }
        expect(yield* state).toBe("current")
        // Within a word, when no whole word answers.
        yield* append(id, [user("and unindexedish")])
        expect(yield* found("isbo")).toEqual(["The Café in L>>>isbo<<<n opens at nine"])
        expect(yield* found("dexedi")).toEqual(["and unin>>>dexedi<<<sh"])
      })
    )

    it.effect("finds Chinese, Japanese, Korean and Thai, one letter and more", () =>
      Effect.gen(function* () {
        const { id } = yield* fresh()
        yield* append(id, [user("今天天气很好abc"), user("東京タワー"), user("한국어 검색"), user("ภาษาไทย")])
        for (const indexedFirst of [false, true]) {
          if (indexedFirst) yield* caughtUp
          for (const text of ["天气", "很", "好", "abc", "タワー", "검색", "한국", "ไทย"])
            expect([text, (yield* found(text, { sessionId: id })).length]).toEqual([text, 1])
          expect(yield* found("气天", { sessionId: id })).toEqual([])
        }
      })
    )

    it.effect("leaves out what was taken back, what is hidden and results of tools, and filters", () =>
      Effect.gen(function* () {
        const a = yield* fresh({ source: "telegram" })
        const b = yield* fresh()
        const hidden = yield* fresh({ hidden: true })
        yield* append(a.id, [user("zebra one"), tool("zebra result")])
        yield* append(b.id, [user("zebra two")])
        yield* append(hidden.id, [user("zebra hidden")])
        for (const indexedFirst of [false, true]) {
          if (indexedFirst) yield* caughtUp
          expect(yield* found("zebra")).toEqual([">>>zebra<<< two", ">>>zebra<<< one"])
          expect(yield* found("zebra", { sessionId: a.id })).toEqual([">>>zebra<<< one"])
          expect(yield* found("zebra", { source: "telegram" })).toEqual([">>>zebra<<< one"])
          expect(yield* found("zebra", { roles: ["tool"] })).toHaveLength(1)
          expect(yield* found("zebra", { owner: { platform: "telegram", chatId: "7", userId: null } })).toEqual([])
          expect(yield* found("zebra", { sort: "relevance" })).toHaveLength(2)
        }
        yield* Effect.flatMap(Transcript, (transcript) => write(transcript.rewind(b.id, 1)))
        expect(yield* found("zebra")).toEqual([">>>zebra<<< one"])
        yield* Effect.flatMap(SessionStore, (sessions) => sessions.remove(a.id))
        expect(yield* found("zebra")).toEqual([])
        yield* caughtUp
        const left = yield* Effect.flatMap(Database, (database) =>
          database.read("test", (sql) => sql`SELECT id FROM search_forgotten`)
        )
        expect(left).toEqual([])
        const ids = yield* Effect.flatMap(SearchIndex.SearchIndex, (index) => index.newest("zebra", null, 50))
        // What was deleted is out of the index too; what was taken back is only not shown.
        expect(ids).toHaveLength(1)
      })
    )

    it.effect.prop(
      "whatever is typed is no error, with the index and without",
      {
        text: fc.oneof(
          fc.string({ unit: "binary", maxLength: 60 }),
          fc.string({ unit: fc.constantFrom(..."\"*()^:+-{}~ ANDORNOTa今é'\\%_\0") })
        )
      },
      ({ text }) =>
        Effect.gen(function* () {
          yield* found(text)
          yield* found(text, { sort: "relevance" })
        }),
      { fastCheck: { numRuns: scaled(2_000, 100) } }
    )
  })

  const letters = [
    "one",
    "two",
    "too",
    "onetwo",
    "café",
    "cafe",
    "天气",
    "天",
    "气",
    "x.y",
    "NOT",
    "OR",
    "x*",
    '"one two"'
  ]

  it.effect.prop(
    "the index finds what a reader of all messages finds",
    {
      messages: fc.array(fc.array(fc.constantFrom(...letters), { maxLength: 6 }), { maxLength: 25 }),
      fed: fc.nat(25),
      queries: fc.array(fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 3 }), {
        minLength: 1,
        maxLength: 6
      })
    },
    ({ messages, fed, queries }) =>
      Effect.gen(function* () {
        const { id } = yield* fresh()
        const texts = messages.map((words, index) => `${words.join(" ")} n${index}`)
        yield* append(id, texts.slice(0, fed).map(user))
        yield* caughtUp
        yield* append(id, texts.slice(fed).map(user))
        for (const typed of queries) {
          const query = SearchQuery.parse(typed.join(" "))
          const expected = texts.filter((text) => SearchQuery.matches(query, SearchText.words(text)))
          const shown = (yield* found(typed.join(" "))).map((snippet) => snippet.replaceAll(/>>>|<<</g, ""))
          // Parts of words are looked for when nothing answers as it stands.
          if (expected.length > 0) expect(shown).toEqual(expected.toReversed())
          else for (const text of shown) expect(SearchQuery.matchesWithin(query, text)).toBe(true)
        }
      }).pipe(Effect.provide(inMemory)),
    { fastCheck: { numRuns: scaled(200, 12) } }
  )

  const words = (count: number) =>
    Array.from({ length: count }, (_, index) => user(`needle${index % 7} number ${index}`))

  const flip = (file: string, from: number): void => {
    const size = statSync(file).size
    const handle = openSync(file, "r+")
    writeSync(handle, Buffer.alloc(Math.max(0, size - from), 0xa5), 0, undefined, from)
    closeSync(handle)
  }

  it.scopedLive("a damaged, foreign or missing index loses nothing and is made anew", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const file = `${directory}/search.db`
      const open = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.provide(self, inFiles(directory))
      const { id } = yield* open(
        Effect.gen(function* () {
          const session = yield* fresh()
          yield* append(session.id, words(700))
          yield* caughtUp
          expect(yield* state).toBe("current")
          return session
        })
      )
      const harm: ReadonlyArray<readonly [string, () => void]> = [
        ["bytes", () => flip(file, 8_192)],
        ["header", () => flip(file, 0)],
        ["empty", () => writeFileSync(file, "")],
        ["text", () => writeFileSync(file, "this is no database, but a long enough text".repeat(100))],
        ["gone", () => rmSync(file)]
      ]
      for (const [name, damage] of harm) {
        for (const sidecar of ["-wal", "-shm"]) if (existsSync(file + sidecar)) rmSync(file + sidecar)
        damage()
        yield* open(
          Effect.gen(function* () {
            expect([name, (yield* found("needle3")).length]).toEqual([name, 50])
            yield* append(id, [user(`after ${name}`)])
            expect(yield* found(`"after ${name}"`)).toHaveLength(1)
            yield* caughtUp
            expect([name, yield* state]).toEqual([name, "current"])
            expect(yield* found(`"after ${name}"`)).toHaveLength(1)
            expect(yield* Effect.either(Effect.flatMap(SearchIndex.SearchIndex, (index) => index.check))).toMatchObject(
              {
                _tag: "Right"
              }
            )
          })
        )
      }
    })
  )

  it.scopedLive("what is added at once is one piece of the index: each more is a look for every search", () =>
    Effect.gen(function* () {
      const file = `${yield* folder}/search.db`
      const pieces = yield* Effect.gen(function* () {
        const index = yield* SearchIndex.SearchIndex
        const count = () => {
          const database = new Sqlite(file, { readonly: true })
          const of = (table: string) => database.prepare(`SELECT count(DISTINCT segid) FROM ${table}_idx`).pluck().get()
          const counted = [of("words"), of("letters")]
          database.close()
          return counted
        }
        const messages = Array.from({ length: 200 }, (_, id) => ({
          id: id + 1,
          words: `w${id} same`,
          letters: `l${id}`
        }))
        yield* index.add(messages.slice(0, 150), { id: 150, mark: "" })
        const once = count()
        yield* index.add(messages.slice(150), { id: 200, mark: "" })
        return [once, count()]
      }).pipe(Effect.provide(SearchIndex.layer({ file })))
      expect(pieces).toEqual([
        [1, 1],
        [2, 2]
      ])
    })
  )

  it.scopedLive("an index that is damaged while it is open, or made from other messages, is answered the same", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      yield* Effect.gen(function* () {
        const { id } = yield* fresh()
        yield* append(id, words(2_000))
        yield* caughtUp
        flip(`${directory}/search.db-wal`, 32)
        flip(`${directory}/search.db`, 100)
        for (let round = 0; round < 3; round++) {
          yield* append(id, [user(`round${round}`)])
          expect(yield* found(`round${round}`)).toHaveLength(1)
          expect(yield* found("needle3")).toHaveLength(50)
          yield* caughtUp
        }
        expect(yield* state).toBe("current")
        expect(yield* found("needle4")).toHaveLength(50)
        // As after an old backup was put back: the same ids are other messages now.
        yield* write(Effect.flatMap(Transaction, (sql) => sql`UPDATE messages SET at = at - 5`))
        expect(yield* found("needle4")).toHaveLength(50)
        yield* caughtUp
        expect(yield* state).toBe("current")
      }).pipe(Effect.provide(inFiles(directory)))
      expect(readFileSync(`${directory}/search.db`).length).toBeGreaterThan(0)
    })
  )

  it.scopedLive("messages that cannot be read are left out, and hold up neither what is found nor the index", () =>
    Effect.gen(function* () {
      const { id } = yield* fresh()
      // More than the first slice, so that one slice has nothing else; and the newest, so that it is looked through.
      yield* append(id, [user("tea first"), ...words(30), user("tea last"), user("tea never")])
      yield* write(
        Effect.flatMap(
          Transaction,
          (sql) => sql`UPDATE messages SET at = 'soon' WHERE text <> 'tea first' AND text <> 'tea last'`
        )
      )
      expect(yield* found("tea")).toHaveLength(2)
      yield* caughtUp
      expect(yield* state).toBe("current")
      expect(yield* found("tea")).toHaveLength(2)
    }).pipe(Effect.provide(inMemory))
  )
})
