/** A process that is spoken with over its stdin and stdout, a line at a time. */
import { Deferred, Effect, FiberId } from "effect"
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"
import { HeadTail } from "../../../services/shell/Output.js"
import * as Directory from "./Directory.js"

/** Bytes of one line; a process that says more without an end is not understood. */
const longestLine = 8 * 1024 * 1024
/** Bytes that it has not yet taken; a process that reads nothing is not waited for. */
const mostUnread = 4 * 1024 * 1024

export interface PipedChild {
  readonly pid: number
  /** Hands a line over. */
  readonly write: (line: string) => void
  /** Why it is over, once it is. */
  readonly over: Effect.Effect<string>
  /** The end of what it wrote to stderr. */
  readonly complaint: () => string
}

export interface Options {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly directory: string
  readonly environment: Environment
  readonly heard: (line: string) => void
}

/** What no system takes, such as an argument that is too long or has a NUL in it, is said at once and not as an event. */
const started = ({ args, command, directory, environment }: Options): ChildProcessWithoutNullStreams | Error => {
  try {
    return spawn(command, [...args], {
      cwd: directory,
      env: environment,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"]
    })
  } catch (error) {
    if (!(error instanceof Error)) return new Error(String(error))
    // What Node says of it shows the value, which may be a secret of the environment's.
    if (error instanceof TypeError)
      return new Error("its command, an argument or a value of its environment has a NUL in it, which no system takes")
    return error.message.includes("E2BIG")
      ? new Error("its arguments or its environment are too long for the system")
      : error
  }
}

/** Starts it as the leader of a group of its own; whoever starts it ends it. Fails with the reason. */
export const start = (options: Options): Effect.Effect<PipedChild, string> =>
  Effect.async((resume) => {
    // The system's own word would name the command for it, and for a file in its place there is no word at all.
    const astray = Directory.problemOf(options.directory)
    if (astray !== null) return resume(Effect.fail(astray))
    const over = Deferred.unsafeMake<string>(FiberId.none)
    const end = (why: string): void => Deferred.unsafeDone(over, Effect.succeed(why))
    const child = started(options)
    if (child instanceof Error) return resume(Effect.fail(child.message))
    const complaints = new HeadTail({ head: 0, tail: 2_048 })
    let parts: Array<Buffer> = []
    let bytes = 0
    let deaf = false
    child.stdout.on("data", (chunk: Buffer) => {
      let from = 0
      for (let to = chunk.indexOf(10); to !== -1 && !deaf; to = chunk.indexOf(10, from)) {
        const line = Buffer.concat([...parts, chunk.subarray(from, to)])
        parts = []
        bytes = 0
        from = to + 1
        options.heard(line.toString("utf8"))
      }
      bytes += chunk.length - from
      if (bytes > longestLine) {
        deaf = true
        parts = []
        end(`wrote a line of more than ${longestLine} bytes`)
      } else if (!deaf && from < chunk.length) parts.push(chunk.subarray(from))
    })
    child.stderr.on("data", (chunk: Buffer) => complaints.push(chunk))
    for (const stream of [child.stdin, child.stdout, child.stderr])
      stream.on("error", (error) => end(`is no longer spoken with (${error.message})`))
    child.on("error", (error) => {
      end(error.message)
      resume(Effect.fail(error.message))
    })
    child.once("exit", (code, signal) =>
      end(code === null ? `was ended by ${signal ?? "a signal"}` : `ended with exit code ${code}`)
    )
    child.once("spawn", () =>
      resume(
        Effect.succeed({
          pid: child.pid ?? 0,
          write: (line) => {
            if (child.stdin.writableLength > mostUnread) end("reads nothing")
            else if (child.stdin.writable) child.stdin.write(`${line}\n`)
          },
          over: Deferred.await(over),
          complaint: () => {
            const { head, tail } = complaints.read()
            return `${head}${tail}`
          }
        })
      )
    )
  })
