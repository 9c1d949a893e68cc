/** What keeps the index behind the messages: slice by slice, each short, and anew where it was made from others (state-agent.md 2.6). */
import { Clock, Effect } from "effect"
import * as SearchText from "../../services/session/SearchText.js"
import { Database, Transaction } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as EventLoop from "../node/EventLoop.js"
import * as Rows from "./Rows.js"
import { type IndexedMessage, SearchIndex, type Watermark } from "./SearchIndex.js"
import { columns, type Message, messagesOf, mostOfResult, placeWord, textOf } from "./SearchRows.js"

/** What one slice of the index may take of the event loop, and the rows to begin with. */
const sliceMillis = 4
const firstSlice = 20
const largestSlice = 400
/** A slice is at most so many times the last one: a quick one, of short messages, says little of the next. */
const mostGrowth = 2

/** Slices after which the pieces of the index are joined, and in how many steps at most: a piece more costs each search a look. */
const mostPieces = 32
const mostMerges = 10_000
/** And when it has caught up. */
const mostPiecesAtRest = 4

const feedRows = `SELECT ${columns} FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
  WHERE m.id > ? ORDER BY m.id LIMIT ?`

const indexed = (message: Message): IndexedMessage => {
  const text = textOf(message)
  return {
    id: message.id,
    words: [
      ...SearchText.words(text),
      placeWord("s", message.sessionId),
      placeWord("o", message.source),
      placeWord("r", message.role)
    ].join(" "),
    letters: message.role === "tool" ? null : SearchText.folded(text.slice(0, mostOfResult))
  }
}

export const make = Effect.gen(function* () {
  const database = yield* Database
  const index = yield* SearchIndex
  let rebuilding = false
  let known = false
  /** Slices since the last merge: each is a piece of the index. */
  let pieces = 0

  const markOf = (sessionId: unknown, at: unknown): string => `${String(at)} ${String(sessionId)}`

  /** `to` is the last row, whether it can be read or not: else the index would stay before one that cannot. */
  const after = (id: number, limit: number) =>
    database.read("search.feed", (sql) =>
      Effect.flatMap(sql.unsafe(feedRows, [id, limit]).values, (rows) => {
        const last = rows.at(-1)
        const to = last === undefined ? null : { id: Number(last[0]), mark: markOf(last[1], last[2]) }
        return Effect.map(messagesOf(rows), (messages) => ({ messages, to }))
      })
    )

  /** Was it made from other messages, as after a backup was put back? Then ids mean something else. */
  const isForeign = ({ id, mark }: Watermark) =>
    id === 0
      ? Effect.succeed(false)
      : database.read("search.watermark", (sql) =>
          Effect.gen(function* () {
            const last = yield* Rows.count(
              sql`SELECT coalesce(max(seq), 0) AS count FROM sqlite_sequence WHERE name = 'messages'`
            )
            if (last < id) return true
            const [row] = yield* sql<{ readonly at: unknown; readonly sessionId: unknown }>`SELECT at,
              session_id AS sessionId FROM messages WHERE id = ${id}`
            return row !== undefined && markOf(row.sessionId, row.at) !== mark
          })
        )

  /** Looked at before it is used first, and whenever it is fed. */
  const usable = (again: boolean) => (known && !again ? index.watermark : lookedAt)

  const lookedAt = Effect.gen(function* () {
    const watermark = yield* index.watermark
    if (!(yield* isForeign(watermark))) {
      known = true
      return watermark
    }
    yield* Effect.logWarning("the search index belongs to other messages and is made anew")
    yield* index.clear
    return yield* index.watermark
  })

  const forget = Effect.gen(function* () {
    const gone = yield* database.read("search.forgotten", (sql) =>
      Effect.map(
        sql<{ readonly id: number }>`SELECT id FROM search_forgotten ORDER BY id LIMIT ${largestSlice}`,
        (rows) => rows.map((row) => row.id)
      )
    )
    if (gone.length === 0) return 0
    yield* index.forget(gone)
    yield* database.write(
      "search.forgotten",
      Effect.flatMap(
        Transaction,
        (sql) => sql`DELETE FROM search_forgotten WHERE id IN (SELECT value FROM json_each(${JSON.stringify(gone)}))`
      )
    )
    return gone.length
  })

  const merge = Effect.gen(function* () {
    pieces = 0
    for (let merges = 0; merges < mostMerges && (yield* index.merge); merges++) yield* EventLoop.turn
  })

  /** One slice at a time, each sized by what the last one took. */
  const feed = Effect.gen(function* () {
    let watermark = yield* usable(true)
    rebuilding = watermark.id === 0
    let size = firstSlice
    for (;;) {
      const began = yield* Clock.currentTimeNanos
      const { messages, to } = yield* after(watermark.id, size)
      if (to === null) break
      const words = messages.filter((row) => !row.hidden && row.role !== "summary").map(indexed)
      const took = Number((yield* Clock.currentTimeNanos) - began) / 1e6
      yield* EventLoop.turn
      yield* index.add(words, to)
      watermark = to
      pieces += 1
      const wanted = Math.floor((size * sliceMillis) / Math.max(took, 1))
      size = Math.max(1, Math.min(largestSlice, size * mostGrowth, wanted))
      yield* EventLoop.turn
      if (pieces >= mostPieces) yield* merge
    }
    while ((yield* forget) > 0) yield* EventLoop.turn
    if (pieces >= mostPiecesAtRest) yield* merge
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        rebuilding = false
      })
    )
  )

  /** Damage met on the way is answered by starting over, a few times; after that the messages are looked through. */
  const catchUp: Effect.Effect<void, StateError> = feed.pipe(
    Effect.retry({ times: 2, while: (error) => error._tag === "IndexUnusable" }),
    Effect.catchTag("IndexUnusable", (error) => Effect.logWarning("there is no search index for now", error))
  )

  return { usable, catchUp, isRebuilding: () => rebuilding }
})
