import type { SqlClient } from "@effect/sql"
import { Effect, Layer, Schema } from "effect"
import { ApprovalRow } from "../../services/approval/Approval.js"
import { ApprovalStore } from "../../services/approval/ApprovalStore.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const Reasons = Schema.parseJson(Schema.Array(Schema.String))
const encodeReasons = Schema.encode(Reasons)

const Row = Schema.Struct({ ...ApprovalRow.fields, reasons: Reasons }).pipe(
  Schema.transform(Schema.typeSchema(ApprovalRow), {
    strict: true,
    decode: (row) => new ApprovalRow(row, { disableValidation: true }),
    encode: (row) => row
  })
)
const many = Rows.all(Row, "approvals")
const one = Rows.first(Row)

const columns = `id, session_key AS sessionKey, turn_id AS turnId, call_id AS callId, tool, subject, reasons, state,
  asked_at AS askedAt, expires_at AS expiresAt, answered_at AS answeredAt, answer, answered_by AS "by"`

/** What was answered for a conversation ends with it: `/new` begins another under the same key. */
const inItsConversation = (sql: SqlClient.SqlClient) =>
  sql`answered_at >= coalesce((SELECT max(started_at) FROM sessions
    WHERE key = approvals.session_key AND ended_at IS NULL), 0)`

/** Questions in SQLite. */
export const layer = Layer.effect(
  ApprovalStore,
  Effect.map(Database, (database) =>
    ApprovalStore.of({
      insert: (row) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`INSERT INTO approvals ${sql.insert({
            id: row.id,
            session_key: row.sessionKey,
            turn_id: row.turnId,
            call_id: row.callId,
            tool: row.tool,
            subject: row.subject,
            reasons: yield* encodeReasons(row.reasons),
            state: row.state,
            asked_at: row.askedAt,
            expires_at: row.expiresAt,
            answered_at: row.answeredAt,
            answer: row.answer,
            answered_by: row.by
          })}`
        }),
      settle: (id, outcome) =>
        Effect.flatMap(Transaction, (sql) =>
          Effect.map(
            sql`UPDATE approvals SET state = ${outcome.state}, answer = ${outcome.answer}, answered_by = ${outcome.by},
              answered_at = ${outcome.at} WHERE id = ${id} AND state = 'open' RETURNING id`,
            (settled) => settled.length > 0
          )
        ),
      get: Effect.fn("ApprovalStore.get")((id: string) =>
        database.read("approval.get", (sql) => one(sql`SELECT ${sql.literal(columns)} FROM approvals WHERE id = ${id}`))
      ),
      openOfCall: Effect.fn("ApprovalStore.openOfCall")((turnId: string, callId: string) =>
        database.read("approval.openOfCall", (sql) =>
          one(sql`SELECT ${sql.literal(columns)} FROM approvals
            WHERE turn_id = ${turnId} AND call_id = ${callId} AND state = 'open' ORDER BY asked_at, id LIMIT 1`)
        )
      ),
      ofCall: Effect.fn("ApprovalStore.ofCall")((turnId: string, callId: string) =>
        database.read("approval.ofCall", (sql) =>
          many(sql`SELECT ${sql.literal(columns)} FROM approvals WHERE turn_id = ${turnId} AND call_id = ${callId}
            ORDER BY asked_at, id`)
        )
      ),
      ofTurn: Effect.fn("ApprovalStore.ofTurn")((turnId: string) =>
        database.read("approval.ofTurn", (sql) =>
          many(sql`SELECT ${sql.literal(columns)} FROM approvals WHERE turn_id = ${turnId} ORDER BY asked_at, id`)
        )
      ),
      open: Effect.fn("ApprovalStore.open")((sessionKey: string | null) =>
        database.read("approval.open", (sql) =>
          many(sql`SELECT ${sql.literal(columns)} FROM approvals
            WHERE state = 'open' AND ${sessionKey === null ? sql`1` : sql`session_key = ${sessionKey}`}
            ORDER BY asked_at, id`)
        )
      ),
      grants: Effect.fn("ApprovalStore.grants")((tool: string | null) =>
        database.read("approval.grants", (sql) =>
          many(sql`SELECT ${sql.literal(columns)} FROM approvals
            WHERE state = 'approved' AND (answer = 'always' OR (answer = 'session' AND ${inItsConversation(sql)}))
              AND ${tool === null ? sql`1` : sql`tool = ${tool}`}
            ORDER BY answered_at DESC, id DESC LIMIT 500`)
        )
      ),
      revoke: (id) =>
        Effect.flatMap(Transaction, (sql) =>
          Effect.map(
            sql`UPDATE approvals SET answer = answer || ', revoked'
              WHERE id = ${id} AND state = 'approved' AND answer IN ('session', 'always') RETURNING id`,
            (revoked) => revoked.length > 0
          )
        ),
      list: Effect.fn("ApprovalStore.list")((limit: number) =>
        database.read("approval.list", (sql) =>
          many(sql`SELECT ${sql.literal(columns)} FROM approvals ORDER BY asked_at DESC, id DESC LIMIT ${limit}`)
        )
      )
    })
  )
)
