import { Clock, Effect, Layer } from "effect"
import type { Source } from "../../services/conversation/InboundEvent.js"
import { Ids } from "../../services/operation/Ids.js"
import { type Session, SessionId, type TitleSource } from "../../services/session/Session.js"
import type { SessionKey } from "../../services/session/SessionKey.js"
import {
  type NewSession,
  type Owner,
  type Place,
  SessionAmbiguous,
  SessionNotFound,
  SessionStore,
  TitleTaken
} from "../../services/session/SessionStore.js"
import * as TitleText from "../../services/session/TitleText.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"
import * as InternalEvents from "./InternalEvents.js"
import * as PromptMemory from "./PromptMemory.js"
import * as SessionRows from "./SessionRows.js"
import * as SessionTitles from "./SessionTitles.js"

/** As many candidates as an ambiguous reference names. */
const candidatesNamed = 5

/** As far as runs of jobs are told from conversations in a list. */
const lookedThrough = 10_000

const surfaceOf = (source: Source): string => source.platform || source.surface || "local"

/** Who a conversation is with: nobody in particular where several people share it, which its key tells (gateway.md 2.2). */
const personOf = (key: SessionKey | null, source: Source): string | null => {
  const person = source.userIdAlt ?? source.userId
  const shared = source.chatType !== "dm" && key !== null && !key.endsWith(`:${person}`)
  return shared ? null : person
}

const make = Effect.gen(function* () {
  const database = yield* Database
  const ids = yield* Ids
  const rows = SessionRows.make()

  const create = (session: NewSession) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      const id = session.id ?? SessionId.make(yield* ids.next("session"))
      const origin = session.origin
      yield* sql`INSERT INTO sessions ${sql.insert({
        id,
        key: session.key,
        source: session.source,
        platform: origin === null ? null : surfaceOf(origin),
        chat_id: origin?.chatId ?? null,
        chat_type: origin?.chatType ?? null,
        thread_id: origin?.threadId ?? null,
        user_id: origin === null ? null : personOf(session.key, origin),
        parent_id: session.parentId,
        hidden: Rows.flag(session.hidden),
        model: session.model,
        started_at: now,
        last_activity_at: now
      })} ON CONFLICT (id) DO NOTHING`
      const stored = yield* rows.byId(sql, id)
      return stored ?? (yield* Effect.dieMessage(`session ${id} is not there after its insert`))
    })

  const end = (id: string, reason: string) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      yield* sql`UPDATE sessions SET ended_at = ${now}, end_reason = ${reason} WHERE id = ${id} AND ended_at IS NULL`
    })

  const openFresh = (key: SessionKey, source: Source, parentId: SessionId | null) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const fresh = yield* create({
        key,
        source: surfaceOf(source),
        origin: source,
        parentId,
        hidden: false,
        model: null
      })
      yield* SessionRows.route(sql, key, fresh.id, fresh.startedAt)
      return fresh
    })

  /** Asked again inside the transaction: whoever came first has made it, and everybody gets that one. */
  const resolveInStep = (key: SessionKey, source: Source) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const routed = yield* rows.routed(sql, key)
      if (routed !== null && routed.endedAt === null) return routed
      const open = yield* rows.lastOpen(sql, key)
      if (open === null) return yield* openFresh(key, source, null)
      yield* SessionRows.route(sql, key, open.id, yield* Clock.currentTimeMillis)
      return open
    })

  const resolve = Effect.fnUntraced(function* (key: SessionKey, source: Source) {
    const routed = yield* database.glance("session.resolve", (sql) => rows.routed(sql, key))
    return routed !== null && routed.endedAt === null
      ? routed
      : yield* database.write("session.resolve", resolveInStep(key, source), "transcript")
  })

  const reset = Effect.fn("SessionStore.reset")((key: SessionKey, source: Source) =>
    database.write(
      "session.reset",
      Effect.gen(function* () {
        const sql = yield* Transaction
        const previous = (yield* rows.routed(sql, key)) ?? (yield* rows.lastOpen(sql, key))
        if (previous !== null) yield* end(previous.id, "session_reset")
        const fresh = yield* openFresh(key, source, previous?.id ?? null)
        return { previous, fresh }
      }),
      "transcript"
    )
  )

  /** An id before a title before a beginning of an id, among the owner's own; nobody guesses between several. */
  const find = (reference: string, owner: Owner) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const wanted = reference.trim()
      const mine = SessionRows.owned(sql, owner)
      const found = (condition: ReturnType<typeof sql.literal>) =>
        SessionRows.many(sql`SELECT ${SessionRows.listed(sql)} FROM sessions AS s WHERE ${mine} AND ${condition}
          ORDER BY s.last_activity_at DESC LIMIT ${candidatesNamed + 1}`)
      for (const condition of [
        sql`s.id = ${wanted}`,
        sql`s.title = ${TitleText.clean(wanted)}`,
        sql`lower(s.title) = lower(${TitleText.clean(wanted)})`,
        sql`substr(s.id, 1, length(${wanted})) = ${wanted}`
      ]) {
        const [session, ...others] = wanted === "" ? [] : yield* found(condition)
        if (session === undefined) continue
        if (others.length === 0) return session
        return yield* new SessionAmbiguous({
          reference,
          candidates: [session, ...others].slice(0, candidatesNamed).map((one) => one.title ?? one.id)
        })
      }
      return yield* new SessionNotFound({ reference })
    })

  const resume = Effect.fn("SessionStore.resume")((key: SessionKey, reference: string, owner: Owner) =>
    database.write(
      "session.resume",
      Effect.gen(function* () {
        const sql = yield* Transaction
        const target = yield* find(reference, owner)
        const current = yield* rows.routed(sql, key)
        if (current !== null && current.id !== target.id) yield* end(current.id, "session_switch")
        // One key per session: two conversations must not write one transcript.
        yield* sql`DELETE FROM routes WHERE session_id = ${target.id} AND key <> ${key}`
        yield* sql`UPDATE sessions SET key = ${key}, ended_at = NULL, end_reason = NULL WHERE id = ${target.id}`
        yield* SessionRows.route(sql, key, target.id, yield* Clock.currentTimeMillis)
        yield* InternalEvents.takeUp(target.id)
        return (yield* rows.byId(sql, target.id)) ?? target
      })
    )
  )

  const peek = Effect.fn("SessionStore.peek")((key: SessionKey) =>
    database.read("session.peek", (sql) =>
      Effect.flatMap(rows.routed(sql, key), (routed) =>
        routed !== null && routed.endedAt === null ? Effect.succeed(routed) : rows.lastOpen(sql, key)
      )
    )
  )

  const get = Effect.fn("SessionStore.get")((id: string) => database.glance("session.get", (sql) => rows.byId(sql, id)))

  const list = Effect.fn("SessionStore.list")((options: Parameters<(typeof SessionStore.Service)["list"]>[0]) =>
    database.read("session.list", (sql) => {
      const { owner, before, beforeId = "", pinned, archived = false, runs } = options
      const kept = pinned === true ? sql`s.pinned = 1` : sql`s.archived = ${sql.literal(archived ? "1" : "0")}`
      const whose = sql`${owner === null ? sql`s.hidden = 0` : SessionRows.owned(sql, owner)} AND ${kept}`
      const when = before === undefined ? sql`1` : sql`(s.last_activity_at, s.id) < (${before}, ${beforeId})`
      // No index knows what a session is of: this says how far back it is looked for.
      const far = sql`SELECT last_activity_at FROM sessions
        WHERE hidden = 0 AND archived = ${sql.literal(archived ? "1" : "0")}
        ORDER BY last_activity_at DESC LIMIT 1 OFFSET ${lookedThrough}`
      const which =
        runs === undefined
          ? sql`1`
          : sql`(s.source = 'cron') = ${Rows.flag(runs)} AND s.last_activity_at > coalesce((${far}), -1)`
      return SessionRows.many(sql`SELECT ${SessionRows.listed(sql)} FROM sessions AS s
          WHERE ${whose} AND ${when} AND ${which}
          ORDER BY s.last_activity_at DESC, s.id DESC LIMIT ${options.limit}`)
    })
  )

  /** A person's title stays: what is derived or made by a model never replaces it, nor does a derived one a made one. */
  const outranks = (source: TitleSource, session: Session): boolean =>
    source === "user" ||
    session.titleSource === null ||
    (session.titleSource !== "user" && !(source === "derived" && session.titleSource === "llm"))

  const setTitle = Effect.fn("SessionStore.setTitle")((id: SessionId, title: string, source: TitleSource) =>
    database.write(
      "session.title",
      Effect.gen(function* () {
        const sql = yield* Transaction
        const session = yield* rows.byId(sql, id)
        if (session === null) return yield* new SessionNotFound({ reference: id })
        if (!outranks(source, session)) return session
        const cleaned = TitleText.clean(title)
        if (cleaned === "") {
          yield* sql`UPDATE sessions SET title = NULL, title_source = NULL WHERE id = ${id}`
          return (yield* rows.byId(sql, id)) ?? session
        }
        if (source === "user" && (yield* SessionTitles.isTaken(cleaned, id)))
          return yield* new TitleTaken({ title: cleaned })
        const free = source === "user" ? cleaned : yield* SessionTitles.free(cleaned, id)
        yield* sql`UPDATE sessions SET title = ${free}, title_source = ${source} WHERE id = ${id}`
        return (yield* rows.byId(sql, id)) ?? session
      })
    )
  )

  const branch = Effect.fn("SessionStore.branch")((key: SessionKey, source: Source, title: string | null) =>
    database.write(
      "session.branch",
      Effect.gen(function* () {
        const sql = yield* Transaction
        const parent = (yield* rows.routed(sql, key)) ?? (yield* rows.lastOpen(sql, key))
        if (parent === null) return yield* new SessionNotFound({ reference: key })
        const wanted = TitleText.clean(title ?? "")
        if (wanted !== "" && (yield* SessionTitles.isTaken(wanted, ""))) return yield* new TitleTaken({ title: wanted })
        yield* end(parent.id, "branched")
        const fresh = yield* openFresh(key, source, parent.id)
        yield* sql`INSERT INTO messages (session_id, turn_id, at, role, text, reasoning, tool_calls, tool_call_id, tool_name,
            outcome, platform_message_id, media)
          SELECT ${fresh.id}, turn_id, at, role, text, reasoning, tool_calls, tool_call_id, tool_name, outcome,
            platform_message_id, media
          FROM messages WHERE session_id = ${parent.id} AND active = 1 ORDER BY coalesce(position, id), id`
        const name = wanted !== "" ? wanted : parent.title === null ? null : yield* SessionTitles.free(parent.title, "")
        yield* sql`UPDATE sessions SET
            (system_prompt_hash, tool_names_hash, model) =
              (SELECT system_prompt_hash, tool_names_hash, model FROM sessions WHERE id = ${parent.id}),
            message_count = (SELECT count(*) FROM messages WHERE session_id = ${fresh.id} AND role <> 'summary'),
            title = ${name}, title_source = ${name === null ? null : wanted === "" ? "derived" : "user"}
          WHERE id = ${fresh.id}`
        return (yield* rows.byId(sql, fresh.id)) ?? fresh
      }),
      "transcript"
    )
  )

  const findByOrigin = Effect.fn("SessionStore.findByOrigin")((place: Place) =>
    database.read("session.findByOrigin", (sql) =>
      Effect.gen(function* () {
        const found = yield* SessionRows.many(sql`SELECT ${SessionRows.listed(sql)} FROM sessions AS s
          WHERE s.hidden = 0 AND s.ended_at IS NULL AND s.platform = ${place.platform} AND s.chat_id = ${place.chatId}
            AND (${place.threadId} IS NULL OR s.thread_id = ${place.threadId})
          ORDER BY s.last_activity_at DESC, s.id DESC`)
        const theirs = place.userId === null ? [] : found.filter((session) => session.userId === place.userId)
        const candidates = theirs.length > 0 ? theirs : found
        const people = new Set(candidates.map((session) => session.userId))
        const threads = new Set(candidates.map((session) => session.threadId))
        return people.size === 1 && threads.size === 1 ? (candidates[0] ?? null) : null
      })
    )
  )

  /** The first words of a person name a conversation that nobody named. */
  const deriveTitle = (id: SessionId, text: string) =>
    Effect.gen(function* () {
      const title = TitleText.derived(text)
      if (title === "") return
      const sql = yield* Transaction
      const nameless = yield* sql`SELECT 1 FROM sessions WHERE id = ${id} AND title IS NULL AND hidden = 0`
      if (nameless.length === 0) return
      yield* sql`UPDATE sessions SET title = ${yield* SessionTitles.free(title, id)}, title_source = 'derived' WHERE id = ${id}`
    })

  const removeAll = (wanted: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const gone = sql`WITH RECURSIVE gone (id) AS (
        SELECT value FROM json_each(${JSON.stringify(wanted)})
        UNION SELECT s.id FROM sessions AS s JOIN gone ON s.parent_id = gone.id WHERE s.hidden = 1)`
      yield* sql`${gone} DELETE FROM routes WHERE session_id IN gone`
      yield* sql`${gone} UPDATE sessions SET parent_id = NULL WHERE hidden = 0 AND parent_id IN gone`
      return yield* sql<{ readonly id: string }>`${gone} DELETE FROM sessions WHERE id IN gone RETURNING id`
    })

  const prune = Effect.fn("SessionStore.prune")(
    ({ before, limit, dryRun }: { readonly before: number; readonly limit: number; readonly dryRun?: boolean }) =>
      database.write(
        "session.prune",
        Effect.gen(function* () {
          const sql = yield* Transaction
          const now = yield* Clock.currentTimeMillis
          const due = yield* sql<{ readonly id: string }>`WITH RECURSIVE kept (id) AS (
              SELECT id FROM sessions WHERE pinned = 1
              UNION SELECT s.parent_id FROM sessions AS s JOIN kept ON s.id = kept.id WHERE s.parent_id IS NOT NULL)
            SELECT s.id FROM sessions AS s
            WHERE s.ended_at IS NOT NULL AND s.last_activity_at < ${before} AND s.id NOT IN kept
              AND NOT EXISTS (SELECT 1 FROM leases WHERE name = 'compaction:' || s.id AND expires_at > ${now})
            ORDER BY s.last_activity_at LIMIT ${limit}`
          const wanted = due.map((row) => row.id)
          if (dryRun !== true && wanted.length > 0) yield* removeAll(wanted)
          return wanted
        })
      )
  )

  return SessionStore.of({
    create,
    resolve,
    reset,
    resume,
    peek,
    get,
    list,
    setTitle,
    end,
    branch,
    findByOrigin,
    deriveTitle,
    prune,
    setArchived: (id, archived) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE sessions SET archived = ${Rows.flag(archived)} WHERE id = ${id}`)
      ),
    setPinned: (id, pinned) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE sessions SET pinned = ${Rows.flag(pinned)} WHERE id = ${id}`)
      ),
    pinPrompt: (id, pinned) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const session = yield* rows.byId(sql, id)
        if (session?.systemPrompt != null && session.toolNames !== null) return
        const prompt = yield* PromptMemory.store(session?.systemPrompt ?? pinned.systemPrompt)
        const tools = yield* PromptMemory.store(JSON.stringify(session?.toolNames ?? pinned.toolNames))
        yield* sql`UPDATE sessions SET system_prompt_hash = ${prompt}, tool_names_hash = ${tools}, model = ${pinned.model}
          WHERE id = ${id}`
      }),
    remove: Effect.fn("SessionStore.remove")((id: SessionId) =>
      database.write(
        "session.remove",
        Effect.map(removeAll([id]), (removed) => removed.length > 0)
      )
    ),
    setSuspended: (id, suspended) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE sessions SET suspended = ${Rows.flag(suspended)} WHERE id = ${id}`)
      ),
    setUnread: (id, unread) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE sessions SET unread = ${Rows.flag(unread)} WHERE id = ${id}`)
      )
  })
})

/** Sessions and routes in SQLite. */
export const layer = Layer.effect(SessionStore, make)
