import { Clock, Effect, Layer, Option } from "effect"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import * as path from "node:path"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../fibers/ChildEnvironment.js"
import * as Turn from "../../fibers/Turn.js"
import { Authorized } from "../../services/approval/Approval.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import {
  CodeInvalid,
  type CodeOutcome,
  type CodeProgram,
  CodeRunner,
  CodeUnavailable
} from "../../services/shell/CodeRunner.js"
import { HeadTail, readable } from "../../services/shell/Output.js"
import * as CodeChild from "./process/CodeChild.js"
import * as CodeHost from "./process/CodeHost.js"
import * as ProcessTree from "./process/ProcessTree.js"

const graceMillis = 200
const limitMillis = 3_000
/** After its last word a program has so long to be gone. */
const lastWordMillis = 2_000
/** Calls at a time; more wait. */
const atOnce = 8
const realTime = Effect.withClock(Clock.make())

const unavailable = (error: unknown): CodeUnavailable =>
  new CodeUnavailable({ detail: error instanceof Error ? error.message : String(error) })

const attempt = <A>(task: () => Promise<A>): Effect.Effect<A, CodeUnavailable> =>
  Effect.tryPromise({ try: task, catch: unavailable })

const compile = (code: string): Effect.Effect<string, CodeInvalid> =>
  Effect.flatMap(
    Effect.promise(() => import("sucrase")),
    ({ transform }) =>
      Effect.try({
        try: () => transform(code, { transforms: ["typescript"], disableESTransforms: true }).code,
        catch: (error) => {
          const text = error instanceof Error ? error.message : String(error)
          const line = /\((\d+):\d+\)$/.exec(text)?.[1]
          const detail = text.replace(/^Error transforming [^:]*: /, "").replace(/ \(\d+:\d+\)$/, "")
          return new CodeInvalid({ line: line === undefined ? null : Number(line), detail })
        }
      })
  )

const make = Effect.gen(function* () {
  const ambient = yield* AmbientEnvironment
  const settings = yield* Settings
  const ids = yield* Ids
  const redactor = yield* Redactor
  const clean = (text: string): string => redactor.text(readable(text))

  const folderOf = Effect.acquireRelease(
    attempt(async () => {
      const all = path.join(settings.home, "cache", "code")
      await mkdir(all, { recursive: true, mode: 0o700 })
      return mkdtemp(path.join(await realpath(all), "run-"))
    }),
    (folder) => Effect.ignoreLogged(Effect.tryPromise(() => rm(folder, { recursive: true, force: true })))
  )

  const textOf = (output: HeadTail): string => {
    const { head, omitted, tail } = output.read()
    return omitted === 0 ? clean(head) : `${clean(head)}\n[… ${omitted} bytes left out …]\n${clean(tail)}`
  }

  const run = Effect.fn("CodeRunner.run")(
    function* (program: CodeProgram) {
      yield* Authorized
      const folder = yield* folderOf
      yield* attempt(() =>
        Promise.all([
          writeFile(path.join(folder, CodeHost.programFile), program.source, { mode: 0o600 }),
          writeFile(path.join(folder, CodeHost.hostFile), CodeHost.source(program.tools), { mode: 0o600 })
        ])
      )
      const token = yield* ids.next("call")
      const environment = yield* ChildEnvironment.make({
        home: settings.home,
        passthrough: settings.terminal.envPassthrough,
        kept: settings.terminal.envKept,
        overrides: { [ProcessTree.tokenName]: token }
      })
      const child = yield* Effect.acquireRelease(CodeChild.start(folder, environment), (running) =>
        Effect.asVoid(
          ProcessTree.end({ pid: running.pid, token: ProcessTree.marked(token) }, { graceMillis, limitMillis })
        )
      )
      const places = yield* Effect.makeSemaphore(atOnce)
      let calls = 0

      /** A child of the turn that runs the program: it is for the same person, marked the same, and ends with it. */
      const serve = (said: Extract<CodeHost.Said, { readonly _tag: "call" }>) =>
        Turn.fork(
          places.withPermits(1)(
            Effect.map(program.serve({ number: ++calls, tool: said.tool, args: said.args }), (answer) =>
              child.tell({ id: said.id, ...answer })
            )
          )
        )

      const listen: Effect.Effect<string | null, never, Turn.CurrentTurn> = Effect.flatMap(
        Effect.orDie(child.heard.take),
        (said): Effect.Effect<string | null, never, Turn.CurrentTurn> => {
          switch (said._tag) {
            case "call":
              return Effect.zipRight(serve(said), listen)
            case "ended":
            case "gone":
              return Effect.succeed(said.error)
          }
        }
      )

      const ended = yield* Effect.raceFirst(
        Effect.map(listen, Option.some),
        Effect.as(program.deadline, Option.none<string | null>())
      )
      if (Option.isSome(ended)) yield* Effect.timeoutOption(child.closed, lastWordMillis).pipe(realTime)
      return {
        output: textOf(child.output),
        error: Option.isSome(ended) && ended.value !== null ? clean(ended.value) : null,
        timedOut: Option.isNone(ended),
        calls
      } satisfies CodeOutcome
    },
    Effect.scoped,
    Effect.provideService(AmbientEnvironment, ambient)
  )

  return CodeRunner.of({ compile, run })
})

/** Node, under its permission model: files of its own folder only, no child processes; the network is not confined (SECURITY.md). */
export const layer: Layer.Layer<CodeRunner, never, AmbientEnvironment | Settings | Ids | Redactor> = Layer.effect(
  CodeRunner,
  make
)
