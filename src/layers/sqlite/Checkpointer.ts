import { Effect, Queue, Schema, type Scope } from "effect"
import { createRequire } from "node:module"
import { Worker } from "node:worker_threads"
import * as Turn from "../../fibers/Turn.js"

/** Transactions between two checkpoints (state-agent.md 1.5). */
const everyTransactions = 64

/** Frames (4 KiB each) of log above which writers wait for a checkpoint that catches up, so that the log starts over: 32 MiB. */
const boundFrames = 8_192

/** How long one checkpoint may take before it is given up on, and with it its thread. */
const patience = "30 seconds"

export interface Checkpointer {
  /** Told after each transaction. */
  readonly committed: () => void
  /** Free at nearly all times; waits while the log is over its bound and a checkpoint catches up. */
  readonly room: Effect.Effect<void>
}

export const none: Checkpointer = { committed: () => {}, room: Effect.void }

/** Log frames in all, and how many of them the database file has; `busy` when somebody else is at it. */
const Progress = Schema.Struct({ busy: Schema.Number, log: Schema.Number, checkpointed: Schema.Number })
type Progress = typeof Progress.Type

class CheckpointFailed extends Schema.TaggedError<CheckpointFailed>()("CheckpointFailed", { detail: Schema.String }) {}

/** Text rather than a file: it runs the same from sources, from tests and from the bundle. */
const source = `
const { parentPort, workerData } = require("node:worker_threads")
const Database = require(workerData.driver)
const database = new Database(workerData.file, { fileMustExist: true, timeout: 1000 })
database.pragma("wal_autocheckpoint = 0")
database.pragma("synchronous = FULL")
parentPort.on("message", (message) => {
  if (message === "close") {
    database.close()
    parentPort.close()
    return
  }
  try {
    parentPort.postMessage(database.pragma("wal_checkpoint(PASSIVE)")[0])
  } catch (error) {
    parentPort.postMessage({ error: String(error) })
  }
})
`

const Reply = Schema.Union(Progress, Schema.Struct({ error: Schema.String }))
const decodeReply = Schema.decodeUnknown(Reply)

/** A thread with a connection of its own, started at the first checkpoint: a gateway that rests has none. */
const makeThread = (file: string) =>
  Effect.gen(function* () {
    let worker: Worker | null = null

    const start = (): Worker => {
      const started = new Worker(source, {
        eval: true,
        workerData: { file, driver: createRequire(import.meta.url).resolve("better-sqlite3") },
        env: {},
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: 32 }
      })
      started.unref()
      started.on("exit", () => {
        if (worker === started) worker = null
      })
      return started
    }

    const ask = Effect.async<unknown, CheckpointFailed>((resume) => {
      const thread = (worker ??= start())
      const onMessage = (message: unknown) => done(Effect.succeed(message))
      const onError = (error: Error) => done(Effect.fail(new CheckpointFailed({ detail: error.message })))
      const onExit = () => done(Effect.fail(new CheckpointFailed({ detail: "the checkpoint thread ended" })))
      const forget = () => {
        thread.off("message", onMessage).off("error", onError).off("exit", onExit)
      }
      const done = (outcome: Effect.Effect<unknown, CheckpointFailed>) => {
        forget()
        resume(outcome)
      }
      thread.on("message", onMessage).on("error", onError).on("exit", onExit)
      thread.postMessage("checkpoint")
      return Effect.sync(forget)
    })

    const stop = Effect.promise(async () => {
      const thread = worker
      worker = null
      await thread?.terminate()
    })

    const close = Effect.async<void>((resume) => {
      const thread = worker
      if (thread === null) return resume(Effect.void)
      thread.once("exit", () => resume(Effect.void))
      thread.postMessage("close")
    }).pipe(Effect.timeoutTo({ duration: "5 seconds", onSuccess: () => true, onTimeout: () => false }), (closed) =>
      Effect.flatMap(closed, (ended) => (ended ? Effect.void : stop))
    )
    yield* Effect.addFinalizer(() => close)

    const checkpoint: Effect.Effect<Progress, CheckpointFailed> = ask.pipe(
      Effect.flatMap((message) =>
        Effect.mapError(decodeReply(message), (error) => new CheckpointFailed({ detail: error.message }))
      ),
      Effect.flatMap((reply) =>
        "error" in reply ? Effect.fail(new CheckpointFailed({ detail: reply.error })) : Effect.succeed(reply)
      ),
      Effect.timeoutFail({
        duration: patience,
        onTimeout: () => new CheckpointFailed({ detail: `no end after ${patience}` })
      }),
      Effect.tapError(() => stop)
    )
    return { checkpoint }
  })

/**
 * Moves the log into the database file beside the writer, always PASSIVE: a checkpoint inside a commit would make one
 * in a few hundred commits slow. When the log is over its bound, writers wait for the one checkpoint that catches up.
 */
export const make = (file: string): Effect.Effect<Checkpointer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const thread = yield* makeThread(file)
    const due = yield* Queue.sliding<void>(1)
    const room = yield* Effect.makeLatch(true)
    let transactions = 0
    let bound = boundFrames

    const catchUp = Effect.gen(function* () {
      const progress = yield* thread.checkpoint
      if (progress.log < bound) return
      const caughtUp = yield* room.close.pipe(Effect.zipRight(thread.checkpoint), Effect.ensuring(room.open))
      const left = caughtUp.log - caughtUp.checkpointed
      // A reader keeps the log from starting over: waiting for it would stop all writes, so the bound moves on.
      bound = left === 0 ? boundFrames : bound * 2
      if (left > 0)
        yield* Effect.logWarning("the write-ahead log cannot be emptied: another process reads an old state").pipe(
          Effect.annotateLogs({ frames: caughtUp.log, left })
        )
    })

    yield* Turn.forkWorker(
      Queue.take(due).pipe(
        Effect.zipRight(catchUp),
        Effect.catchAllCause((cause) =>
          Effect.logWarning("a checkpoint failed; the log grows until the next one", cause)
        ),
        Effect.forever
      )
    )
    return {
      committed: () => {
        transactions += 1
        if (transactions % everyTransactions === 0) due.unsafeOffer(undefined)
      },
      room: room.await
    }
  })
