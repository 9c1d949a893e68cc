import { Context, type Effect } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { TodoItem, TodoList } from "./TodoList.js"

/** One todo list per conversation, as a row: it outlives the turn, the process and every summary. */
export class TodoStore extends Context.Tag("hermes/agent/TodoStore")<
  TodoStore,
  {
    /** An empty list where nothing was ever noted. */
    readonly get: (sessionId: string) => Effect.Effect<TodoList, StateError>
    /** False when the list is another than the one of `revision` by now. */
    readonly put: (sessionId: string, revision: number, items: ReadonlyArray<TodoItem>) => Step<boolean>
  }
>() {}
