/** Search over the messages and their index (state-agent.md 2.6). */
import { Clock, Effect, Layer, Schema } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { Activity } from "../../services/operation/Activity.js"
import { Search, type SearchHit, type SearchOptions, type SearchRole } from "../../services/session/Search.js"
import * as SearchQuery from "../../services/session/SearchQuery.js"
import * as SearchText from "../../services/session/SearchText.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as EventLoop from "../node/EventLoop.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Rows from "./Rows.js"
import { type IndexedMessage, type IndexUnusable, SearchIndex, type Watermark } from "./SearchIndex.js"
import { ownedBy } from "./SessionRows.js"

/** Characters of a message that are searched; results of tools can be whole files. */
const mostCharacters = 65_536
const mostOfResult = 8_192

/** What one slice of the index may take of the event loop, and the rows to begin with. */
const sliceMillis = 8
const firstSlice = 20
const largestSlice = 400
/** A slice is at most so many times the last one: a quick one, of short messages, says little of the next. */
const mostGrowth = 2

/** Messages after which the pieces of the index are joined, and in how many slices at most. */
const mergeAfter = 500
const mostMerges = 10_000
/** And slices after which they are: a piece more costs each search a look. */
const mostPieces = 16

/** Rows that are looked through at once where there is no index. */
const scanRows = 4_000

/** Candidates that are looked at until there are enough hits. */
const mostCandidates = 50_000

/** An index that is wrong is made anew, and not again and again where the two disagree about a letter. */
const doubtMillis = 3_600_000

const highest = Number.MAX_SAFE_INTEGER

const said: ReadonlyArray<SearchRole> = ["user", "assistant"]

const Message = Schema.Struct({
  id: Schema.Number,
  sessionId: Schema.String,
  at: Schema.Number,
  role: Schema.Literal("user", "assistant", "tool", "summary"),
  text: Schema.String,
  tool: Schema.NullOr(Schema.String),
  calls: Schema.NullOr(Schema.String),
  title: Schema.NullOr(Schema.String),
  source: Schema.String,
  hidden: Rows.Flag
})
type Message = typeof Message.Type

const decodeMessages = Schema.decodeUnknown(Schema.Array(Message))

const roles: ReadonlySet<unknown> = new Set(Message.fields.role.literals)
const isText = (value: unknown): boolean => typeof value === "string"
const isTextOrNull = (value: unknown): boolean => value === null || typeof value === "string"
/** By hand: to decode twenty rows costs more than to find them. What does not fit is told by the decoder. */
const isRow = (row: object): row is Omit<Message, "hidden"> & { readonly hidden: 0 | 1 } => {
  const {
    at,
    calls,
    hidden,
    id,
    role,
    sessionId,
    source,
    text,
    title,
    tool
  }: { readonly [K in keyof Message]?: unknown } = row
  return (
    typeof id === "number" &&
    typeof at === "number" &&
    [sessionId, text, source].every(isText) &&
    [tool, calls, title].every(isTextOrNull) &&
    roles.has(role) &&
    (hidden === 0 || hidden === 1)
  )
}
const messagesOf = (rows: ReadonlyArray<object>) =>
  rows.every(isRow)
    ? Effect.succeed(rows.map((row): Message => ({ ...row, hidden: row.hidden === 1 })))
    : decodeMessages(rows)

const columns = `m.id, m.session_id AS sessionId, m.at, m.role,
  substr(m.text, 1, CASE m.role WHEN 'tool' THEN ${mostOfResult} ELSE ${mostCharacters} END) AS text,
  m.tool_name AS tool, substr(m.tool_calls, 1, ${mostOfResult}) AS calls, s.title, s.source, s.hidden`

const feedRows = `SELECT ${columns} FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
  WHERE m.id > ? ORDER BY m.id LIMIT ?`

const candidateRows = `SELECT ${columns} FROM json_each(?) AS c JOIN messages AS m ON m.id = c.value
  JOIN sessions AS s ON s.id = m.session_id`

/** Everything of a message that can be found. */
const textOf = ({ calls, text, tool }: Message): string =>
  [text, tool ?? "", calls ?? ""].filter((part) => part !== "").join("\n")

/** Begins with a letter for private use, which is in no word of a text: nobody can write his message into another place. */
const placeWord = (kind: "s" | "o" | "r", name: string): string =>
  `\u{e000}${kind}${name.toLowerCase().replace(/[^a-z0-9]/g, "")}`

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

/** Lets everything else have its turn, and no timer's least millisecond pass. */
const breathe = EventLoop.turn

const make = Effect.gen(function* () {
  const database = yield* Database
  const index = yield* SearchIndex
  let rebuilding = false
  let known = false
  let added = 0
  /** Slices since the last merge: each is a piece of the index. */
  let pieces = 0
  let doubtedAt = Number.NEGATIVE_INFINITY

  const newestId = database.read("search.newest", (sql) =>
    Rows.count(sql`SELECT coalesce(max(id), 0) AS count FROM messages`)
  )

  const markOf = (message: { readonly at: number; readonly sessionId: string } | undefined): string =>
    message === undefined ? "" : `${message.at} ${message.sessionId}`

  const after = (id: number, limit: number) =>
    database.read("search.feed", (sql) => Effect.flatMap(sql.unsafe(feedRows, [id, limit]), messagesOf))

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
            const [row] = yield* sql<{ readonly at: number; readonly sessionId: string }>`SELECT at,
              session_id AS sessionId FROM messages WHERE id = ${id}`
            return row !== undefined && markOf(row) !== mark
          })
        )

  /** Looked at before it is used first, and whenever it is fed. */
  const usable = (again: boolean) =>
    Effect.gen(function* () {
      const watermark = yield* index.watermark
      if (known && !again) return watermark
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
    added = 0
    pieces = 0
    for (let merges = 0; merges < mostMerges && (yield* index.merge); merges++) yield* breathe
  })

  /** One slice at a time, each sized by what the last one took. */
  const feed = Effect.gen(function* () {
    let watermark = yield* usable(true)
    rebuilding = watermark.id === 0
    let size = firstSlice
    for (;;) {
      const began = yield* Clock.currentTimeNanos
      const rows = yield* after(watermark.id, size)
      const last = rows.at(-1)
      if (last === undefined) break
      const to = { id: last.id, mark: markOf(last) }
      const words = rows.filter((row) => !row.hidden && row.role !== "summary").map(indexed)
      const read = yield* Clock.currentTimeNanos
      yield* breathe
      const adding = yield* Clock.currentTimeNanos
      yield* index.add(words, to)
      watermark = to
      added += rows.length
      pieces += 1
      const took = Number((yield* Clock.currentTimeNanos) - adding + read - began) / 1e6
      const wanted = Math.floor((size * sliceMillis) / Math.max(took, 1))
      size = Math.max(1, Math.min(largestSlice, size * mostGrowth, wanted))
      yield* breathe
      if (pieces >= mostPieces) yield* merge
    }
    while ((yield* forget) > 0) yield* breathe
    if (added >= mergeAfter || pieces >= mostPieces) yield* merge
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

  const rowsOf = (ids: ReadonlyArray<number>, options: SearchOptions) =>
    database.read("search.rows", (sql) => {
      const { text, values } = visible(options)
      const rows = sql.unsafe(`${candidateRows} WHERE ${text} ORDER BY c.key`, [JSON.stringify(ids), ...values])
      return Effect.flatMap(rows, messagesOf)
    })

  /** Collects until there are enough; a copy of a message in a branch is shown once. */
  const collector = (limit: number) => {
    const seen = new Set<string>()
    const hits: Array<SearchHit> = []
    return {
      hits,
      isFull: () => hits.length >= limit,
      add: (hit: SearchHit): void => {
        const same = `${hit.at} ${hit.role} ${hit.snippet}`
        if (hits.length >= limit || seen.has(same)) return
        seen.add(same)
        hits.push(hit)
      }
    }
  }
  type Collector = ReturnType<typeof collector>

  /** Looks at candidates of the index, newest first, in portions that grow. Answers whether one of them was none. */
  const take = (
    into: Collector,
    options: SearchOptions,
    portion: (below: number, limit: number) => Effect.Effect<ReadonlyArray<number>, IndexUnusable>,
    show: (message: Message) => string | null
  ) =>
    Effect.gen(function* () {
      let below = highest
      let limit = options.limit
      let looked = 0
      let wrong = false
      while (!into.isFull() && looked < mostCandidates) {
        const ids = yield* portion(below, limit)
        for (const message of ids.length === 0 ? [] : yield* rowsOf(ids, options)) {
          const snippet = show(message)
          if (snippet === null) wrong = true
          else into.add(hitOf(message, snippet))
        }
        looked += ids.length
        if (ids.length < limit) break
        below = ids.at(-1) ?? 0
        limit = Math.min(4_000, limit * 4)
        if (!into.isFull()) yield* breathe
      }
      return wrong
    })

  /** Looks through the messages above an id themselves, newest first; `within` words too. */
  const scan = (
    into: Collector,
    options: SearchOptions,
    query: SearchQuery.SearchQuery,
    above: number,
    within: boolean
  ) =>
    Effect.gen(function* () {
      const hints = SearchQuery.rarest(query)
      // LIKE knows the letters A to Z in both sizes only: texts and words with others are compared here.
      const likely = hints.every((word) => /^[a-z0-9]+$/.test(word)) ? hints.map(escaped) : null
      const shown = SearchQuery.marked(query)
      let below = (yield* newestId) + 1
      while (below > above + 1 && !into.isFull()) {
        const from = Math.max(above, below - 1 - scanRows)
        const rows = yield* database.read("search.scan", (sql) => {
          const { text, values } = visible(options)
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
          return Effect.flatMap(found, messagesOf)
        })
        for (const message of rows) {
          const text = textOf(message)
          const answers = within
            ? SearchQuery.matchesWithin(query, text)
            : SearchQuery.matches(query, SearchText.words(text))
          if (answers) into.add(hitOf(message, SearchText.snippet(text, shown, within) ?? SearchText.beginning(text)))
        }
        const cut = likely !== null && rows.length === options.limit * 8
        below = cut ? (rows.at(-1)?.id ?? from + 1) : from + 1
        if (below > above + 1) yield* breathe
      }
    })

  const withIndex = (
    into: Collector,
    options: SearchOptions,
    query: SearchQuery.SearchQuery,
    words: string,
    watermark: Watermark
  ) =>
    Effect.gen(function* () {
      const shown = SearchQuery.marked(query)
      const match = matchOf(words, options)
      const show = (message: Message): string | null => {
        const text = textOf(message)
        return (
          SearchText.snippet(text, shown, false) ??
          (SearchQuery.matches(query, SearchText.words(text)) ? SearchText.beginning(text) : null)
        )
      }
      yield* scan(into, options, query, watermark.id, false)
      if (options.sort === "relevance") {
        const ids = yield* index.best(match, Math.min(1_000, options.limit * 10))
        for (let from = 0; from < ids.length && !into.isFull(); from += options.limit)
          for (const message of yield* rowsOf(ids.slice(from, from + options.limit), options)) {
            const snippet = show(message)
            if (snippet !== null) into.add(hitOf(message, snippet))
          }
      }
      const wrong = into.isFull()
        ? false
        : yield* take(into, options, (below, limit) => index.newest(match, below, limit), show)
      const now = yield* Clock.currentTimeMillis
      if (wrong && now - doubtedAt > doubtMillis) {
        doubtedAt = now
        yield* Effect.logWarning("the search index names messages that do not answer; it is made anew")
        yield* index.clear
      }
      if (into.hits.length > 0) return
      yield* scan(into, options, query, watermark.id, true)
      const grams = SearchQuery.toGrams(query)
      if (grams !== null)
        yield* take(
          into,
          options,
          (below, limit) => index.within(grams, below, limit),
          (message) => {
            const text = textOf(message)
            if (!SearchQuery.matchesWithin(query, text)) return null
            return SearchText.snippet(text, shown, true) ?? SearchText.beginning(text)
          }
        )
    })

  return Search.of({
    search: Effect.fn("Search.search")(function* (options) {
      const query = SearchQuery.parse(options.text)
      const words = SearchQuery.toMatch(query)
      if (words === null) return []
      const into = collector(options.limit)
      yield* usable(false).pipe(
        Effect.flatMap((watermark) => withIndex(into, options, query, words, watermark)),
        Effect.catchTag("IndexUnusable", () =>
          Effect.zipRight(
            scan(into, options, query, 0, false),
            Effect.suspend(() => (into.hits.length > 0 ? Effect.void : scan(into, options, query, 0, true)))
          )
        )
      )
      return into.hits
    }),
    status: Effect.gen(function* () {
      const newest = yield* newestId
      return yield* usable(true).pipe(
        Effect.map(({ id }) => ({
          index: rebuilding ? ("rebuilding" as const) : newest > id ? ("behind" as const) : ("current" as const),
          waiting: Math.max(0, newest - id)
        })),
        Effect.catchTag("IndexUnusable", () => Effect.succeed({ index: "off" as const, waiting: newest }))
      )
    }),
    catchUp,
    rebuild: Effect.zipRight(index.clear, catchUp)
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
