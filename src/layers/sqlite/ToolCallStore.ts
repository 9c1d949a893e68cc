import { Effect, Layer, Schema } from "effect"
import { ToolCallStore } from "../../services/agent/ToolCallStore.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const Row = Schema.Struct({
  turnId: Schema.String,
  callId: Schema.String,
  position: Schema.Number,
  tool: Schema.String,
  state: Schema.Literal("recorded", "waiting", "started", "settled")
})
const many = Rows.all(Row, "tool_calls")

/** The calls of a turn's answers in SQLite, each known by its turn and its own id. */
export const layer = Layer.effect(
  ToolCallStore,
  Effect.map(Database, (database) =>
    ToolCallStore.of({
      record: (turnId, calls) =>
        Effect.gen(function* () {
          if (calls.length === 0) return
          const sql = yield* Transaction
          const before = yield* Rows.count(sql`SELECT count(*) AS count FROM tool_calls WHERE turn_id = ${turnId}`)
          yield* sql`INSERT INTO tool_calls ${sql.insert(
            calls.map((call, index) => ({
              turn_id: turnId,
              position: before + index,
              call_id: call.callId,
              tool: call.tool,
              state: "recorded"
            }))
          )}`
        }),
      advance: (turnId, callId, state) =>
        Effect.flatMap(Transaction, (sql) =>
          Effect.asVoid(sql`UPDATE tool_calls SET state = ${state}
            WHERE turn_id = ${turnId} AND call_id = ${callId} AND state <> 'settled'`)
        ),
      ofTurn: Effect.fn("ToolCallStore.ofTurn")((turnId: string) =>
        database.read("calls.ofTurn", (sql) =>
          many(sql`SELECT turn_id AS turnId, call_id AS callId, position, tool, state FROM tool_calls
            WHERE turn_id = ${turnId} ORDER BY position`)
        )
      )
    })
  )
)
