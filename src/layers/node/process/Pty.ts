/**
 * Commands at a terminal of their own, through `node-pty`: a native package that is installed where it can be and asked
 * for only when somebody wants a terminal. Such a command ends with the gateway, as one does whose window is closed.
 */
import { Effect } from "effect"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"
import { ShellUnavailable } from "../../../services/shell/Shell.js"
import { type Ended, Once } from "./Child.js"
import type { Held } from "./Held.js"

interface Terminal {
  readonly pid: number
  readonly onData: (listener: (text: string) => void) => unknown
  readonly onExit: (listener: (end: { readonly exitCode: number; readonly signal?: number }) => void) => unknown
  readonly write: (text: string) => void
}

interface Terminals {
  readonly spawn: (
    file: string,
    args: ReadonlyArray<string>,
    options: {
      readonly name: string
      readonly cols: number
      readonly rows: number
      readonly cwd: string
      readonly env: Environment
    }
  ) => Terminal
}

const isTerminals = (found: unknown): found is Terminals =>
  typeof found === "object" && found !== null && "spawn" in found && typeof found.spawn === "function"

const packageName = "node-pty"

const load: Effect.Effect<Terminals, ShellUnavailable> = Effect.tryPromise({
  try: (): Promise<unknown> => import("node-pty").then((module) => (isTerminals(module) ? module : module.default)),
  catch: () =>
    new ShellUnavailable({
      detail: `a terminal needs the optional package ${packageName}, which is not installed here or could not be built; the owner can add it with \`npm install ${packageName}\` beside hermes-effect. Without \`pty\` the command runs as well`
    })
}).pipe(
  Effect.filterOrFail(
    isTerminals,
    () => new ShellUnavailable({ detail: `what is installed as ${packageName} makes no terminals` })
  )
)

const columns = 120
const rows = 40
/** Ctrl-D: what a person types to end the input. */
const endOfInput = "\u0004"

/** Starts `shell -c command` at a terminal; it leads a session of its own. */
export const start = (options: {
  readonly shell: string
  readonly command: string
  readonly directory: string
  readonly environment: Environment
  readonly onOutput: (chunk: Uint8Array) => void
}): Effect.Effect<Held, ShellUnavailable> =>
  Effect.flatMap(load, (terminals) =>
    Effect.try({
      try: () => {
        const terminal = terminals.spawn(options.shell, ["-c", options.command], {
          name: "xterm-256color",
          cols: columns,
          rows,
          cwd: options.directory,
          env: options.environment
        })
        const ended = new Once<Ended>()
        terminal.onData((text) => options.onOutput(Buffer.from(text)))
        terminal.onExit(({ exitCode, signal }) =>
          ended.set(signal ? { code: null, signal: `signal ${signal}` } : { code: exitCode, signal: null })
        )
        const write = (text: string) =>
          Effect.sync(() => {
            if (ended.value !== null) return false
            terminal.write(text)
            return true
          })
        return {
          pid: terminal.pid,
          ended: ended.get,
          closed: Effect.asVoid(ended.get),
          remainder: Effect.succeed(new Uint8Array()),
          write,
          closeInput: write(endOfInput),
          release: Effect.void
        } satisfies Held
      },
      catch: (error) => new ShellUnavailable({ detail: error instanceof Error ? error.message : String(error) })
    })
  )
