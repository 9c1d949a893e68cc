import { Clock, Effect, Layer, Mailbox, Schema } from "effect"
import { Parcel } from "../../fibers/Parcel.js"
import { InternalEvents, type InternalRow } from "../../services/conversation/InternalEvents.js"
import type { InternalCause } from "../../services/conversation/InboundEvent.js"
import { Millis } from "../../services/operation/Instant.js"
import { Database, type Step, Transaction } from "../../services/state/Database.js"
import { Owner } from "../../services/state/Owner.js"
import { isAnybody, isOwned } from "./OwnerLease.js"
import * as Rows from "./Rows.js"

const Packed = Schema.parseJson(Parcel.schema(Schema.Null))
const encodeParcel = Schema.encode(Packed)

const Row = Schema.Struct({
  kind: Schema.Literal("delegation", "process"),
  causeId: Schema.String,
  parcel: Packed,
  text: Schema.String,
  state: Schema.Literal("expected", "stored", "accepted", "aside", "refused"),
  storedAt: Millis,
  eventId: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String)
})
const waiting = Rows.parted(Row)
const one = Rows.first(Row)

const columns = `kind, cause_id AS causeId, parcel, text, state, stored_at AS storedAt, event_id AS eventId, reason`

const rowOf = ({ causeId, kind, ...row }: typeof Row.Type): InternalRow => ({ cause: { kind, id: causeId }, ...row })

/** Handed over so many at a time: the rest waits for the next look. */
const atOnce = 100

const make = Effect.gen(function* () {
  const database = yield* Database
  const owner = yield* Owner
  const bell = yield* Effect.acquireRelease(
    Mailbox.make<void>({ capacity: 1, strategy: "dropping" }),
    (mailbox) => mailbox.shutdown
  )

  const refuseRow = (kind: unknown, id: unknown, reason: string): Step<void> =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      yield* sql.unsafe(
        `UPDATE internal_events SET state = 'refused', reason = ?, settled_at = ?
          WHERE kind = ? AND cause_id = ? AND state IN ('expected', 'stored')`,
        [reason, yield* Clock.currentTimeMillis, kind, id]
      )
    })

  return InternalEvents.of({
    expect: (cause) =>
      Effect.map(Parcel.pack(null), (parcel) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`INSERT INTO internal_events (kind, cause_id, parcel, text, state, stored_at, owner)
            VALUES (${cause.kind}, ${cause.id}, ${yield* encodeParcel(parcel)}, '', 'expected',
              ${yield* Clock.currentTimeMillis}, ${owner})
            ON CONFLICT (kind, cause_id) DO NOTHING`
        })
      ),
    tell: (cause, text) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        yield* sql`UPDATE internal_events SET state = 'stored', text = ${text}, stored_at = ${yield* Clock.currentTimeMillis}
          WHERE kind = ${cause.kind} AND cause_id = ${cause.id} AND state = 'expected'`
      }),
    announce: Effect.asVoid(bell.offer(undefined)),
    announced: Effect.catchAll(bell.take, () => Effect.never),
    waiting: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const { rows, unreadable } = yield* database.read("internal.waiting", (sql) =>
        waiting(sql`SELECT ${sql.literal(columns)} FROM internal_events WHERE state = 'stored'
          AND (owner IS ${owner} ${owner === null ? sql`OR NOT ${sql.literal(isOwned("internal_events", now))}` : sql``})
          ORDER BY stored_at, kind, cause_id LIMIT ${atOnce}`)
      )
      // They would be met at every look, and a hundred of them would keep all others out.
      for (const { problem, row } of unreadable) {
        yield* Effect.logWarning("an internal event cannot be read and is refused").pipe(
          Effect.annotateLogs({ id: row["causeId"], problem })
        )
        yield* database.write("internal.unreadable", refuseRow(row["kind"], row["causeId"], "it cannot be read"))
      }
      return rows.map(rowOf)
    }),
    // Beside a chat there may always be a gateway.
    mayBeLeft:
      owner !== null
        ? Effect.succeed(true)
        : Effect.flatMap(Clock.currentTimeMillis, (now) =>
            Effect.map(
              database.read("internal.others", (sql) => sql.unsafe(isAnybody, [now])),
              ([found]) => found !== undefined
            )
          ),
    accept: (cause, eventId) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const accepted = yield* sql`UPDATE internal_events SET state = 'accepted', event_id = ${eventId},
            settled_at = ${yield* Clock.currentTimeMillis}
          WHERE kind = ${cause.kind} AND cause_id = ${cause.id} AND state = 'stored' RETURNING 1`
        return accepted.length > 0
      }),
    putAside: (cause, sessionId, key) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        // Its conversation may have been taken up again since somebody looked.
        const put = yield* sql`UPDATE internal_events SET state = 'aside', reason = ${sessionId},
            settled_at = ${yield* Clock.currentTimeMillis}
          WHERE kind = ${cause.kind} AND cause_id = ${cause.id} AND state = 'stored'
            AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = ${sessionId} AND ended_at IS NULL AND key = ${key})
          RETURNING 1`
        return put.length > 0
      }),
    refuse: (cause, reason) => refuseRow(cause.kind, cause.id, reason),
    get: Effect.fn("InternalEvents.get")((cause: InternalCause) =>
      database.read("internal.get", (sql) =>
        Effect.map(
          one(sql`SELECT ${sql.literal(columns)} FROM internal_events
            WHERE kind = ${cause.kind} AND cause_id = ${cause.id}`),
          (row) => (row === null ? null : rowOf(row))
        )
      )
    )
  })
})

/** In the transaction that takes a conversation up again: what waited for it is to be handed over now. */
export const takeUp = (sessionId: string): Step<void> =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    yield* sql`UPDATE internal_events SET state = 'stored', reason = NULL, settled_at = NULL
      WHERE state = 'aside' AND reason = ${sessionId}`
  })

/** Internal events in SQLite, with a bell for the process that hands them over. */
export const layer: Layer.Layer<InternalEvents, never, Database> = Layer.scoped(InternalEvents, make)
