/** One child process and one worker thread for a whole suite, and how to ask them. */
import { fork } from "node:child_process"
import { Worker } from "node:worker_threads"
import { Context, Deferred, Effect, Layer, Schema, type Scope } from "effect"
import { Answer, Request } from "../fixtures/protocol.js"

export type Answer = typeof Answer.Type
type RequestBody = typeof Request.Type extends infer R ? (R extends { id: number } ? Omit<R, "id"> : never) : never

/** Another process or thread that opens parcels. */
export interface Elsewhere {
  readonly ask: (request: RequestBody) => Effect.Effect<Answer>
}

export class ChildProcess extends Context.Tag("test/ChildProcess")<ChildProcess, Elsewhere>() {}
export class WorkerThread extends Context.Tag("test/WorkerThread")<WorkerThread, Elsewhere>() {}

interface Port {
  readonly post: (message: unknown) => void
  readonly onMessage: (listener: (message: unknown) => void) => void
  readonly close: Effect.Effect<void>
}

const make = (open: () => Port): Effect.Effect<Elsewhere, never, Scope.Scope> =>
  Effect.gen(function* () {
    const waiting = new Map<number, Deferred.Deferred<Answer>>()
    const ready = yield* Deferred.make<Answer>()
    waiting.set(-1, ready)
    const port = yield* Effect.acquireRelease(Effect.sync(open), (opened) => opened.close)
    port.onMessage((message) => {
      const answer = Schema.decodeUnknownSync(Answer)(message)
      const waiter = waiting.get(answer.id)
      waiting.delete(answer.id)
      if (waiter !== undefined) {
        Deferred.unsafeDone(
          waiter,
          answer.failed === undefined ? Effect.succeed(answer) : Effect.die(new Error(answer.failed))
        )
      }
    })
    yield* Deferred.await(ready)
    let last = 0
    return {
      ask: (request) =>
        Effect.gen(function* () {
          const id = (last += 1)
          const answer = yield* Deferred.make<Answer>()
          waiting.set(id, answer)
          port.post({ ...request, id })
          return yield* Deferred.await(answer)
        })
    }
  })

const program = (name: string): URL => new URL(`../fixtures/${name}`, import.meta.url)

export const childProcess = (environment: Record<string, string>): Layer.Layer<ChildProcess> =>
  Layer.scoped(
    ChildProcess,
    make(() => {
      const child = fork(program("hop.ts"), {
        execArgv: ["--import", "tsx"],
        env: { PATH: process.env["PATH"] ?? "", ...environment }
      })
      return {
        post: (message) => child.send(message as object),
        onMessage: (listener) => child.on("message", listener),
        close: Effect.async<void>((resume) => {
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
      }
    })
  )

export const workerThread = (environment: Record<string, string>): Layer.Layer<WorkerThread> =>
  Layer.scoped(
    WorkerThread,
    make(() => {
      const worker = new Worker(program("hop.worker.mjs"), {
        env: { PATH: process.env["PATH"] ?? "", ...environment }
      })
      return {
        post: (message) => worker.postMessage(message),
        onMessage: (listener) => worker.on("message", listener),
        close: Effect.promise(() => worker.terminate())
      }
    })
  )
