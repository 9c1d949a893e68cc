import type { SqlClient } from "@effect/sql"
import { Clock, Effect, Layer, Schema } from "effect"
import {
  type CauseKind,
  DeliveryRow,
  type DeliveryState,
  type NewDelivery,
  Outbox
} from "../../services/delivery/Outbox.js"
import { MediaFile } from "../../services/delivery/Media.js"
import { Ids } from "../../services/operation/Ids.js"
import { Millis } from "../../services/operation/Instant.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const { address: _address, cause: _cause, ...fields } = DeliveryRow.fields

const Row = Schema.Struct({
  ...fields,
  causeKind: DeliveryRow.fields.cause.fields.kind,
  causeId: Schema.String,
  platform: Schema.String,
  chatId: Schema.String,
  threadId: Schema.NullOr(Schema.String),
  anchor: Schema.NullOr(Schema.String),
  scopeId: Schema.NullOr(Schema.String),
  replyToPerson: Rows.Flag,
  isCron: Rows.Flag,
  media: Schema.NullOr(Schema.parseJson(Schema.Array(MediaFile)))
}).pipe(
  Schema.transform(Schema.typeSchema(DeliveryRow), {
    strict: true,
    decode: ({ anchor, causeId, causeKind, chatId, media, platform, scopeId, threadId, ...rest }) =>
      new DeliveryRow(
        {
          ...rest,
          media: media ?? [],
          cause: { kind: causeKind, id: causeId },
          address: { platform, chatId, threadId, anchor, scopeId }
        },
        { disableValidation: true }
      ),
    encode: ({ address, cause, ...rest }) => ({ ...rest, ...address, causeKind: cause.kind, causeId: cause.id })
  })
)
const many = Rows.all(Row, "deliveries")
const Inserted = Rows.whole(Schema.Struct({ id: Schema.String }))
const one = Rows.first(Row)
const chats = Rows.all(
  Schema.Struct({ platform: Schema.String, chatId: Schema.String, notBefore: Schema.NullOr(Millis) }),
  "deliveries"
)

const columns = `id, cause_kind AS causeKind, cause_id AS causeId, platform, chat_id AS chatId, thread_id AS threadId,
  anchor, scope_id AS scopeId, part, parts, text, media, transcript_id AS transcriptId, via, state,
  platform_message_id AS platformMessageId, attempts, reason, resend_of AS resendOf,
  reply_to_person AS replyToPerson, turn_id AS turnId, session_key AS sessionKey, is_cron AS isCron,
  created_at AS createdAt, settled_at AS settledAt, not_before AS notBefore`

const encodeMedia = Schema.encodeSync(Schema.parseJson(Schema.Array(MediaFile)))
const mediaText = (media: NewDelivery["media"]): string | null =>
  media === undefined || media.length === 0 ? null : encodeMedia(media)

const rowOf = (delivery: NewDelivery, id: string, createdAt: number): DeliveryRow =>
  new DeliveryRow(
    {
      id,
      cause: delivery.cause,
      address: delivery.address,
      part: delivery.part,
      parts: delivery.parts,
      text: delivery.text,
      media: delivery.media ?? [],
      transcriptId: delivery.transcriptId,
      via: delivery.via,
      state: delivery.state,
      platformMessageId: null,
      attempts: delivery.state === "sending" ? 1 : 0,
      reason: null,
      resendOf: delivery.resendOf,
      replyToPerson: delivery.replyToPerson,
      turnId: delivery.turnId,
      sessionKey: delivery.sessionKey,
      isCron: delivery.isCron,
      createdAt,
      settledAt: null,
      notBefore: delivery.follows === true ? createdAt : null
    },
    { disableValidation: true }
  )

/** What a new row has; the rest of its columns is null. */
const insertable = `id, cause_kind, cause_id, platform, chat_id, thread_id, anchor, scope_id, part, parts, text, media,
  transcript_id, via, state, attempts, resend_of, reply_to_person, turn_id, session_key, is_cron, created_at, not_before`

/** In the order of {@link insertable}. */
const valuesOf = (row: DeliveryRow): ReadonlyArray<string | number | null> => [
  row.id,
  row.cause.kind,
  row.cause.id,
  row.address.platform,
  row.address.chatId,
  row.address.threadId,
  row.address.anchor,
  row.address.scopeId,
  row.part,
  row.parts,
  row.text,
  mediaText(row.media),
  row.transcriptId,
  row.via,
  row.state,
  row.attempts,
  row.resendOf,
  Rows.flag(row.replyToPerson),
  row.turnId,
  row.sessionKey,
  Rows.flag(row.isCron),
  row.createdAt,
  row.notBefore
]

const insertRows = (count: number): string => {
  const row = `(${insertable.replace(/\w+/g, "?")})`
  return `INSERT INTO deliveries (${insertable}) VALUES ${Array.from({ length: count }, () => row).join(", ")}
    ON CONFLICT DO NOTHING RETURNING id`
}
/** Most answers have one part. */
const insertOne = insertRows(1)

/** The row that is there already for the same cause, target and part. */
const existing = (sql: SqlClient.SqlClient, delivery: DeliveryRow) =>
  one(sql`SELECT ${sql.literal(columns)} FROM deliveries
    WHERE cause_kind = ${delivery.cause.kind} AND cause_id = ${delivery.cause.id}
      AND platform = ${delivery.address.platform} AND chat_id = ${delivery.address.chatId}
      AND coalesce(thread_id, '') = ${delivery.address.threadId ?? ""} AND part = ${delivery.part}
      AND (resend_of IS NOT NULL) = ${delivery.resendOf === null ? 0 : 1}`)

const make = Effect.gen(function* () {
  const database = yield* Database
  const ids = yield* Ids

  const insert = Effect.fnUntraced(function* (deliveries: ReadonlyArray<NewDelivery>) {
    if (deliveries.length === 0) return []
    const sql = yield* Transaction
    const now = yield* Clock.currentTimeMillis
    const fresh: Array<DeliveryRow> = []
    for (const delivery of deliveries) fresh.push(rowOf(delivery, yield* ids.next("delivery"), now))
    const inserted = yield* Rows.inserted(fresh, (some) =>
      Inserted(sql.unsafe(some.length === 1 ? insertOne : insertRows(some.length), some.flatMap(valuesOf)))
    )
    const made = new Set(inserted.map((row) => row.id))
    const rows: Array<DeliveryRow> = []
    for (const row of fresh) {
      const stored = made.has(row.id) ? row : yield* existing(sql, row)
      rows.push(stored ?? (yield* Effect.dieMessage("a delivery is neither new nor there")))
    }
    return rows
  })

  return Outbox.of({
    insert,
    become: (id, delivery) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const changed = yield* one(sql`UPDATE deliveries SET state = 'sending',
            cause_kind = ${delivery.cause.kind}, cause_id = ${delivery.cause.id}, part = ${delivery.part},
            parts = ${delivery.parts}, text = ${delivery.text}, media = ${mediaText(delivery.media)}, transcript_id = ${delivery.transcriptId},
            reply_to_person = ${Rows.flag(delivery.replyToPerson)}, settled_at = NULL, not_before = NULL, reason = NULL
          WHERE id = ${id} RETURNING ${sql.literal(columns)}`)
        return changed ?? (yield* Effect.dieMessage(`delivery ${id} cannot become another: it is not there`))
      }),
    markSending: (id) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE deliveries
          SET state = 'sending', attempts = attempts + 1, settled_at = NULL, not_before = NULL, reason = NULL
          WHERE id = ${id} AND state <> 'sent'`)
      ),
    notePause: (id, pause) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE deliveries
          SET not_before = ${pause?.notBefore ?? null}, reason = ${pause?.reason ?? null}
          WHERE id = ${id} AND state = 'sending'`)
      ),
    noteMessage: (id, platformMessageId) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE deliveries SET platform_message_id = ${platformMessageId} WHERE id = ${id}`)
      ),
    settle: Effect.fnUntraced(function* (id, outcome) {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      switch (outcome.state) {
        case "sent":
          return yield* Effect.asVoid(sql`UPDATE deliveries
              SET state = 'sent', platform_message_id = coalesce(${outcome.platformMessageId}, platform_message_id),
                reason = ${outcome.note}, settled_at = ${now}, not_before = NULL WHERE id = ${id}`)
        case "pending":
          return yield* Effect.asVoid(sql`UPDATE deliveries
              SET state = 'pending', reason = ${outcome.reason}, not_before = ${outcome.notBefore}, settled_at = NULL
              WHERE id = ${id} AND state <> 'sent'`)
        case "failed":
        case "unknown":
        case "suppressed":
          return yield* Effect.asVoid(sql`UPDATE deliveries
              SET state = ${outcome.state}, reason = ${outcome.reason}, settled_at = ${now}, not_before = NULL
              WHERE id = ${id} AND state <> 'sent'`)
      }
    }),
    get: Effect.fn("Outbox.get")((id: string) =>
      database.read("outbox.get", (sql) => one(sql`SELECT ${sql.literal(columns)} FROM deliveries WHERE id = ${id}`))
    ),
    inState: Effect.fn("Outbox.inState")((states: ReadonlyArray<DeliveryState>, limit: number) =>
      database.read("outbox.inState", (sql) =>
        states.length === 0
          ? Effect.succeed([])
          : many(sql`SELECT ${sql.literal(columns)} FROM deliveries
              WHERE ${sql.in("state", states)} ${states.includes("sent") ? sql`` : sql`AND state <> 'sent'`}
              ORDER BY id LIMIT ${limit}`)
      )
    ),
    waitingChats: database
      .read("outbox.waitingChats", (sql) =>
        chats(sql`SELECT platform, chat_id AS chatId, max(not_before) AS notBefore, min(coalesce(resend_of, id)) AS place
          FROM deliveries WHERE state = 'pending' GROUP BY platform, chat_id ORDER BY place`)
      )
      .pipe(Effect.withSpan("Outbox.waitingChats")),
    waitingIn: Effect.fn("Outbox.waitingIn")((chat, limit) =>
      database.read("outbox.waitingIn", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM deliveries
          WHERE state = 'pending' AND platform = ${chat.platform} AND chat_id = ${chat.chatId}
          ORDER BY coalesce(resend_of, id) LIMIT ${limit}`)
      )
    ),
    ofCause: Effect.fn("Outbox.ofCause")((kind: CauseKind, id: string) =>
      database.read("outbox.ofCause", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM deliveries WHERE cause_kind = ${kind} AND cause_id = ${id}
          ORDER BY id`)
      )
    ),
    mediaOf: Effect.fn("Outbox.mediaOf")((transcriptIds: ReadonlyArray<number>) =>
      database.read("outbox.mediaOf", (sql) =>
        transcriptIds.length === 0
          ? Effect.succeed([])
          : many(sql`SELECT ${sql.literal(columns)} FROM deliveries
              WHERE media IS NOT NULL AND resend_of IS NULL
                AND (${sql.in("transcript_id", transcriptIds)}
                  OR (platform = 'web' AND ${sql.in("platform_message_id", transcriptIds.map(String))}))
              ORDER BY id`)
      )
    ),
    ofTurn: Effect.fn("Outbox.ofTurn")((turnId: string) =>
      database.read("outbox.ofTurn", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM deliveries
          WHERE (cause_kind = 'turn' AND cause_id = ${turnId})
            OR (cause_kind = 'turn' AND cause_id > ${`${turnId}~`} AND cause_id < ${`${turnId}\u007f`})
            OR (cause_kind = 'send_message' AND cause_id > ${`${turnId}:`} AND cause_id < ${`${turnId};`})
          ORDER BY id`)
      )
    ),
    list: Effect.fn("Outbox.list")((options: { readonly limit: number; readonly state?: DeliveryState }) =>
      database.read("outbox.list", (sql) =>
        many(sql`SELECT ${sql.literal(columns)} FROM deliveries
          WHERE ${options.state === undefined ? sql`1` : sql`state = ${options.state}`}
            ${options.state === undefined || options.state === "sent" ? sql`` : sql`AND state <> 'sent'`}
          ORDER BY id DESC LIMIT ${options.limit}`)
      )
    )
  })
})

/** Outbound messages in SQLite. */
export const layer = Layer.effect(Outbox, make)
