import type { FileSystem } from "@effect/platform"
import { Effect, Layer, Schema } from "effect"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as Turn from "../../fibers/Turn.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import { ask, CommandJudge } from "../../services/approval/CommandJudge.js"
import { isInside } from "../../services/approval/ProtectedPath.js"
import { Settings } from "../../services/operation/Settings.js"
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
  )
})

const description =
  "Runs a shell command in the foreground and gives its output and exit code. What could destroy, leak or change the system asks the person first, and so does " +
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

/** `terminal`: foreground only; what the judge finds asks (decisions 26, 28 and 29). */
export const layer: Layer.Layer<
  never,
  never,
  ToolRegistry | Shell | Approvals | CommandJudge | Settings | FileSystem.FileSystem | AmbientEnvironment
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const shell = yield* Shell
    const judge = yield* CommandJudge
    const settings = yield* Settings
    const gate = yield* Gate.make
    const paths = yield* AgentPath.make
    yield* registry.add([
      Tool.make({
        name: "terminal",
        toolset: "terminal",
        description,
        parameters: Parameters,
        gated: true,
        preview: (args) => args.command,
        handler: (args, context) =>
          Effect.gen(function* () {
            if (args.command.trim() === "") return yield* new Tool.ToolFailure({ text: "the command is empty" })
            const turn = yield* Turn.current
            const directory = yield* paths.directory
            const workingDirectory = args.workdir === undefined ? directory : yield* paths.absolute(args.workdir)
            const judged = yield* judge.judge(args.command, {
              workingDirectory,
              cron: CronMarker.isCron(turn.marker),
              unattended: CronMarker.isCron(turn.marker) || turn.presence._tag === "Nobody"
            })
            const inside = isInside(
              (yield* paths.resolve(directory)).real,
              (yield* paths.resolve(workingDirectory)).real
            )
            const verdict =
              judged.verdict === "allow" && !inside
                ? ask("workdir", `${workingDirectory} is outside of the working directory`)
                : judged
            const subject = args.workdir === undefined ? args.command : `${args.command}\n(in ${workingDirectory})`
            const seconds = args.timeout ?? Math.min(settings.terminal.timeoutSeconds, longestSeconds)
            const outcome = yield* gate.pass(
              { tool: "terminal", subject, verdict },
              context
            )(
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
