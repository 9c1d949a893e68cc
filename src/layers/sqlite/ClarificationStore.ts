import { Effect, Layer, Schema } from "effect"
import { ClarificationRow, ClarificationStore } from "../../services/agent/Clarification.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const Choices = Schema.parseJson(Schema.Array(Schema.String))
const encodeChoices = Schema.encode(Choices)

const one = Rows.first(
  Schema.Struct({ ...ClarificationRow.fields, choices: Choices, several: Rows.Flag }).pipe(
    Schema.transform(Schema.typeSchema(ClarificationRow), {
      strict: true,
      decode: (row) => new ClarificationRow(row, { disableValidation: true }),
      encode: (row) => row
    })
  )
)

const columns = `id, session_key AS sessionKey, turn_id AS turnId, call_id AS callId, question, choices, several, state,
  asked_at AS askedAt, expires_at AS expiresAt, answer, answered_by AS "by"`

/** Questions of the agent's own in SQLite. */
export const layer = Layer.effect(
  ClarificationStore,
  Effect.map(Database, (database) =>
    ClarificationStore.of({
      insert: (row) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`INSERT INTO clarifications ${sql.insert({
            id: row.id,
            session_key: row.sessionKey,
            turn_id: row.turnId,
            call_id: row.callId,
            question: row.question,
            choices: yield* encodeChoices(row.choices),
            several: Rows.flag(row.several),
            state: row.state,
            asked_at: row.askedAt,
            expires_at: row.expiresAt,
            answer: row.answer,
            answered_by: row.by
          })}`
        }),
      settle: (id, outcome) =>
        Effect.flatMap(Transaction, (sql) =>
          Effect.map(
            sql`UPDATE clarifications SET state = ${outcome.state}, answer = ${outcome.answer},
              answered_by = ${outcome.by} WHERE id = ${id} AND state = 'open' RETURNING id`,
            (settled) => settled.length > 0
          )
        ),
      get: Effect.fn("ClarificationStore.get")((id: string) =>
        database.read("clarification.get", (sql) =>
          one(sql`SELECT ${sql.literal(columns)} FROM clarifications WHERE id = ${id}`)
        )
      ),
      ofCall: Effect.fn("ClarificationStore.ofCall")((turnId: string, callId: string) =>
        database.read("clarification.ofCall", (sql) =>
          one(sql`SELECT ${sql.literal(columns)} FROM clarifications
            WHERE turn_id = ${turnId} AND call_id = ${callId} ORDER BY asked_at DESC, id DESC LIMIT 1`)
        )
      )
    })
  )
)
