/** Scripts of jobs as processes (cron-delivery.md 3.7): contained, a group of their own, ended as a whole tree. */
import { FileSystem, Path } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { createHash } from "node:crypto"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../fibers/ChildEnvironment.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { ScriptFailed, type ScriptRequest, ScriptRefused, Scripts } from "../../services/schedule/Script.js"
import { type HeadTail, readable } from "../../services/shell/Output.js"
import * as Child from "./process/Child.js"
import * as GitGuard from "./process/GitGuard.js"
import * as Pipes from "./process/Pipes.js"
import * as ProcessTable from "./process/ProcessTable.js"
import * as ProcessTree from "./process/ProcessTree.js"

const graceMillis = 1_000
const limitMillis = 4_000
/** What it started may hold its output open; after this it is read no longer. */
const drainBound = "5 seconds"
const longestError = 16_000

/** What the tokens of all scripts of one home begin with. */
export const tokensOf = (home: string): string =>
  `script-${createHash("sha256").update(home).digest("hex").slice(0, 16)}-`

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The last line that is not empty says `{"wakeAgent": false}`. */
const wakesAgent = (stdout: string): boolean => {
  const last = stdout.trimEnd().split("\n").at(-1)?.trim() ?? ""
  if (!last.startsWith("{")) return true
  try {
    const value: unknown = JSON.parse(last)
    return !(typeof value === "object" && value !== null && "wakeAgent" in value && value.wakeAgent === false)
  } catch {
    return true
  }
}

const make = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const settings = yield* Settings
  const ambient = yield* AmbientEnvironment
  const redactor = yield* Redactor
  const ids = yield* Ids
  const pipes = yield* Pipes.make
  const folder = path.join(settings.home, "scripts")

  const locate = (name: string): Effect.Effect<string, ScriptRefused> => {
    const refuse = (detail: string) => new ScriptRefused({ path: name, detail })
    if (name.includes("\0") || name.trim() === "") return refuse("is no path")
    if (path.isAbsolute(name) || name.startsWith("~"))
      return refuse(`must be relative to ${folder}: a job runs scripts from there only`)
    return Effect.gen(function* () {
      const root = yield* fs.realPath(folder)
      const file = yield* fs.realPath(path.join(folder, name))
      if (!file.startsWith(`${root}${path.sep}`)) return yield* refuse(`leads out of ${folder}`)
      const info = yield* fs.stat(file)
      return info.type === "File" ? file : yield* refuse("is no file")
    }).pipe(
      Effect.catchTags({
        SystemError: () => refuse(`there is no such file in ${folder}`),
        BadArgument: () => refuse("is no path")
      })
    )
  }

  const interpreterOf = (file: string): ReadonlyArray<string> =>
    /\.(?:sh|bash)$/.test(file) ? ["bash"] : /\.(?:mjs|cjs|js)$/.test(file) ? [process.execPath] : ["python3"]

  const clean = (text: string): string => redactor.text(readable(text)).trim()

  const textOf = (output: HeadTail): string => {
    const { head, omitted, tail } = output.read()
    return omitted === 0 ? clean(head) : `${clean(head)}\n[… ${omitted} bytes left out …]\n${clean(tail)}`
  }

  const endTree = (child: Child.Child, token: string) =>
    ProcessTree.endOrWarn(
      { pid: child.pid, token: ProcessTree.marked(token) },
      { graceMillis, limitMillis },
      "a script"
    )

  const run = (request: ScriptRequest) =>
    Effect.gen(function* () {
      const file = yield* locate(request.path)
      const token = `${tokensOf(settings.home)}${yield* ids.next("call")}`
      const errors = path.join(yield* fs.makeTempDirectoryScoped({ prefix: "hermes-script-" }), "stderr")
      const environment = yield* ChildEnvironment.make({
        home: settings.home,
        passthrough: settings.terminal.envPassthrough,
        kept: settings.terminal.envKept,
        overrides: { ...GitGuard.environment, [ProcessTree.tokenName]: token }
      })
      const words = [...interpreterOf(file), file].map(quoted).join(" ")
      const fail = (
        reason: ScriptFailed["reason"],
        detail: string,
        exitCode: number | null,
        stdout: string,
        stderr: string
      ) => new ScriptFailed({ path: request.path, reason, exitCode, stdout, stderr, detail })
      const printed = createHash("sha256")
      return yield* Effect.acquireUseRelease(
        Effect.flatMap(pipes.take, (pipe) =>
          Child.start({
            shell: "/bin/sh",
            command: `exec ${words} 2> ${quoted(errors)}`,
            directory: request.workdir ?? folder,
            environment,
            pipe,
            onOutput: (chunk) => printed.update(chunk)
          })
        ),
        (child) =>
          Effect.gen(function* () {
            const seconds = settings.cron.scriptTimeoutSeconds
            const ended = yield* seconds === 0
              ? Effect.asSome(child.ended)
              : Effect.timeoutOption(child.ended, `${seconds} seconds`)
            if (Option.isNone(ended)) yield* endTree(child, token)
            yield* Effect.timeoutOption(child.closed, drainBound)
            const stdout = textOf(child.output)
            const stderr = yield* fs.readFileString(errors).pipe(
              Effect.map((text) => clean(text.slice(-longestError))),
              Effect.orElseSucceed(() => "")
            )
            if (Option.isNone(ended))
              return yield* fail("timeout", `it did not end within ${seconds} s and was ended`, null, stdout, stderr)
            const { code, signal } = ended.value
            if (signal !== null) return yield* fail("signal", `it was ended by ${signal}`, null, stdout, stderr)
            if (code !== 0) return yield* fail("exit", `it ended with code ${code}`, code, stdout, stderr)
            // A copy: what it started may print on.
            return { stdout, stderr, hash: printed.copy().digest("hex"), wakeAgent: wakesAgent(stdout) }
          }),
        (child) => Effect.zipRight(child.hasEnded() ? Effect.void : endTree(child, token), child.release)
      )
    }).pipe(
      Effect.scoped,
      Effect.provideService(AmbientEnvironment, ambient),
      Effect.catchTags({
        ShellUnavailable: (error) =>
          new ScriptFailed({
            path: request.path,
            reason: "spawn",
            exitCode: null,
            stdout: "",
            stderr: "",
            detail: error.message
          }),
        SystemError: (error) =>
          new ScriptFailed({
            path: request.path,
            reason: "spawn",
            exitCode: null,
            stdout: "",
            stderr: "",
            detail: error.message
          }),
        BadArgument: (error) =>
          new ScriptFailed({
            path: request.path,
            reason: "spawn",
            exitCode: null,
            stdout: "",
            stderr: "",
            detail: error.message
          })
      })
    )

  return Scripts.of({ folder, locate, run })
})

/** Scripts of the home's `scripts` folder: `.sh` by bash, `.js` by this Node, anything else by Python. */
export const layer = Layer.scoped(Scripts, make)

/**
 * Ends what scripts of an earlier gateway left behind: one that was killed could not. Needs the home's lock held, and
 * that no script of this gateway runs yet.
 */
export const endLeft: Layer.Layer<never, never, Settings> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { home } = yield* Settings
    const token = ProcessTree.marked(tokensOf(home))
    const entries = yield* ProcessTable.list
    const left = entries.find(({ pid }) => pid !== process.pid && ProcessTable.carries(pid, token))
    if (left === undefined) return
    yield* Effect.logWarning("a script of an earlier gateway still ran; it is ended")
    yield* ProcessTree.endOrWarn({ pid: left.pid, token }, { graceMillis, limitMillis }, "a script")
  })
)
