/** Search over the messages and their index (state-agent.md 2.6). */
import { Clock, Effect, Layer } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { Activity } from "../../services/operation/Activity.js"
import { Search, type SearchHit, type SearchOptions, type SearchRole } from "../../services/session/Search.js"
import * as SearchQuery from "../../services/session/SearchQuery.js"
import * as SearchText from "../../services/session/SearchText.js"
import { Database } from "../../services/state/Database.js"
import * as EventLoop from "../node/EventLoop.js"
import * as SearchFeed from "./SearchFeed.js"
import { type IndexUnusable, SearchIndex, type Watermark } from "./SearchIndex.js"
import { columns, type Message, messagesOf, placeWord, textOf } from "./SearchRows.js"
import { ownedBy } from "./SessionRows.js"

/** Rows that are looked through at once where there is no index. */
const scanRows = 4_000

/** Candidates that are looked at until there are enough hits. */
const mostCandidates = 50_000

/** An index that is wrong is made anew, and not again and again where the two disagree about a letter. */
const doubtMillis = 3_600_000

const highest = Number.MAX_SAFE_INTEGER

/** The newest candidates of the index below an id, which is null for the first ones. */
type Portion = (below: number | null, limit: number) => Effect.Effect<ReadonlyArray<number>, IndexUnusable>

const said: ReadonlyArray<SearchRole> = ["user", "assistant"]

/** In the order of the list: SQLite joins from left to right where it is told to. The newest message of all beside each, which costs no statement. */
const candidateRows = `SELECT ${columns}, (SELECT max(id) FROM messages) FROM json_each(?) AS c CROSS JOIN messages AS m ON m.id = c.value
  CROSS JOIN sessions AS s ON s.id = m.session_id`

/** What of the query the index can answer: the words, and where they were said. */
const matchOf = (words: string, { roles, sessionId, source }: SearchOptions): string => {
  const places = [
    ...(sessionId === undefined ? [] : [`"${placeWord("s", sessionId)}"`]),
    ...(source === undefined ? [] : [`"${placeWord("o", source)}"`]),
    ...(roles === undefined ? [] : [`(${roles.map((role) => `"${placeWord("r", role)}"`).join(" OR ")})`])
  ]
  return [`(${words})`, ...places].join(" AND ")
}

interface Condition {
  readonly text: string
  readonly values: ReadonlyArray<string | number | null>
}

/** May it be shown to whoever asks? What was taken back, and what is hidden, never is. Text, so that it is prepared once. */
const visible = ({ after, before, owner, roles: wanted = said, sessionId, source }: SearchOptions): Condition => {
  const parts: ReadonlyArray<Condition | null> = [
    { text: "(m.active = 1 OR m.compacted = 1)", values: [] },
    owner === null ? { text: "s.hidden = 0", values: [] } : ownedBy(owner),
    { text: `m.role IN (${wanted.map(() => "?").join(", ")})`, values: wanted },
    sessionId === undefined ? null : { text: "m.session_id = ?", values: [sessionId] },
    source === undefined ? null : { text: "s.source = ?", values: [source] },
    after === undefined ? null : { text: "m.at >= ?", values: [after] },
    before === undefined ? null : { text: "m.at < ?", values: [before] }
  ]
  const there = parts.filter((part) => part !== null)
  return { text: there.map(({ text }) => text).join(" AND "), values: there.flatMap(({ values }) => values) }
}

/** What is looked for, made once: the query, what of it is marked, and what may be shown. */
interface Asked {
  readonly options: SearchOptions
  readonly query: SearchQuery.SearchQuery
  readonly marked: ReadonlyArray<SearchText.Phrase>
  readonly visible: Condition
  readonly into: Collector
}

/** Collects until there are enough; a copy of a message in a branch is shown once. */
const collector = (limit: number) => {
  const hits: Array<SearchHit> = []
  return {
    hits,
    isFull: () => hits.length >= limit,
    add: (hit: SearchHit): void => {
      if (hits.length >= limit) return
      for (const other of hits)
        if (other.at === hit.at && other.role === hit.role && other.snippet === hit.snippet) return
      hits.push(hit)
    }
  }
}
type Collector = ReturnType<typeof collector>

const likeText = `(m.text LIKE ? ESCAPE '\\' OR m.tool_name LIKE ? ESCAPE '\\' OR m.tool_calls LIKE ? ESCAPE '\\'
  OR octet_length(m.text) <> length(m.text) OR octet_length(m.tool_calls) <> length(m.tool_calls))`

const escaped = (word: string): string => `%${word.replace(/[\\%_]/g, "\\$&")}%`

const hitOf = (message: Message, snippet: string): SearchHit => ({
  messageId: message.id,
  sessionId: message.sessionId,
  title: message.title,
  source: message.source,
  role: message.role === "summary" ? "assistant" : message.role,
  at: message.at,
  snippet
})

const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null)

const make = Effect.gen(function* () {
  const database = yield* Database
  const index = yield* SearchIndex
  const feed = yield* SearchFeed.make
  let doubtedAt = Number.NEGATIVE_INFINITY

  const newestId = database.read("search.newest", (sql) =>
    Effect.map(sql.unsafe("SELECT max(id) FROM messages").values, ([row]) => numberOf(row?.[0]) ?? 0)
  )

  /** What may be shown of the candidates; `newest` is null where that is nothing. */
  const rowsOf = (ids: ReadonlyArray<number>, { visible: { text, values } }: Asked) =>
    database.read("search.rows", (sql) =>
      Effect.flatMap(sql.unsafe(`${candidateRows} WHERE ${text}`, [JSON.stringify(ids), ...values]).values, (rows) =>
        Effect.map(messagesOf(rows), (messages) => ({ messages, newest: numberOf(rows[0]?.at(-1)) }))
      )
    )

  /**
   * Looks at the messages above an id themselves, and then at candidates of the index, newest first, in portions that
   * grow. Answers whether one of them was none.
   */
  const take = (
    asked: Asked,
    above: number,
    within: boolean,
    portion: Portion,
    show: (message: Message) => string | null
  ) =>
    Effect.gen(function* () {
      const { into } = asked
      let below: number | null = null
      let limit = asked.options.limit
      let looked = 0
      let wrong = false
      while (!into.isFull() && looked < mostCandidates) {
        const ids: ReadonlyArray<number> = yield* portion(below, limit)
        const { messages, newest } = yield* rowsOf(ids, asked)
        if (looked === 0) yield* scan(asked, newest ?? (yield* newestId), above, within)
        for (const message of messages) {
          const snippet = show(message)
          if (snippet === null) wrong = true
          else into.add(hitOf(message, snippet))
        }
        looked += ids.length
        if (ids.length < limit) break
        below = ids.at(-1) ?? 0
        limit = Math.min(4_000, limit * 4)
        if (!into.isFull()) yield* EventLoop.turn
      }
      return wrong
    })

  /** Looks through the messages above an id themselves, newest first; `within` words too. */
  const scan = (asked: Asked, newest: number, above: number, within: boolean) =>
    newest > above ? scanFrom(asked, newest, above, within) : Effect.void

  const scanFrom = ({ into, marked, options, query, visible }: Asked, newest: number, above: number, within: boolean) =>
    Effect.gen(function* () {
      const hints = SearchQuery.rarest(query)
      // LIKE knows the letters A to Z in both sizes only: texts and words with others are compared here.
      const likely = hints.every((word) => /^[a-z0-9]+$/.test(word)) ? hints.map(escaped) : null
      let below = newest + 1
      while (below > above + 1 && !into.isFull()) {
        const from = Math.max(above, below - 1 - scanRows)
        const { count, last, messages } = yield* database.read("search.scan", (sql) => {
          const { text, values } = visible
          const hinted = likely === null ? "1" : likely.map(() => likeText).join(" OR ")
          const found = sql.unsafe(
            `SELECT ${columns} FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
              WHERE m.id > ? AND m.id < ? AND ${text} AND (${hinted}) ORDER BY m.id DESC LIMIT ?`,
            [
              from,
              below,
              ...values,
              ...(likely ?? []).flatMap((like) => [like, like, like]),
              likely === null ? scanRows : options.limit * 8
            ]
          )
          return Effect.flatMap(found.values, (rows) =>
            Effect.map(messagesOf(rows), (messages) => ({
              messages,
              count: rows.length,
              last: numberOf(rows.at(-1)?.[0])
            }))
          )
        })
        for (const message of messages) {
          const text = textOf(message)
          const answers = within
            ? SearchQuery.matchesWithin(query, text)
            : SearchQuery.matches(query, SearchText.words(text))
          if (answers) into.add(hitOf(message, SearchText.snippet(text, marked, within) ?? SearchText.beginning(text)))
        }
        const cut = likely !== null && count === options.limit * 8
        below = cut ? (last ?? from + 1) : from + 1
        if (below > above + 1) yield* EventLoop.turn
      }
    })

  const scanAll = (asked: Asked, within: boolean) =>
    Effect.flatMap(newestId, (newest) => scan(asked, newest, 0, within))

  const doubt = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now - doubtedAt <= doubtMillis) return
    doubtedAt = now
    yield* Effect.logWarning("the search index names messages that do not answer; it is made anew")
    yield* index.clear
  })

  const withIndex = (asked: Asked, words: string, watermark: Watermark) =>
    Effect.gen(function* () {
      const { into, marked, options, query } = asked
      const match = matchOf(words, options)
      const show = (message: Message): string | null => {
        const text = textOf(message)
        return (
          SearchText.snippet(text, marked, false) ??
          (SearchQuery.matches(query, SearchText.words(text)) ? SearchText.beginning(text) : null)
        )
      }
      let above = watermark.id
      if (options.sort === "relevance") {
        yield* scan(asked, yield* newestId, above, false)
        above = highest
        const ids = yield* index.best(match, Math.min(1_000, options.limit * 10))
        for (let from = 0; from < ids.length && !into.isFull(); from += options.limit)
          for (const message of (yield* rowsOf(ids.slice(from, from + options.limit), asked)).messages) {
            const snippet = show(message)
            if (snippet !== null) into.add(hitOf(message, snippet))
          }
      }
      const newest: Portion = (below, limit) => index.newest(match, below, limit)
      if (!into.isFull() && (yield* take(asked, above, false, newest, show))) yield* doubt
      if (into.hits.length > 0) return
      const grams = SearchQuery.toGrams(query)
      if (grams === null) yield* scan(asked, yield* newestId, watermark.id, true)
      else
        yield* take(
          asked,
          watermark.id,
          true,
          (below, limit) => index.within(grams, below, limit),
          (message) => {
            const text = textOf(message)
            if (!SearchQuery.matchesWithin(query, text)) return null
            return SearchText.snippet(text, marked, true) ?? SearchText.beginning(text)
          }
        )
    })

  return Search.of({
    search: (options) =>
      Effect.suspend(() => {
        const query = SearchQuery.parse(options.text)
        const words = SearchQuery.toMatch(query)
        if (words === null) return Effect.succeed([])
        const into = collector(options.limit)
        const asked = { options, query, marked: SearchQuery.marked(query), visible: visible(options), into }
        const found = Effect.flatMap(feed.usable(false), (watermark) => withIndex(asked, words, watermark))
        const searched = Effect.catchTag(found, "IndexUnusable", () =>
          Effect.zipRight(
            scanAll(asked, false),
            Effect.suspend(() => (into.hits.length > 0 ? Effect.void : scanAll(asked, true)))
          )
        )
        return Effect.as(searched, into.hits)
      }),
    status: Effect.gen(function* () {
      const newest = yield* newestId
      return yield* feed.usable(true).pipe(
        Effect.map(({ id }) => ({
          index: feed.isRebuilding()
            ? ("rebuilding" as const)
            : newest > id
              ? ("behind" as const)
              : ("current" as const),
          waiting: Math.max(0, newest - id)
        })),
        Effect.catchTag("IndexUnusable", () => Effect.succeed({ index: "off" as const, waiting: newest }))
      )
    }),
    catchUp: feed.catchUp,
    rebuild: Effect.zipRight(index.clear, feed.catchUp)
  })
})

/** Search over the messages. What the index does not have is looked through; {@link feeding} brings it up to date. */
export const layer: Layer.Layer<Search, never, Database | SearchIndex> = Layer.effect(Search, make)

/** How long the index rests after it has caught up, so that a burst of messages is one slice. */
const rest = "200 millis"
/** Looked after at least so often, for what no event tells of. */
const atLeastEvery = "5 minutes"

/** Keeps the index behind the messages: in the one process that owns the home. */
export const feeding: Layer.Layer<never, never, Search | Activity> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const search = yield* Search
    const activity = yield* Activity
    const feed = yield* activity.watch(
      (event) => event._tag === "message.stored" || event._tag === "turn.ended" || event._tag === "session.changed"
    )
    yield* Turn.forkWorker(
      search.catchUp.pipe(
        Effect.catchAll((error) => Effect.logWarning("the search index could not be brought up to date", error)),
        Effect.zipRight(Effect.timeoutOption(feed.take, atLeastEvery)),
        Effect.zipRight(Effect.sleep(rest)),
        Effect.forever
      )
    )
  })
)
