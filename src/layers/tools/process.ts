import { Clock, Effect, Layer, Schema } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as Turn from "../../fibers/Turn.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import { ask, CommandJudge, type Verdict } from "../../services/approval/CommandJudge.js"
import { Processes, type ProcessInput } from "../../services/shell/Process.js"
import * as ProcessText from "../../services/shell/ProcessText.js"
import * as Gate from "./Gate.js"

/** Below the deadline of an answer's calls. */
const longestWaitSeconds = 400
const usualWaitSeconds = 60
const usualLines = 200
const mostLines = 2_000

const Parameters = Schema.Struct({
  action: Schema.Literal("list", "poll", "log", "wait", "kill", "write", "submit", "close").annotations({
    description:
      "list: all of this conversation · poll: new output · log: all that is kept · wait: for its end · kill: end it and what it started · write: to its input · submit: write with Enter · close: end its input"
  }),
  id: Schema.optional(Schema.NonEmptyString.annotations({ description: "The process; not for list." })),
  text: Schema.optional(Schema.String.annotations({ description: "For write and submit." })),
  timeout: Schema.optional(
    Schema.Number.pipe(Schema.between(0, longestWaitSeconds)).annotations({
      description: `Seconds that wait takes at most; ${usualWaitSeconds} when left out.`
    })
  ),
  limit: Schema.optional(
    Schema.Int.pipe(Schema.between(1, mostLines)).annotations({
      description: `Lines of log; the last ${usualLines} when left out.`
    })
  ),
  offset: Schema.optional(
    Schema.NonNegativeInt.annotations({
      description: "First line of log, counted from 0; the last ones when left out."
    })
  )
})
type Parameters = typeof Parameters.Type

const description =
  "Looks after commands that `terminal` started in the background in this conversation: their output, their end, their input. " +
  "What is written to a program that runs it as commands is judged like a command."

const failure = (error: { readonly message: string }) => new Tool.ToolFailure({ text: error.message })

/** A part of all lines, and where it stands. */
const lines = (text: string, args: Parameters): { readonly text: string; readonly note: string } => {
  const all = text.replace(/\n$/, "").split("\n")
  const limit = args.limit ?? usualLines
  const first = args.offset ?? Math.max(0, all.length - limit)
  const shown = all.slice(first, first + limit)
  return { text: shown.join("\n"), note: `[lines ${first} to ${first + shown.length} of ${all.length}]` }
}

const end = "HERMES_INPUT_ENDS_HERE"

/** A line that gives the program at once all that it was given one after the other: the judge knows those. */
const asLine = (input: ProcessInput, text: string): string => `{\n${input.command}\n} <<'${end}'\n${text}\n${end}\n`

/** `process`: what runs in the background, for the conversation that started it (gateway.md 8.3). */
export const layer: Layer.Layer<never, never, ToolRegistry | Processes | Approvals | CommandJudge> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const registry = yield* ToolRegistry
      const processes = yield* Processes
      const judge = yield* CommandJudge
      const gate = yield* Gate.make

      /** What the program would do with it, told from all that it was given; what nobody can tell asks. */
      const judged = (input: ProcessInput, text: string): Effect.Effect<Verdict, never, Turn.CurrentTurn> =>
        Effect.gen(function* () {
          const turn = yield* Turn.current
          const cron = CronMarker.isCron(turn.marker)
          const options = {
            workingDirectory: input.workingDirectory,
            cron,
            unattended: cron || turn.presence._tag === "Nobody"
          }
          const alone = yield* judge.judge(text, options)
          if (alone.verdict === "never") return alone
          const all = input.written === null ? null : input.written + text
          const verdict = all === null || all.includes(end) ? null : yield* judge.judge(asLine(input, all), options)
          if (verdict?.verdict === "never") return verdict
          if (input.terminal)
            return ask("terminal-input", `types into \`${input.command.slice(0, 200)}\` at its terminal`)
          return (
            verdict ?? ask("long-input", `writes to \`${input.command.slice(0, 200)}\`, which was given much before`)
          )
        })

      const write = (id: string, text: string, context: Tool.CallContext) =>
        Effect.gen(function* () {
          const input = yield* Effect.mapError(processes.input(id), failure)
          const verdict = yield* judged(input, text)
          const subject = `write to ${id} (${input.command}):\n${text}`
          yield* gate.pass(
            { tool: "process", subject, verdict },
            context
          )(Effect.mapError(processes.write(id, text), failure))
          return "Written."
        })

      const list = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const views = yield* processes.list
        return views.length === 0
          ? "This conversation has nothing running in the background."
          : views.map((view) => ProcessText.line(view, now)).join("\n")
      })

      const act = (id: string, args: Parameters, context: Tool.CallContext) =>
        Effect.gen(function* () {
          const now = Clock.currentTimeMillis
          switch (args.action) {
            case "write":
              return yield* write(id, args.text ?? "", context)
            case "submit":
              return yield* write(id, `${args.text ?? ""}\n`, context)
            case "poll":
              yield* context.started
              return ProcessText.look(yield* processes.poll(id), yield* now)
            case "log": {
              yield* context.started
              const output = yield* processes.log(id)
              const part = lines(output.text, args)
              return `${ProcessText.look({ ...output, text: part.text }, yield* now)}\n${part.note}`
            }
            case "wait": {
              yield* context.started
              const output = yield* processes.wait(id, (args.timeout ?? usualWaitSeconds) * 1_000)
              return ProcessText.look(output, yield* now)
            }
            case "kill":
              yield* context.started
              return `[${id} ${ProcessText.how(yield* processes.kill(id), yield* now)}]`
            case "close":
              yield* context.started
              yield* processes.close(id)
              return "Its input is closed."
            case "list":
              return yield* list
          }
        }).pipe(Effect.mapError((error) => (error._tag === "ToolFailure" ? error : failure(error))))

      yield* registry.add([
        Tool.make({
          name: "process",
          toolset: "terminal",
          description,
          parameters: Parameters,
          result: Tool.text("how the process does, and its output"),
          gated: true,
          preview: (args) => [args.action, args.id ?? "", args.text ?? ""].join(" ").trim(),
          handler: (args, context) => {
            if (args.action === "list") return Effect.zipRight(context.started, list)
            if (args.id === undefined)
              return new Tool.ToolFailure({ text: `say which: \`id\` goes with ${args.action}` })
            return act(args.id, args, context)
          }
        })
      ])
    })
  )
