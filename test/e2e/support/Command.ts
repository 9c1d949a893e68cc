/** The built command `hermes` as a process: started, watched, ended; nothing of it is left when the scope closes. */
import { Data, Deferred, Duration, Effect, FiberId, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { fresh } from "../../../build/fresh.mjs"
import type { HomeDirectory } from "./HomeDirectory.js"

const program = fileURLToPath(new URL("../../../dist/bin/hermes.js", import.meta.url))

/** Builds what is older than its sources; for `beforeAll`. */
export const built = (): Promise<void> => fresh("bin", "page")

/** How long `built` may take on a machine that has other things to do. Milliseconds. */
export const buildMillis = 300_000

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** From its start to its end. */
  readonly millis: number
}

/** The process did not end, or did not say what was waited for, in time. */
export class OutOfTime extends Data.TaggedError("OutOfTime")<{ readonly waitedFor: string; readonly said: string }> {
  override get message(): string {
    return `waited in vain for ${this.waitedFor}; the process said:\n${this.said}`
  }
}

export interface Process {
  readonly pid: number
  readonly stdout: () => string
  readonly stderr: () => string
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Waits for its end, at most `seconds` (90). */
  readonly ended: (seconds?: number) => Effect.Effect<Ended, OutOfTime>
  readonly hasEnded: () => boolean
  /** Waits for a line of its stdout that fits; a process that ends before fails the same way. */
  readonly line: (what: string, pattern: RegExp, seconds?: number) => Effect.Effect<RegExpExecArray, OutOfTime>
}

export interface Call {
  readonly home: HomeDirectory
  readonly args: ReadonlyArray<string>
  readonly environment?: { readonly [name: string]: string }
}

/** Nothing of the tester's own environment reaches the process but where programs are. */
const environmentOf = ({ environment, home }: Call): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  HOME: home.owner,
  XDG_STATE_HOME: path.join(home.owner, "state"),
  TMPDIR: home.owner,
  LANG: "C.UTF-8",
  ...environment
})

const watch = (child: ChildProcess): Process => {
  const began = performance.now()
  const end = Deferred.unsafeMake<Ended>(FiberId.none)
  const listeners = new Set<() => void>()
  let stdout = ""
  let stderr = ""
  let over = false
  const tell = (): void => {
    for (const listener of listeners) listener()
  }
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    tell()
  })
  child.stderr?.setEncoding("utf8").on("data", (text: string) => void (stderr += text))
  child.once("close", (code, signal) => {
    over = true
    Deferred.unsafeDone(end, Effect.succeed({ code, signal, stdout, stderr, millis: performance.now() - began }))
    tell()
  })
  const outOfTime = (waitedFor: string) => () => new OutOfTime({ waitedFor, said: `${stdout}${stderr}` })
  return {
    pid: child.pid ?? -1,
    stdout: () => stdout,
    stderr: () => stderr,
    signal: (signal) => Effect.sync(() => void child.kill(signal)),
    hasEnded: () => over,
    ended: (seconds = 90) =>
      Deferred.await(end).pipe(
        Effect.timeoutFail({ duration: Duration.seconds(seconds), onTimeout: outOfTime(`its end for ${seconds} s`) })
      ),
    line: (what, pattern, seconds = 90) =>
      Effect.async<RegExpExecArray, OutOfTime>((resume) => {
        const look = (): boolean => {
          const found = pattern.exec(stdout)
          if (found !== null) resume(Effect.succeed(found))
          else if (over) resume(Effect.fail(outOfTime(`${what} (it has ended)`)()))
          return found !== null || over
        }
        if (look()) return
        const listener = (): void => void (look() && listeners.delete(listener))
        listeners.add(listener)
        return Effect.sync(() => listeners.delete(listener))
      }).pipe(Effect.timeoutFail({ duration: Duration.seconds(seconds), onTimeout: outOfTime(what) }))
  }
}

/** Starts the command on a home; it is killed with the scope when it still runs then. */
export const start = (call: Call): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() =>
      watch(
        spawn(process.execPath, [program, ...call.args, "--home", call.home.directory], {
          env: environmentOf(call),
          cwd: call.home.owner,
          stdio: ["ignore", "pipe", "pipe"]
        })
      )
    ),
    (started) =>
      Effect.suspend(() =>
        started.hasEnded() ? Effect.void : Effect.zipRight(started.signal("SIGKILL"), Effect.ignore(started.ended()))
      )
  )

/** Runs the command to its end. */
export const run = (call: Call, seconds?: number): Effect.Effect<Ended, OutOfTime> =>
  Effect.scoped(Effect.flatMap(start(call), (started) => started.ended(seconds)))

/** Frames of a JavaScript stack, or the words for a bug of ours: what nobody outside may be shown. */
export const stackTrace = /^\s+at .+(?::\d+:\d+\)?|\(<anonymous>\)|\(native\))$|node:internal|this is a bug/m
