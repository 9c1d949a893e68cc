import { Effect } from "effect"
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process"
import { closeSync } from "node:fs"
import { Socket } from "node:net"
import type { Readable } from "node:stream"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"
import { HeadTail } from "../../../services/shell/Output.js"
import { ShellUnavailable } from "../../../services/shell/Shell.js"
import type { Pipe } from "./Pipes.js"

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
}

/**
 * One running command: leader of a process group and session of its own, nothing on its stdin, stdout and stderr in one
 * pipe, so that they come in the order in which they were written.
 */
export interface Child {
  readonly pid: number
  readonly output: HeadTail
  readonly hasEnded: () => boolean
  /** Waits until the command itself has ended; what it started may go on. */
  readonly ended: Effect.Effect<Ended>
  /** Waits until nobody can write to the pipe any more. */
  readonly closed: Effect.Effect<void>
  readonly hasClosed: () => boolean
  /** Stops reading. */
  readonly release: Effect.Effect<void>
}

/** A value that comes once, for any number of waiting fibers. */
export class Once<A> {
  value: { readonly is: A } | null = null
  readonly #waiting = new Set<(value: A) => void>()

  readonly set = (value: A): void => {
    if (this.value !== null) return
    this.value = { is: value }
    for (const tell of this.#waiting) tell(value)
    this.#waiting.clear()
  }

  readonly get: Effect.Effect<A> = Effect.async((resume) => {
    if (this.value !== null) return resume(Effect.succeed(this.value.is))
    const tell = (value: A): void => resume(Effect.succeed(value))
    this.#waiting.add(tell)
    return Effect.sync(() => this.#waiting.delete(tell))
  })
}

/** `sh` joins the two outputs and becomes the shell that runs the command: two sockets would lose their order. */
const joined = 'exec "$0" -c "$1" 2>&1'

interface Started {
  readonly child: ChildProcess
  readonly output: Readable
}

const throughPipe = (shell: string, command: string, pipe: Pipe, options: SpawnOptions): Started => {
  const output = new Socket({ fd: pipe.read, readable: true, writable: false })
  try {
    const child = spawn(shell, ["-c", command], { ...options, stdio: ["ignore", pipe.write, pipe.write] })
    return { child, output }
  } catch (error) {
    output.destroy()
    throw error
  } finally {
    closeSync(pipe.write)
  }
}

const throughSocket = (shell: string, command: string, options: SpawnOptions): Started => {
  const child = spawn("/bin/sh", ["-c", joined, shell, command], { ...options, stdio: ["ignore", "pipe", "ignore"] })
  if (child.stdout === null) throw new Error("the command has no output")
  return { child, output: child.stdout }
}

/** Starts `shell -c command`, its output going through `pipe`, or without one through a socket. */
export const start = (options: {
  readonly shell: string
  readonly command: string
  readonly directory: string
  readonly environment: Environment
  readonly pipe: Pipe | null
  /** Is given all that comes, also what `output` does not keep. */
  readonly onOutput?: (chunk: Uint8Array) => void
}): Effect.Effect<Child, ShellUnavailable> =>
  Effect.async((resume) => {
    const unavailable = (error: unknown): void => {
      const detail = error instanceof Error ? error.message : String(error)
      const text = detail.includes("E2BIG") ? "it is too long; put it into a file and run that" : detail
      resume(Effect.fail(new ShellUnavailable({ detail: text })))
    }
    try {
      const { command, directory, environment, onOutput, pipe, shell } = options
      const how = { cwd: directory, env: environment, detached: true }
      const started = pipe === null ? throughSocket(shell, command, how) : throughPipe(shell, command, pipe, how)
      const output = new HeadTail()
      const ended = new Once<Ended>()
      const closed = new Once<void>()
      started.output.on("data", (chunk: Uint8Array) => {
        output.push(chunk)
        onOutput?.(chunk)
      })
      started.output.on("error", () => closed.set())
      started.output.once("close", () => closed.set())
      started.child.on("error", (error) => {
        started.output.destroy()
        unavailable(error)
      })
      started.child.once("exit", (code, signal) => ended.set({ code, signal }))
      started.child.once("spawn", () => {
        resume(
          Effect.succeed({
            pid: started.child.pid ?? 0,
            output,
            hasEnded: () => ended.value !== null,
            ended: ended.get,
            closed: closed.get,
            hasClosed: () => closed.value !== null,
            release: Effect.sync(() => {
              started.output.destroy()
              started.child.unref()
            })
          })
        )
      })
    } catch (error) {
      unavailable(error)
    }
  })
