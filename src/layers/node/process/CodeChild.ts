/** The process of a program: Node under its permission model, told of answers and heard over IPC. */
import { Effect, Mailbox, Option, Schema } from "effect"
import { spawn } from "node:child_process"
import * as path from "node:path"
import process from "node:process"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"
import { CodeUnavailable } from "../../../services/shell/CodeRunner.js"
import { HeadTail } from "../../../services/shell/Output.js"
import * as CodeHost from "./CodeHost.js"

const memoryMegabytes = 256
/** Messages of a program that wait to be looked at: it is given an answer to one before it can make many. */
const waitingMessages = 1_024

/** The flag's name depends on the version of Node. */
const permission = process.allowedNodeEnvironmentFlags.has("--permission")
  ? "--permission"
  : "--experimental-permission"

const unavailable = (error: unknown): CodeUnavailable =>
  new CodeUnavailable({ detail: error instanceof Error ? error.message : String(error) })

const decodeSaid = Schema.decodeUnknownOption(CodeHost.Said)

/** What such a process would read settings of ours or of its owner from. */
const withoutNode = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("NODE_")))

export type Heard = CodeHost.Said | { readonly _tag: "gone"; readonly error: string | null }

export interface Running {
  readonly pid: number
  readonly output: HeadTail
  readonly heard: Mailbox.Mailbox<Heard>
  readonly tell: (told: CodeHost.Told) => void
  readonly closed: Effect.Effect<void>
}

/** Starts what lies in `folder`. */
export const start = (folder: string, environment: Environment): Effect.Effect<Running, CodeUnavailable> =>
  Effect.flatMap(Mailbox.make<Heard>({ capacity: waitingMessages, strategy: "dropping" }), (heard) =>
    Effect.async<Running, CodeUnavailable>((resume) => {
      const child = spawn(
        process.execPath,
        [
          permission,
          `--allow-fs-read=${path.join(folder, "*")}`,
          `--allow-fs-write=${path.join(folder, "*")}`,
          "--no-warnings",
          `--max-old-space-size=${memoryMegabytes}`,
          path.join(folder, CodeHost.hostFile)
        ],
        { cwd: folder, env: withoutNode(environment), detached: true, stdio: ["ignore", "pipe", "pipe", "ipc"] }
      )
      const output = new HeadTail()
      const closed = new Set<() => void>()
      let isClosed = false
      child.stdout?.on("data", (chunk: Uint8Array) => output.push(chunk))
      child.stderr?.on("data", (chunk: Uint8Array) => output.push(chunk))
      child.on("message", (message) => {
        const said = decodeSaid(message)
        if (Option.isSome(said)) heard.unsafeOffer(said.value)
      })
      child.on("error", (error) => resume(Effect.fail(unavailable(error))))
      child.once("exit", (code, signal) =>
        heard.unsafeOffer({
          _tag: "gone",
          error:
            code === 0
              ? null
              : code === null
                ? `it was ended by ${signal ?? "a signal"}; it may have used more than ${memoryMegabytes} MB`
                : `it ended with exit code ${code}`
        })
      )
      child.once("close", () => {
        isClosed = true
        for (const tell of closed) tell()
      })
      child.once("spawn", () =>
        resume(
          Effect.succeed({
            pid: child.pid ?? 0,
            output,
            heard,
            tell: (told) => {
              if (child.connected) child.send(told, () => undefined)
            },
            closed: Effect.async<void>((done) => {
              if (isClosed) return done(Effect.void)
              const tell = () => done(Effect.void)
              closed.add(tell)
              return Effect.sync(() => closed.delete(tell))
            })
          })
        )
      )
    })
  )
