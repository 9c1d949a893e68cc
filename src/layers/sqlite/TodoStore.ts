import { Clock, Effect, Layer, Schema } from "effect"
import * as TodoList from "../../services/agent/TodoList.js"
import { TodoStore } from "../../services/agent/TodoStore.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const Items = Schema.parseJson(Schema.Array(TodoList.TodoItem))
const encodeItems = Schema.encode(Items)
const one = Rows.first(Schema.Struct({ revision: Schema.Number, items: Items }))

/** Todo lists in SQLite. */
export const layer = Layer.effect(
  TodoStore,
  Effect.map(Database, (database) =>
    TodoStore.of({
      get: Effect.fn("TodoStore.get")((sessionId: string) =>
        Effect.map(
          database.read("todo.get", (sql) =>
            one(sql`SELECT revision, items FROM todos WHERE session_id = ${sessionId}`)
          ),
          (list) => list ?? TodoList.empty
        )
      ),
      put: (sessionId, revision, items) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          const values = {
            session_id: sessionId,
            revision: revision + 1,
            items: yield* encodeItems(items),
            updated_at: yield* Clock.currentTimeMillis
          }
          const rows =
            revision === 0
              ? yield* sql`INSERT INTO todos ${sql.insert(values)} ON CONFLICT (session_id) DO NOTHING RETURNING revision`
              : yield* sql`UPDATE todos SET revision = ${values.revision}, items = ${values.items},
                  updated_at = ${values.updated_at} WHERE session_id = ${sessionId} AND revision = ${revision}
                  RETURNING revision`
          return rows.length > 0
        })
    })
  )
)
