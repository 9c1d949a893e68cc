import { Effect } from "effect"
import { spawn } from "node:child_process"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"
import { HeadTail } from "../../../services/shell/Output.js"
import { ShellUnavailable } from "../../../services/shell/Shell.js"

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
  /** Stops reading. */
  readonly release: Effect.Effect<void>
}

/** A value that comes once, for any number of waiting fibers. */
class Once<A> {
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

/** `sh` joins the two outputs and becomes the shell that runs the command: two pipes would lose their order. */
const joined = 'exec "$0" -c "$1" 2>&1'

/** Starts `shell -c command`. */
export const start = (options: {
  readonly shell: string
  readonly command: string
  readonly directory: string
  readonly environment: Environment
}): Effect.Effect<Child, ShellUnavailable> =>
  Effect.async((resume) => {
    const unavailable = (error: unknown): void => {
      const detail = error instanceof Error ? error.message : String(error)
      const text = detail.includes("E2BIG") ? "it is too long; put it into a file and run that" : detail
      resume(Effect.fail(new ShellUnavailable({ detail: text })))
    }
    try {
      const child = spawn("/bin/sh", ["-c", joined, options.shell, options.command], {
        cwd: options.directory,
        env: options.environment,
        detached: true,
        stdio: ["ignore", "pipe", "ignore"]
      })
      const output = new HeadTail()
      const ended = new Once<Ended>()
      const closed = new Once<void>()
      child.on("error", unavailable)
      child.stdout.on("data", (chunk: Uint8Array) => output.push(chunk))
      child.stdout.on("error", () => closed.set())
      child.once("exit", (code, signal) => ended.set({ code, signal }))
      child.once("close", () => closed.set())
      child.once("spawn", () => {
        resume(
          Effect.succeed({
            pid: child.pid ?? 0,
            output,
            hasEnded: () => ended.value !== null,
            ended: ended.get,
            closed: closed.get,
            release: Effect.sync(() => {
              child.stdout.destroy()
              child.unref()
            })
          })
        )
      })
    } catch (error) {
      unavailable(error)
    }
  })
