/**
 * Commands that outlive their turn and the gateway (gateway.md 8.3). Their output goes through a named pipe that the
 * command itself keeps open: when nobody reads, it waits instead of dying, and the next gateway opens the pipe by its
 * name. Beside it stands the exit code, written by the shell that waits for the command, because nobody but a parent
 * can ask for that. The input ends with the gateway.
 */
import { Clock, Effect } from "effect"
import { execFile, spawn } from "node:child_process"
import { closeSync, constants, openSync } from "node:fs"
import { mkdir, readFile, rm } from "node:fs/promises"
import { Socket } from "node:net"
import * as path from "node:path"
import process from "node:process"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"
import { ShellUnavailable } from "../../../services/shell/Shell.js"
import { type Ended, Once } from "./Child.js"
import type { Held } from "./Held.js"
import * as ProcessTable from "./ProcessTable.js"

/** Runs the command, keeps what is left in the pipe when no gateway is there to read it, and writes its exit code down. */
const waiting = [
  '"$0" -c "$1"',
  "code=$?",
  'kill -0 "$3" 2>/dev/null || dd if="$2/out" of="$2/rest" bs=65536 count=1 iflag=nonblock 2>/dev/null',
  'echo "$code" > "$2/exit"',
  'exit "$code"'
].join("; ")

/** How often a command that is not our child is looked at. */
const lookMillis = 500
/** How long a program may take to make room for what it is given. */
const writeMillis = 2_000

const realTime = Effect.withClock(Clock.make())

const unavailable = (error: unknown): ShellUnavailable =>
  new ShellUnavailable({ detail: error instanceof Error ? error.message : String(error) })

const makePipe = (directory: string): Effect.Effect<string, ShellUnavailable> =>
  Effect.gen(function* () {
    const file = path.join(directory, "out")
    yield* Effect.tryPromise({ try: () => mkdir(directory, { recursive: true, mode: 0o700 }), catch: unavailable })
    yield* Effect.async<void, ShellUnavailable>((resume) => {
      execFile("mkfifo", ["-m", "600", file], { env: { PATH: "/bin:/usr/bin" }, timeout: 5_000 }, (error) =>
        resume(error === null ? Effect.void : Effect.fail(unavailable(error)))
      )
    })
    return file
  })

/** Everything of it that is on the disk. */
export const forget = (directory: string): Effect.Effect<void> =>
  Effect.ignoreLogged(Effect.tryPromise(() => rm(directory, { recursive: true, force: true })))

/** What a command that has ended left on the disk; empty where there is nothing. */
const left = (directory: string, name: string): Effect.Effect<Uint8Array> =>
  Effect.orElseSucceed(
    Effect.tryPromise(() => readFile(path.join(directory, name))),
    () => new Uint8Array()
  )

/** The exit code that was written down; null where the command was killed before that. */
export const exitCode = (directory: string): Effect.Effect<number | null> =>
  Effect.map(left(directory, "exit"), (bytes) => {
    const text = new TextDecoder().decode(bytes).trim()
    return /^\d{1,3}$/.test(text) ? Number(text) : null
  })

export const remainder = (directory: string): Effect.Effect<Uint8Array> => left(directory, "rest")

const reading = (fd: number, onOutput: (chunk: Uint8Array) => void) => {
  const closed = new Once<void>()
  const output = new Socket({ fd, readable: true, writable: false })
  output.on("data", onOutput)
  output.on("error", () => closed.set())
  output.once("close", () => closed.set())
  return { closed, output }
}

/** Starts `shell -c command` as the leader of a process group and session of its own. */
export const start = (options: {
  readonly shell: string
  readonly command: string
  readonly directory: string
  readonly environment: Environment
  /** A folder of its own, for its pipe and exit code. */
  readonly place: string
  readonly onOutput: (chunk: Uint8Array) => void
}): Effect.Effect<Held, ShellUnavailable> =>
  Effect.flatMap(makePipe(options.place), (file) =>
    Effect.async<Held, ShellUnavailable>((resume) => {
      const fds: Array<number> = []
      try {
        const read = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
        fds.push(read)
        const both = openSync(file, constants.O_RDWR)
        fds.push(both)
        const child = spawn(
          "/bin/sh",
          ["-c", waiting, options.shell, options.command, options.place, String(process.pid)],
          {
            cwd: options.directory,
            env: options.environment,
            detached: true,
            stdio: ["pipe", both, both]
          }
        )
        closeSync(both)
        fds.length = 0
        const { closed, output } = reading(read, options.onOutput)
        const ended = new Once<Ended>()
        const input = child.stdin
        if (input === null) throw new Error("the command has no input")
        input.on("error", () => input.destroy())
        child.on("error", (error) => {
          output.destroy()
          resume(Effect.fail(unavailable(error)))
        })
        child.once("exit", (code, signal) => ended.set({ code, signal }))
        child.once("spawn", () =>
          resume(
            Effect.succeed({
              pid: child.pid ?? 0,
              ended: ended.get,
              closed: closed.get,
              remainder: remainder(options.place),
              write: (text) =>
                Effect.async<boolean>((told) => {
                  if (input.destroyed || !input.writable) return told(Effect.succeed(false))
                  input.write(text, (error) => told(Effect.succeed(!error)))
                }).pipe(Effect.timeoutTo({ duration: writeMillis, onSuccess: (ok) => ok, onTimeout: () => false })),
              closeInput: Effect.sync(() => {
                input.end()
                return true
              }),
              release: Effect.sync(() => {
                output.destroy()
                input.destroy()
                child.unref()
              })
            } satisfies Held)
          )
        )
      } catch (error) {
        for (const fd of fds) closeSync(fd)
        resume(Effect.fail(unavailable(error)))
      }
    })
  )

/** The very process that was started, and no later one with its pid; null when it is gone. */
export const living = (pid: number, born: string): Effect.Effect<ProcessTable.Entry | null> =>
  Effect.map(ProcessTable.find(pid), (entry) =>
    entry !== null && born !== "" && entry.startedAt === born ? entry : null
  )

/** Takes over a command that an earlier gateway started and that still runs. */
export const adopt = (options: {
  readonly pid: number
  readonly born: string
  readonly place: string
  readonly onOutput: (chunk: Uint8Array) => void
}): Effect.Effect<Held, ShellUnavailable> =>
  Effect.try({
    try: () => {
      const fd = openSync(path.join(options.place, "out"), constants.O_RDONLY | constants.O_NONBLOCK)
      const { closed, output } = reading(fd, options.onOutput)
      const gone = living(options.pid, options.born).pipe(
        Effect.zipLeft(Effect.sleep(lookMillis)),
        Effect.repeat({ until: (entry) => entry === null }),
        realTime
      )
      return {
        pid: options.pid,
        ended: Effect.map(Effect.zipRight(gone, exitCode(options.place)), (code) => ({ code, signal: null })),
        closed: closed.get,
        remainder: remainder(options.place),
        write: () => Effect.succeed(false),
        closeInput: Effect.succeed(false),
        release: Effect.sync(() => output.destroy())
      } satisfies Held
    },
    catch: unavailable
  })
