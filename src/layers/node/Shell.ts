import { Clock, Effect, Exit, Layer, Option } from "effect"
import { existsSync } from "node:fs"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../fibers/ChildEnvironment.js"
import { Authorized } from "../../services/approval/Approval.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { type HeadTail, readable } from "../../services/shell/Output.js"
import { Shell, type ShellCommand, type ShellOutcome } from "../../services/shell/Shell.js"
import * as EventLoop from "./EventLoop.js"
import * as Child from "./process/Child.js"
import * as Directory from "./process/Directory.js"
import * as Draining from "./process/Draining.js"
import * as GitGuard from "./process/GitGuard.js"
import * as Pipes from "./process/Pipes.js"
import * as ProcessTree from "./process/ProcessTree.js"

/** Time between TERM and KILL; an interrupted turn must be gone within a second. */
const interruptGraceMillis = 500
const timeoutGraceMillis = 1_500
const killLimitMillis = 3_000

const drain = (child: Child.Child): Effect.Effect<boolean> =>
  Effect.suspend(() =>
    child.hasClosed() ? Effect.succeed(true) : Draining.drain({ total: () => child.output.total, closed: child.closed })
  )

const endTree = (child: Child.Child, token: string, graceMillis: number): Effect.Effect<void> =>
  ProcessTree.endOrWarn(
    { pid: child.pid, token: ProcessTree.marked(token) },
    { graceMillis, limitMillis: killLimitMillis },
    "an ended command"
  )

const make = Effect.gen(function* () {
  const ambient = yield* AmbientEnvironment
  const settings = yield* Settings
  const ids = yield* Ids
  const redactor = yield* Redactor
  const pipes = yield* Pipes.make
  const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh"

  /** Starting a process holds this one for milliseconds, so each start has a turn of the event loop to itself. */
  const starts = yield* Effect.makeSemaphore(1)
  const clean = (text: string): string => redactor.text(readable(text))

  const textOf = (output: HeadTail): { readonly output: string; readonly truncatedBytes: number } => {
    const { head, omitted, tail } = output.read()
    return omitted === 0
      ? { output: clean(head), truncatedBytes: 0 }
      : { output: `${clean(head)}\n[… ${omitted} bytes left out …]\n${clean(tail)}`, truncatedBytes: omitted }
  }

  const run = Effect.fn("Shell.run")(
    function* (command: ShellCommand) {
      yield* Authorized
      const place = Directory.usable(command.workingDirectory)
      if (place.note !== null)
        yield* Effect.logWarning("a working directory cannot be entered").pipe(
          Effect.annotateLogs({ asked: command.workingDirectory, taken: place.directory })
        )
      const token = yield* ids.next("call")
      const environment = yield* ChildEnvironment.make({
        home: settings.home,
        passthrough: settings.terminal.envPassthrough,
        kept: settings.terminal.envKept,
        overrides: { ...GitGuard.environment, [ProcessTree.tokenName]: token }
      })
      const startedAt = yield* Clock.currentTimeMillis
      const outcome = (
        child: Child.Child,
        ended: Child.Ended,
        timedOut: boolean,
        notes: ReadonlyArray<string | null>
      ) =>
        Effect.map(Clock.currentTimeMillis, (now): ShellOutcome => ({
          exitCode: timedOut ? null : ended.code,
          signal: ended.signal,
          ...textOf(child.output),
          timedOut,
          durationMillis: now - startedAt,
          note: notes.filter((note) => note !== null).join("\n") || null
        }))
      return yield* Effect.acquireUseRelease(
        Effect.flatMap(pipes.take, (pipe) =>
          starts.withPermits(1)(
            Effect.zipRight(
              EventLoop.turn,
              Child.start({ shell, command: command.command, directory: place.directory, environment, pipe })
            )
          )
        ),
        (child) =>
          Effect.gen(function* () {
            yield* pipes.prepare
            const ended = yield* Effect.timeoutOption(child.ended, command.timeoutMillis)
            if (Option.isNone(ended)) {
              yield* endTree(child, token, timeoutGraceMillis)
              yield* drain(child)
              const how = child.hasEnded() ? yield* child.ended : { code: null, signal: null }
              return yield* outcome(child, how, true, [place.note])
            }
            const finished = yield* drain(child)
            return yield* outcome(child, ended.value, false, [
              place.note,
              finished
                ? null
                : "something that this command started still runs; what it prints from now on is not read and it may end when it prints"
            ])
          }),
        (child, exit) =>
          Effect.zipRight(
            Exit.isInterrupted(exit) || !child.hasEnded() ? endTree(child, token, interruptGraceMillis) : Effect.void,
            child.release
          )
      )
    },
    Effect.provideService(AmbientEnvironment, ambient)
  )

  return Shell.of({ run })
})

/** Commands in the machine's own shell: `/bin/bash` where there is one. */
export const layer: Layer.Layer<Shell, never, AmbientEnvironment | Settings | Ids | Redactor> = Layer.scoped(
  Shell,
  make
)
