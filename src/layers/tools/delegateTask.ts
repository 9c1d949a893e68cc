import { Clock, Effect, Either, Layer, Schema } from "effect"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import {
  type Asker,
  Delegation,
  type DelegateTask,
  type RunningDelegate,
  Role,
  type DelegationRefused
} from "../../services/delegation/Delegation.js"
import * as OutputSchema from "../../services/delegation/OutputSchema.js"
import * as Report from "../../services/delegation/Report.js"
import type { StateError } from "../../services/state/StateError.js"

const role = Schema.optional(
  Role.annotations({
    description: "`leaf` (the default) works alone; `orchestrator` may have helpers of its own, where that is allowed."
  })
)
const shape = Schema.optional(
  Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
    description: "JSON Schema that the report must fit; it is checked, and asked for once more when it does not."
  })
)

const Task = Schema.Struct({
  goal: Schema.NonEmptyString.annotations({
    description: "What to do, complete in itself: the helper knows nothing else."
  }),
  context: Schema.optional(Schema.String.annotations({ description: "Facts, paths and constraints that it needs." })),
  role,
  output_schema: shape
})

const Parameters = Schema.Struct({
  goal: Schema.optional(Schema.String.annotations({ description: "One task. Use `tasks` for several at once." })),
  context: Schema.optional(Schema.String),
  tasks: Schema.optional(Schema.Array(Task).annotations({ description: "Tasks that run beside each other." })),
  role,
  output_schema: shape,
  background: Schema.optional(
    Schema.Boolean.annotations({
      description: "true: do not wait. The report comes into this conversation by itself when all tasks have ended."
    })
  ),
  action: Schema.optional(
    Schema.Literal("list", "steer", "stop").annotations({
      description:
        "About helpers at work instead of a new task: `list` them, `steer` one with `message`, or `stop` one."
    })
  ),
  subagent_id: Schema.optional(
    Schema.String.annotations({ description: "The helper that `steer` or `stop` is about." })
  ),
  message: Schema.optional(Schema.String.annotations({ description: "What `steer` says to it." }))
})
type Args = typeof Parameters.Type

const Listed = Schema.Struct({
  id: Schema.String,
  goal: Schema.String,
  background: Schema.Boolean,
  depth: Schema.Int,
  seconds: Schema.Int,
  doing: Schema.NullOr(Schema.String),
  idle_seconds: Schema.Int
})

const Started = Schema.Struct({
  started: Schema.Array(Schema.Struct({ id: Schema.String, goal: Schema.String })),
  note: Schema.String
})

/** Helpers at work, or those that begin behind this turn; else a report or a word in text. */
const Result = Schema.Union(
  Schema.parseJson(Schema.Array(Listed)),
  Schema.parseJson(Started),
  Tool.text("the helpers' reports, or what became of a word to one")
)

type Result = typeof Result.Type

const description =
  "Gives work to helpers that start with nothing but the goal and context you write, use their own tools and report back. " +
  "Use it for work that is separate and large; several `tasks` run at the same time. A report is a claim: check what matters."

const failed = (text: string) => new Tool.ToolFailure({ text })

const taskOf = (task: typeof Task.Type): Either.Either<DelegateTask, string> =>
  Either.map(task.output_schema === undefined ? Either.right(null) : OutputSchema.of(task.output_schema), (schema) => ({
    goal: task.goal,
    context: task.context ?? null,
    role: task.role ?? null,
    outputSchema: schema
  }))

/** One task or several; what is said beside `tasks` counts for each that says nothing itself. */
const tasksOf = (args: Args): Either.Either<ReadonlyArray<DelegateTask>, string> => {
  const single = args.goal === undefined || args.goal.trim() === "" ? null : args.goal
  if (single !== null && (args.tasks ?? []).length > 0) return Either.left("give either `goal` or `tasks`, not both")
  const given = single === null ? (args.tasks ?? []) : [{ goal: single, context: args.context }]
  return Either.mapLeft(
    Either.all(
      given.map((task) =>
        taskOf({
          ...task,
          role: ("role" in task ? task.role : undefined) ?? args.role,
          output_schema: ("output_schema" in task ? task.output_schema : undefined) ?? args.output_schema
        })
      )
    ),
    (problem) =>
      `the output schema is not understood (${problem}); it may have type, enum, const, properties, required, ` +
      "additionalProperties, items, anyOf, minimum, maximum, minLength, maxLength, minItems, maxItems, title and description"
  )
}

const listed = (helper: RunningDelegate, now: number): typeof Listed.Type => ({
  id: helper.delegationId,
  goal: helper.goal.slice(0, 200),
  background: helper.background,
  depth: helper.depth,
  seconds: Math.round((now - helper.startedAt) / 1000),
  doing: helper.lastDoing,
  idle_seconds: Math.round((now - helper.lastAt) / 1000)
})

/** `delegate_task`: inline, a batch, in the background, and a word to helpers at work (gateway.md 7.1). */
export const layer: Layer.Layer<never, never, Delegation | ToolRegistry> = Layer.effectDiscard(
  Effect.gen(function* () {
    const delegation = yield* Delegation
    const registry = yield* ToolRegistry

    const asker: Effect.Effect<Exclude<Asker, null>, never, Turn.CurrentTurn> = Effect.map(Turn.current, (turn) => {
      const key = Field.valueOrNull(turn.identity.sessionKey)
      return turn.depth === 0 && key !== null ? { sessionKey: key } : { parentTurnId: turn.id }
    })

    const mine = Effect.gen(function* () {
      const who = yield* asker
      const now = yield* Clock.currentTimeMillis
      const running = yield* delegation.running
      return running
        .filter((helper) =>
          "sessionKey" in who ? helper.sessionKey === who.sessionKey : helper.parentTurnId === who.parentTurnId
        )
        .map((helper) => listed(helper, now))
    })

    const about = (action: NonNullable<Args["action"]>, args: Args) =>
      Effect.gen(function* () {
        if (action === "list") return yield* mine
        if (args.subagent_id === undefined) return yield* failed("say which helper: `subagent_id` (`list` shows them)")
        if (action === "stop") {
          const helper = yield* delegation.stop(yield* asker, args.subagent_id)
          return `Stopped: ${helper.goal.slice(0, 200)}. What it did until now stays done.`
        }
        if (args.message === undefined || args.message.trim() === "")
          return yield* failed("say what to tell it: `message`")
        yield* delegation.steer(yield* asker, args.subagent_id, args.message)
        return "It reads that after its next tool call; a report names what it did not read any more."
      })

    const begin = (args: Args, callId: string) =>
      Effect.gen(function* () {
        const tasks = yield* Either.mapLeft(tasksOf(args), failed)
        const inline = args.background === true ? yield* delegation.inlineOnly : null
        if (args.background !== true || inline !== null) {
          const report = Report.ofResults(yield* delegation.run(callId, tasks))
          return inline === null ? report : `${report}\n(It was not run in the background: ${inline}.)`
        }
        const { delegationIds } = yield* delegation.dispatch(callId, tasks)
        return {
          started: tasks.map((task, index) => ({ id: delegationIds[index] ?? "", goal: task.goal.slice(0, 200) })),
          note: "They work on behind this turn. Their report comes into this conversation by itself: do not wait for it and do not ask."
        }
      })

    yield* registry.add([
      Tool.make({
        name: "delegate_task",
        toolset: "delegation",
        deadline: "own",
        description,
        parameters: Parameters,
        result: Result,
        // A word to a helper at work is for while it works: nothing that runs beside it is changed by it.
        parallelism: (args) => (args.action === undefined ? { _tag: "Never" } : { _tag: "Safe" }),
        preview: (args) =>
          args.action === undefined
            ? (args.goal ?? args.tasks?.map((task) => task.goal).join(" · ") ?? "")
            : [args.action, args.subagent_id ?? "", args.message ?? ""].filter((part) => part !== "").join(" "),
        handler: (args, context): Effect.Effect<Result, Tool.ToolFailure, Turn.CurrentTurn> => {
          const act: Effect.Effect<Result, Tool.ToolFailure | DelegationRefused | StateError, Turn.CurrentTurn> =
            args.action === undefined ? begin(args, context.callId) : about(args.action, args)
          return Effect.mapError(act, (error) => (error._tag === "ToolFailure" ? error : failed(error.message)))
        }
      })
    ])
  })
)
