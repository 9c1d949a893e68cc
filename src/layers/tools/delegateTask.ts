import { Effect, Layer, Schema } from "effect"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import { Delegation, type DelegateResult } from "../../services/delegation/Delegation.js"

const Task = Schema.Struct({
  goal: Schema.NonEmptyString.annotations({
    description: "What to do, complete in itself: the helper knows nothing else."
  }),
  context: Schema.optional(Schema.String.annotations({ description: "Facts, paths and constraints that it needs." }))
})

const Parameters = Schema.Struct({
  goal: Schema.optional(Schema.String.annotations({ description: "One task. Use `tasks` for several at once." })),
  context: Schema.optional(Schema.String),
  tasks: Schema.optional(Schema.Array(Task).annotations({ description: "Tasks that run beside each other." }))
})

const description =
  "Gives work to helpers that start with nothing but the goal and context you write, use their own tools and report back. " +
  "Use it for work that is separate and large; several `tasks` run at the same time. A report is a claim: check what matters."

const report = (results: ReadonlyArray<DelegateResult>): string =>
  JSON.stringify(
    results.map((result, index) => ({
      task: index + 1,
      status: result.status,
      summary: result.summary,
      model_calls: result.modelCalls,
      seconds: Math.round(result.durationMillis / 100) / 10
    }))
  )

/** `delegate_task`: inline, single or batch (gateway.md 7.1). */
export const layer: Layer.Layer<never, never, Delegation | ToolRegistry> = Layer.effectDiscard(
  Effect.gen(function* () {
    const delegation = yield* Delegation
    const registry = yield* ToolRegistry
    yield* registry.add([
      Tool.make({
        name: "delegate_task",
        toolset: "delegation",
        deadline: "own",
        description,
        parameters: Parameters,
        preview: (args) => args.goal ?? args.tasks?.map((task) => task.goal).join(" · ") ?? "",
        handler: (args, context) =>
          Effect.gen(function* () {
            const single =
              args.goal === undefined || args.goal.trim() === ""
                ? []
                : [{ goal: args.goal, context: args.context ?? null }]
            const batch = (args.tasks ?? []).map((task) => ({ goal: task.goal, context: task.context ?? null }))
            if (single.length > 0 && batch.length > 0)
              return yield* new Tool.ToolFailure({ text: "give either `goal` or `tasks`, not both" })
            return report(yield* delegation.run(context.callId, [...single, ...batch]))
          }).pipe(Effect.catchAll((error) => Effect.fail(new Tool.ToolFailure({ text: error.message }))))
      })
    ])
  })
)
