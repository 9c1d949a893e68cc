/** `memory` (state-agent.md 4.1): what is worth knowing in later conversations too. */
import { Effect, Layer, Schema } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { Memory } from "../../services/agent/Memory.js"
import type { MemoryTarget, Operation } from "../../services/agent/MemoryText.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import { allow, ask } from "../../services/approval/CommandJudge.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Gate from "./Gate.js"

const Action = Schema.Literal("add", "replace", "remove")
const Change = Schema.Struct({
  action: Action,
  content: Schema.optional(Schema.String),
  old_text: Schema.optional(Schema.String)
})

const Parameters = Schema.Struct({
  target: Schema.Literal("memory", "user").annotations({
    description: "`user`: who your person is and what they like; `memory`: everything else."
  }),
  action: Schema.optional(Action),
  content: Schema.optional(Schema.String.annotations({ description: "The entry, short and complete in itself." })),
  old_text: Schema.optional(
    Schema.String.annotations({ description: "A part of the one entry that is replaced or removed." })
  ),
  operations: Schema.optional(
    Schema.Array(Change).pipe(Schema.minItems(1), Schema.maxItems(50)).annotations({
      description: "Several changes instead, all or none."
    })
  )
})
type Args = typeof Parameters.Type

const Result = Schema.parseJson(
  Schema.Struct({
    message: Schema.String,
    target: Parameters.fields.target,
    used: Schema.String,
    entries: Schema.Array(Schema.String)
  })
)

const description =
  "Notes that your later conversations begin with: facts that stay true, preferences, corrections. Not tasks, progress or what can be looked up, and no secrets. There is little room: merge entries and keep them short. What you change is kept at once and shown in the next conversation."

const operationOf = ({ action, content, old_text }: typeof Change.Type): Operation => ({
  action,
  content: content ?? "",
  oldText: old_text ?? ""
})

const operationsOf = (args: Args): ReadonlyArray<Operation> | string => {
  if (args.operations === undefined)
    return args.action === undefined
      ? "give an `action`, or `operations`"
      : [operationOf({ ...args, action: args.action })]
  return args.action === undefined ? args.operations.map(operationOf) : "give an `action` or `operations`, not both"
}

const subjectOf = (target: MemoryTarget, operations: ReadonlyArray<Operation>): string =>
  [`${target}:`, ...operations.map(({ action, content, oldText }) => `${action} ${oldText} ${content}`.trim())].join(
    "\n"
  )

/** In one turn: a model that cannot make room would try for ever. */
const mostRefusals = 3
const rememberedTurns = 256

/** Adds the tool to the registry. */
export const layer: Layer.Layer<never, never, ToolRegistry | Memory | Approvals | Settings> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const memory = yield* Memory
    const settings = yield* Settings
    const gate = yield* Gate.make
    const verdict = settings.memory.writeApproval
      ? ask("memory-write", "your agent wants to remember this (memory.write_approval)")
      : allow
    const refusals = new Map<string, number>()

    const refused = (turnId: string): boolean => {
      const count = (refusals.get(turnId) ?? 0) + 1
      refusals.delete(turnId)
      refusals.set(turnId, count)
      if (refusals.size > rememberedTurns)
        for (const oldest of [...refusals.keys()].slice(0, 1)) refusals.delete(oldest)
      return count > mostRefusals
    }

    yield* registry.add([
      Tool.make({
        name: "memory",
        toolset: "memory",
        description,
        parameters: Parameters,
        result: Result,
        gated: true,
        preview: ({ action, operations, target }) => `${action ?? `${operations?.length ?? 0} changes`} in ${target}`,
        handler: (args, context) =>
          Effect.gen(function* () {
            const turn = yield* Turn.current
            const operations = operationsOf(args)
            if (typeof operations === "string") return yield* new Tool.ToolFailure({ text: operations })
            const change = memory.change(args.target, operations).pipe(
              Effect.mapError(
                (error) =>
                  new Tool.ToolFailure({
                    text:
                      error._tag === "MemoryRefused" && error.full && refused(turn.id)
                        ? "There is still no room. Leave it for this turn and go on with the rest."
                        : error.message
                  })
              )
            )
            const state = yield* gate.pass(
              { tool: "memory", subject: subjectOf(args.target, operations), verdict },
              context
            )(change)
            return {
              message: [
                state.notes.length > 0 && operations.length === 1 ? "I knew that already." : "Noted.",
                ...(operations.length === 1 ? [] : state.notes)
              ].join(" "),
              target: args.target,
              used: `${state.used}/${state.limit} characters`,
              entries: state.entries
            }
          })
      })
    ])
  })
)
