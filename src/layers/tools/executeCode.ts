import { Effect, Layer, Schema } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import * as Tool from "../../services/agent/Tool.js"
import { Toolbox, ToolRegistry } from "../../services/agent/Toolbox.js"
import { type Approvals, innerCallId } from "../../services/approval/Approval.js"
import { allow, CommandJudge } from "../../services/approval/CommandJudge.js"
import { type CodeAnswer, type CodeCall, type CodeOutcome, CodeRunner } from "../../services/shell/CodeRunner.js"
import * as ToolDeadline from "../agent/ToolDeadline.js"
import * as Gate from "./Gate.js"

/** Of one program (gateway.md 8.3). */
const limitMillis = 300_000
const mostCalls = 50

/** What a program is for: looking at much and telling little. Words to people, helpers and schedules are the agent's own. */
const forPrograms: ReadonlySet<string> = new Set([
  "read_file",
  "write_file",
  "patch",
  "search_files",
  "session_search",
  "terminal",
  "web_search",
  "web_extract"
])

const Parameters = Schema.Struct({
  code: Schema.NonEmptyString.annotations({
    description: "JavaScript or TypeScript, a module: `await` and `import` of Node's own modules work at the top."
  })
})

const description =
  "Runs a program that calls your tools: `await tools.read_file({ path })` gives the text that the call would give you, a failed call throws. Only what it prints (`print`) comes back. " +
  `Use it for many calls whose results you need not read. It sees no files but through the tools; ${mostCalls} calls, ${limitMillis / 1_000} s at most.`

const told = (outcome: CodeOutcome): string =>
  [
    outcome.output.replace(/\n$/, "") || "[nothing was printed]",
    ...(outcome.error === null ? [] : [`[${outcome.error}]`])
  ].join("\n")

/** `execute_code` (decision 31): each inner call goes through the toolbox, in the turn of the outer one. */
export const layer: Layer.Layer<never, never, ToolRegistry | Toolbox | CodeRunner | Approvals | CommandJudge> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const registry = yield* ToolRegistry
      const toolbox = yield* Toolbox
      const runner = yield* CodeRunner
      const judge = yield* CommandJudge
      const gate = yield* Gate.make

      /** Made as the model's own call would be: the same tools, gates, marker and person. */
      const serve =
        (outer: string, tools: ReadonlyArray<string>, deadline: ToolDeadline.ToolDeadline) =>
        (call: CodeCall): Effect.Effect<CodeAnswer, never, Turn.CurrentTurn> => {
          if (call.number > mostCalls)
            return Effect.succeed({ ok: false, text: `a program makes ${mostCalls} calls at most` })
          if (!tools.includes(call.tool))
            return Effect.succeed({
              ok: false,
              text: `there is no tool "${call.tool}" for programs; there are: ${tools.join(", ")}`
            })
          const id = innerCallId(outer, call.number)
          return toolbox
            .run([{ id, name: call.tool, arguments: call.args }], {
              // The row of the outer call stands for it: found begun after a crash, it is never run again.
              advance: (_, state) => (state === "waiting" ? deadline.pause(id) : deadline.resume(id)),
              store: () => Effect.void
            })
            .pipe(
              Effect.ensuring(deadline.resume(id)),
              Effect.map(([result]) => ({ ok: result?.disposition === "ok", text: result?.text ?? "" }))
            )
        }

      yield* registry.add([
        Tool.make({
          name: "execute_code",
          toolset: "code_execution",
          description,
          parameters: Parameters,
          result: Tool.text("what the program printed, and how it ended"),
          gated: true,
          deadline: "own",
          preview: (args) => args.code,
          handler: (args, context) =>
            Effect.gen(function* () {
              const turn = yield* Turn.current
              const source = yield* runner.compile(args.code)
              const cron = CronMarker.isCron(turn.marker)
              const judged = yield* judge.code(args.code, { cron })
              // At a terminal its person is asked for each call that needs it, not for the program (gateway.md 5.2).
              const atTerminal =
                !cron && turn.presence._tag === "Human" && Field.valueOrNull(turn.identity.platform) === null
              const verdict = judged.verdict === "ask" && atTerminal ? allow : judged
              const tools = (yield* toolbox.offered).map((tool) => tool.name).filter((name) => forPrograms.has(name))
              const outcome = yield* gate.pass(
                { tool: "execute_code", subject: args.code, verdict },
                context
              )(
                Effect.flatMap(ToolDeadline.make(limitMillis), (deadline) =>
                  runner.run({
                    source,
                    tools,
                    deadline: deadline.passed,
                    serve: serve(context.callId, tools, deadline)
                  })
                ).pipe(Effect.mapError((error) => new Tool.ToolFailure({ text: error.message })))
              )
              if (outcome.timedOut)
                return yield* new Tool.ToolFailure({
                  text: `${told(outcome)}\n[not finished after ${limitMillis / 1_000} s and ended; what its calls did stays done]`
                })
              return outcome.error === null ? told(outcome) : yield* new Tool.ToolFailure({ text: told(outcome) })
            }).pipe(
              Effect.mapError((error) =>
                error._tag === "ToolFailure" ? error : new Tool.ToolFailure({ text: error.message })
              )
            )
        })
      ])
    })
  )
