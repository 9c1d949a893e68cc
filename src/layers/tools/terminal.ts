import type { FileSystem } from "@effect/platform"
import { Effect, Layer, Schema } from "effect"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as Capabilities from "../../fibers/Capabilities.js"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as Turn from "../../fibers/Turn.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import { ask, CommandJudge } from "../../services/approval/CommandJudge.js"
import { isInside } from "../../services/approval/ProtectedPath.js"
import { Settings } from "../../services/operation/Settings.js"
import { Processes } from "../../services/shell/Process.js"
import { Shell, type ShellOutcome } from "../../services/shell/Shell.js"
import * as AgentPath from "./AgentPath.js"
import * as Gate from "./Gate.js"

/** Below the deadline of an answer's calls, so that a command's own limit comes first and its output is kept. */
const longestSeconds = 400

const Parameters = Schema.Struct({
  command: Schema.NonEmptyString.annotations({ description: "Run by bash, with nothing on its stdin." }),
  timeout: Schema.optional(
    Schema.Number.pipe(Schema.between(1, longestSeconds)).annotations({
      description: `Seconds until it is ended, at most ${longestSeconds}.`
    })
  ),
  workdir: Schema.optional(
    Schema.NonEmptyString.annotations({ description: "Directory to run in, if not the working directory." })
  ),
  background: Schema.optional(
    Schema.Boolean.annotations({ description: "Start it and go on; `process` looks after it." })
  ),
  notify_on_complete: Schema.optional(
    Schema.Boolean.annotations({ description: "Background: be told here when it has ended." })
  ),
  watch_patterns: Schema.optional(
    Schema.Array(Schema.NonEmptyString.pipe(Schema.maxLength(200))).pipe(
      Schema.maxItems(10),
      Schema.annotations({
        description: "Background: be told here of rare lines of its output that have one of these texts in them."
      })
    )
  ),
  pty: Schema.optional(Schema.Boolean.annotations({ description: "Background: run it at a terminal." }))
})
type Parameters = typeof Parameters.Type

const description =
  "Runs a shell command and gives its output and exit code, or starts it in the background and gives its id. What could destroy, leak or change the system asks the person first, and so does " +
  "what hides what it would run. Long output is shortened in the middle. For files prefer read_file, write_file and search_files."

const told = (outcome: ShellOutcome): string =>
  [
    outcome.output.replace(/\n$/, ""),
    outcome.note === null ? "" : `[${outcome.note}]`,
    outcome.exitCode === 0
      ? ""
      : `[${outcome.exitCode === null ? `ended by ${outcome.signal ?? "a signal"}` : `exit code ${outcome.exitCode}`}]`
  ]
    .filter((part) => part !== "")
    .join("\n") || "[no output]"

/** What makes sense in the background only. */
const misplaced = (args: Parameters): string | null => {
  if (args.background === true) return args.timeout === undefined ? null : "timeout"
  if (args.notify_on_complete === true) return "notify_on_complete"
  if (args.watch_patterns !== undefined && args.watch_patterns.length > 0) return "watch_patterns"
  return args.pty === true ? "pty" : null
}

/** `terminal`: what the judge finds asks, in the background as in the foreground (decisions 26, 28 and 29). */
export const layer: Layer.Layer<
  never,
  never,
  ToolRegistry | Shell | Processes | Approvals | CommandJudge | Settings | FileSystem.FileSystem | AmbientEnvironment
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const shell = yield* Shell
    const processes = yield* Processes
    const environment = yield* AmbientEnvironment
    const judge = yield* CommandJudge
    const settings = yield* Settings
    const gate = yield* Gate.make
    const paths = yield* AgentPath.make

    /** Starts it; a promise that this channel cannot keep is not made, and the model is told so (gateway.md 1.8). */
    const inBackground = (args: Parameters, workingDirectory: string) =>
      Effect.gen(function* () {
        const wanted = args.notify_on_complete === true || (args.watch_patterns ?? []).length > 0
        const later = yield* Effect.provideService(Capabilities.asyncDeliverySupported, AmbientEnvironment, environment)
        const view = yield* processes.start({
          command: args.command,
          workingDirectory,
          notifyOnComplete: later && args.notify_on_complete === true,
          watchPatterns: later ? (args.watch_patterns ?? []) : [],
          terminal: args.pty === true
        })
        const told = !wanted
          ? "Nothing is told when it ends: look with `process`."
          : later
            ? "You will be told in this conversation; no need to wait for it."
            : "Nothing can be told here after this turn, so you will NOT be notified: look with `process` before you end."
        return [
          `Started in the background as ${view.id} (pid ${view.pid}). ${told}`,
          ...(view.note === null ? [] : [view.note])
        ].join("\n")
      })

    yield* registry.add([
      Tool.make({
        name: "terminal",
        toolset: "terminal",
        description,
        parameters: Parameters,
        result: Tool.text("the command's output, and how it ended if not well"),
        gated: true,
        preview: (args) => args.command,
        handler: (args, context) =>
          Effect.gen(function* () {
            if (args.command.trim() === "") return yield* new Tool.ToolFailure({ text: "the command is empty" })
            const wrong = misplaced(args)
            if (wrong !== null)
              return yield* new Tool.ToolFailure({
                text: `\`${wrong}\` goes with a command in the ${wrong === "timeout" ? "foreground" : "background"} only; nothing was run`
              })
            const turn = yield* Turn.current
            const directory = yield* paths.directory
            const workingDirectory = args.workdir === undefined ? directory : yield* paths.absolute(args.workdir)
            const judged = yield* judge.judge(args.command, {
              workingDirectory,
              cron: CronMarker.isCron(turn.marker),
              unattended: CronMarker.isCron(turn.marker) || turn.presence._tag === "Nobody"
            })
            const inside =
              args.workdir === undefined ||
              isInside((yield* paths.resolve(directory)).real, (yield* paths.resolve(workingDirectory)).real)
            const verdict =
              judged.verdict === "allow" && !inside
                ? ask("workdir", `${workingDirectory} is outside of the working directory`)
                : judged
            const subject = args.workdir === undefined ? args.command : `${args.command}\n(in ${workingDirectory})`
            const seconds = args.timeout ?? Math.min(settings.terminal.timeoutSeconds, longestSeconds)
            const pass = gate.pass({ tool: "terminal", subject, verdict }, context)
            if (args.background === true)
              return yield* pass(
                inBackground(args, workingDirectory).pipe(
                  Effect.mapError((error) => new Tool.ToolFailure({ text: error.message }))
                )
              )
            const outcome = yield* pass(
              shell
                .run({ command: args.command, workingDirectory, timeoutMillis: seconds * 1_000 })
                .pipe(Effect.mapError((error) => new Tool.ToolFailure({ text: error.message })))
            )
            return outcome.timedOut
              ? yield* new Tool.ToolFailure({
                  text: `${outcome.output}\n[not finished after ${seconds} s; it and all that it started were ended. Take smaller steps or a larger timeout.]`
                })
              : told(outcome)
          })
      })
    ])
  })
)
