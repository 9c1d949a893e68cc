/** `todo` (state-agent.md 4.6): the agent's list of steps, kept for the conversation. */
import { Effect, Layer, Schema } from "effect"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import * as TodoList from "../../services/agent/TodoList.js"
import { TodoStore } from "../../services/agent/TodoStore.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import { Database } from "../../services/state/Database.js"

/** A word that is no status would otherwise cost the whole list. */
const Status = Schema.Union(TodoList.TodoStatus, Schema.String).annotations({
  jsonSchema: { type: "string", enum: TodoList.TodoStatus.literals }
})

const Item = Schema.Struct({
  id: Schema.NonEmptyString.pipe(Schema.maxLength(64)),
  content: Schema.optional(Schema.String.pipe(Schema.maxLength(TodoList.longestContent))),
  status: Schema.optional(Status),
  parent: Schema.optional(Schema.NonEmptyString.annotations({ description: "The id of the item that it is part of." }))
})

const Parameters = Schema.Struct({
  items: Schema.optional(
    Schema.Array(Item)
      .pipe(Schema.maxItems(4 * TodoList.mostItems))
      .annotations({
        description: "Left out: the list is only read."
      })
  ),
  merge: Schema.optional(
    Schema.Boolean.annotations({
      description: "Change only these items, by id; without it they take the place of the whole list."
    })
  )
})

const Result = Schema.parseJson(
  Schema.Struct({
    revision: Schema.Int,
    counts: Schema.Struct({
      total: Schema.Int,
      pending: Schema.Int,
      in_progress: Schema.Int,
      completed: Schema.Int,
      cancelled: Schema.Int
    }),
    items: Schema.Array(TodoList.TodoItem)
  })
)

const description =
  "Your list of steps for work that has several: write it when you begin, keep one item in progress, mark each as you finish it. It stays when the conversation is summarised. Answers with the whole list."

const isStatus = Schema.is(TodoList.TodoStatus)

const draftOf = ({ content, id, parent, status }: typeof Item.Type): TodoList.TodoDraft => ({
  id,
  ...(content === undefined ? {} : { content }),
  ...(status === undefined ? {} : { status: isStatus(status) ? status : "pending" }),
  ...(parent === undefined ? {} : { parent })
})

const told = (list: TodoList.TodoList): typeof Result.Type => ({
  revision: list.revision,
  counts: TodoList.counts(list),
  items: list.items
})

/** Somebody else's change in between is taken in and the change made again, this often. */
const mostTries = 5

/** Adds the tool to the registry. */
export const layer: Layer.Layer<never, never, ToolRegistry | TodoStore | Database> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const store = yield* TodoStore
    const database = yield* Database

    const change = (
      sessionId: string,
      drafts: ReadonlyArray<TodoList.TodoDraft>,
      merge: boolean,
      tries: number
    ): Effect.Effect<TodoList.TodoList, Tool.ToolFailure> =>
      Effect.gen(function* () {
        const before = yield* store.get(sessionId)
        const list = TodoList.changed(before, drafts, merge)
        if ("problem" in list) return yield* new Tool.ToolFailure({ text: `${list.problem}; nothing was changed` })
        if (list === before) return list
        if (yield* database.write("todo.put", store.put(sessionId, before.revision, list.items))) return list
        return tries <= 1
          ? yield* new Tool.ToolFailure({ text: "the list is being changed elsewhere; read it and try again" })
          : yield* change(sessionId, drafts, merge, tries - 1)
      }).pipe(
        Effect.catchAll((error) =>
          error._tag === "ToolFailure"
            ? Effect.fail(error)
            : Effect.fail(new Tool.ToolFailure({ text: `the list could not be kept: ${error.message}` }))
        )
      )

    yield* registry.add([
      Tool.make({
        name: "todo",
        toolset: "todo",
        description,
        parameters: Parameters,
        result: Result,
        preview: ({ items, merge }) =>
          items === undefined ? "looks at its list" : `${merge === true ? "changes" : "writes"} ${items.length} items`,
        handler: ({ items, merge }) =>
          Effect.gen(function* () {
            const turn = yield* Turn.current
            const sessionId = Field.valueOrNull(turn.identity.sessionId)
            if (sessionId === null)
              return yield* new Tool.ToolFailure({ text: "there is no conversation here to keep a list for" })
            if (items === undefined)
              return told(
                yield* Effect.mapError(store.get(sessionId), ({ message }) => new Tool.ToolFailure({ text: message }))
              )
            return told(yield* change(sessionId, items.map(draftOf), merge ?? false, mostTries))
          })
      })
    ])
  })
)
