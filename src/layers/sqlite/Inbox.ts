import { Clock, Effect, Layer, Schema } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import { Inbox, type InboxEntry, type StoredArrival } from "../../services/conversation/Inbox.js"
import { InboundEvent } from "../../services/conversation/InboundEvent.js"
import { bare } from "../../services/delivery/Target.js"
import { Ids } from "../../services/operation/Ids.js"
import { Millis } from "../../services/operation/Instant.js"
import { SessionKey } from "../../services/session/SessionKey.js"
import { Database, Transaction } from "../../services/state/Database.js"
import { Owner } from "../../services/state/Owner.js"
import * as NodeIds from "../node/Ids.js"
import { isOwned } from "./OwnerLease.js"
import * as Rows from "./Rows.js"

/** How stale a chat's last sight may become before it is written again: one write a minute, not one a message. */
const sightMillis = 60_000

const Event = Schema.parseJson(InboundEvent)
const Arrival = Schema.parseJson(
  Schema.Struct({
    asyncDelivery: Schema.Boolean,
    marker: CronMarker.schema,
    unattended: Schema.NullOr(Schema.Literal("single_query", "unattended")),
    workingDirectory: Schema.NullOr(Schema.String),
    paired: Schema.optional(Schema.Boolean)
  })
)

const Row = Schema.Struct({
  id: Schema.String,
  sequence: Schema.Number,
  key: SessionKey,
  event: Event,
  arrival: Arrival,
  acceptedAt: Millis,
  state: Schema.Literal("accepted", "running", "answered", "steered", "interrupted", "dropped", "failed"),
  turnId: Schema.NullOr(Schema.String)
})

const columns = `id, sequence, session_key AS key, event, arrival, accepted_at AS acceptedAt, state, turn_id AS turnId`

const many = Rows.all(Row, "inbound_events")
const one = Rows.first(Row)

/** Chats whose last sight is fresh, so that a lively one does not cost a statement a message. */
const sightsKept = 1_024

/** Remembers the chat of an event, with the newest name that it had. A topic keeps the one that it was opened under: its messages say only the chat's. */
const makeNoteChat = () => {
  const seen = new Map<string, { readonly name: string | null; readonly at: number }>()

  const isFresh = (chat: string, name: string | null, at: number): boolean => {
    const last = seen.get(chat)
    if (last !== undefined && at - last.at < sightMillis && (name === null || name === last.name)) return true
    if (seen.size >= sightsKept) seen.clear()
    seen.set(chat, { name: name ?? last?.name ?? null, at })
    return false
  }

  return Effect.fnUntraced(function* ({ source }: InboundEvent, at: number) {
    const { chatId, chatName, chatType, platform } = source
    const threadId = source.threadId ?? ""
    if (chatId === null || platform === "") return
    if (isFresh(JSON.stringify([platform, chatId, threadId]), chatName, at)) return
    const sql = yield* Transaction
    yield* sql`INSERT INTO channels (platform, chat_id, thread_id, name, spoken_name, type, last_seen_at)
        VALUES (${platform}, ${chatId}, ${threadId}, ${chatName}, ${chatName === null ? null : bare(chatName)}, ${chatType}, ${at})
        ON CONFLICT (platform, chat_id, thread_id) DO UPDATE
          SET name = iif(type = 'topic', name, coalesce(excluded.name, name)),
            spoken_name = iif(type = 'topic', spoken_name, coalesce(excluded.spoken_name, spoken_name)),
            type = iif(type = 'topic', type, excluded.type), last_seen_at = excluded.last_seen_at`
  })
}

/** What makes an event the same as another: its message's id, or what it tells the end of (whose message is the anchor's). */
const onceOf = ({ internal, messageId }: InboundEvent): string | null =>
  internal === null ? messageId : `internal:${internal.kind}:${internal.id}`

const make = Effect.gen(function* () {
  const database = yield* Database
  const ids = yield* Ids
  const owner = yield* Owner
  const noteChat = makeNoteChat()

  const acceptWith = Effect.fnUntraced(function* (
    id: string,
    key: SessionKey,
    event: InboundEvent,
    arrival: StoredArrival,
    turnId: string | null = null
  ) {
    const sql = yield* Transaction
    const { source } = event
    const acceptedAt = yield* Clock.currentTimeMillis
    const state = turnId === null ? "accepted" : "running"
    const sequence = yield* Rows.freshId(
      sql`INSERT INTO inbound_events (id, session_key, platform, bot_id, chat_id, message_id, event, arrival,
            accepted_at, owner, state, turn_id)
          VALUES (${id}, ${key}, ${source.platform}, ${source.botId ?? ""}, ${source.chatId ?? ""},
            ${onceOf(event)}, ${JSON.stringify(event)}, ${JSON.stringify(arrival)},
            ${acceptedAt}, ${owner}, ${state}, ${turnId})
          ON CONFLICT (platform, bot_id, chat_id, message_id) WHERE message_id IS NOT NULL DO NOTHING`
    )
    if (sequence === null) return null
    yield* noteChat(event, acceptedAt)
    const entry: InboxEntry = { id, sequence, key, event, arrival, acceptedAt, state, turnId }
    return entry
  })

  const accept = (key: SessionKey, event: InboundEvent, arrival: StoredArrival) =>
    Effect.flatMap(ids.next("event"), (id) =>
      database.write("inbox.accept", acceptWith(id, key, event, arrival), "transcript")
    )

  return Inbox.of({
    accept,
    acceptWith,
    settle: (id, state, turnId) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE inbound_events SET state = ${state}, turn_id = coalesce(${turnId}, turn_id)
          WHERE id = ${id}`)
      ),
    unbegun: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      database.read("inbox.unbegun", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM inbound_events
          WHERE state = 'accepted' AND NOT ${sql.literal(isOwned("inbound_events", now))} ORDER BY sequence`)
      )
    ),
    steered: (key, { from, to }) =>
      database.read("inbox.steered", (sql) =>
        // Ids tell the time: only what may be meant is looked at.
        many(sql`SELECT ${sql.literal(columns)} FROM inbound_events
          WHERE id >= ${NodeIds.earliest("event", from)} AND id < ${NodeIds.earliest("event", to + 1)}
            AND session_key = ${key} AND state = 'steered' ORDER BY sequence`)
      ),
    get: Effect.fn("Inbox.get")((id: string) =>
      database.read("inbox.get", (sql) => one(sql`SELECT ${sql.literal(columns)} FROM inbound_events WHERE id = ${id}`))
    )
  })
})

/** The durable inbox in SQLite; it also remembers the chats that it has met. */
export const layer = Layer.effect(Inbox, make)
