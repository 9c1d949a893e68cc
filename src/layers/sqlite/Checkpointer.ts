import { Effect, Queue, Schema, type Scope } from "effect"
import { createRequire } from "node:module"
import { Worker } from "node:worker_threads"
import * as Turn from "../../fibers/Turn.js"
import { StateCorrupt, type StateDbReplaced } from "../../services/state/StateError.js"
import type { Condition } from "./Condition.js"
import * as WriteAheadLog from "./WriteAheadLog.js"

/** Transactions between two checkpoints: each syncs the disk, and the commits beside it wait for that. */
const everyTransactions = 1_024

/** Frames (4 KiB each) of log above which writers wait for a checkpoint that catches up, so that the log starts over: 32 MiB. */
const boundFrames = 8_192

/** And growth of the log between two: some transactions are large. */
const everyBytes = 8 * 2 ** 20

/** A log this many times its bound does not wait to hear that it is: the thread may be slow to begin on a busy machine. */
const boundsAtMost = 2
const frameBytes = 4_120

/** How long one checkpoint may take before it is given up on, and with it its thread. */
const patience = "30 seconds"

export interface Checkpointer {
  /** Told after each transaction. */
  readonly committed: () => void
  /** True at nearly all times; false while the log is over its bound and a checkpoint catches up. */
  readonly isRoom: () => boolean
  /** Waits while the log is over its bound and a checkpoint catches up. */
  readonly room: Effect.Effect<void>
}

export const none: Checkpointer = { committed: () => {}, isRoom: () => true, room: Effect.void }

/** Log frames in all, and how many of them the database file has; `busy` when somebody else is at it. */
const Progress = Schema.Struct({ busy: Schema.Number, log: Schema.Number, checkpointed: Schema.Number })
type Progress = typeof Progress.Type

/** The log is damaged. It stays as it is, and nothing of it goes into the database file. */
class LogDamaged extends Schema.TaggedError<LogDamaged>()("LogDamaged", { detail: Schema.String }) {}

class CheckpointFailed extends Schema.TaggedError<CheckpointFailed>()("CheckpointFailed", { detail: Schema.String }) {}

/**
 * Text rather than a file: it runs the same from sources, from tests and from the bundle. Before each checkpoint the log
 * is looked through: SQLite would move a damaged page into the database without a word.
 */
const source = `
const { parentPort, workerData } = require("node:worker_threads")
const fs = require("node:fs")
const Database = require(workerData.driver)
const __name = (target) => target
const scan = ${WriteAheadLog.scan.toString()}
const examine = ${WriteAheadLog.examine.toString()}
const follow = ${WriteAheadLog.follow.toString()}
let followed = null
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
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
    const log = workerData.file + "-wal"
    followed = follow(fs, log, followed)
    const damage = followed === null ? examine(fs, log, scan, pause) : null
    if (damage !== null) {
      parentPort.postMessage({ damaged: "damaged before " + damage.forgotten + " commits, in frame " + damage.frames.join(", ") })
      return
    }
    const progress = database.pragma("wal_checkpoint(PASSIVE)")[0]
    // What was looked at and is in the log alone is looked at again.
    if (followed !== null && progress.checkpointed < followed.frames) followed = null
    parentPort.postMessage(progress)
  } catch (error) {
    parentPort.postMessage({ error: String(error) })
  }
})
`

const Reply = Schema.Union(Progress, Schema.Struct({ error: Schema.String }), Schema.Struct({ damaged: Schema.String }))
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

    const checkpoint: Effect.Effect<Progress, CheckpointFailed | LogDamaged> = ask.pipe(
      Effect.flatMap((message) =>
        Effect.mapError(decodeReply(message), (error) => new CheckpointFailed({ detail: error.message }))
      ),
      Effect.flatMap((reply): Effect.Effect<Progress, CheckpointFailed | LogDamaged> => {
        if ("error" in reply) return Effect.fail(new CheckpointFailed({ detail: reply.error }))
        return "damaged" in reply ? Effect.fail(new LogDamaged({ detail: reply.damaged })) : Effect.succeed(reply)
      }),
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
export const make = (file: string, condition: Condition): Effect.Effect<Checkpointer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const thread = yield* makeThread(file)
    const due = yield* Queue.sliding<void>(1)
    const room = yield* Effect.makeLatch(true)
    let catchingUp = false
    let transactions = 0
    let seenBytes = condition.logBytes()
    let bound = boundFrames

    const shut = (): void => {
      catchingUp = true
      room.unsafeClose()
    }
    const reopen = (): void => {
      catchingUp = false
      room.unsafeOpen()
    }

    const catchUp = Effect.gen(function* () {
      // Through the names of other files the thread would write into what is not ours.
      if (condition.wrong() !== null) return
      const progress = yield* thread.checkpoint
      if (progress.log < bound) return
      shut()
      const caughtUp = yield* thread.checkpoint
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
        Effect.zipRight(Effect.ensuring(catchUp, Effect.sync(reopen))),
        Effect.catchTag("LogDamaged", ({ detail }) =>
          Effect.ignore(
            condition.noting(
              Effect.fail<StateCorrupt | StateDbReplaced>(
                new StateCorrupt({ operation: "checkpoint", detail: `the write-ahead log: ${detail}` })
              )
            )
          )
        ),
        Effect.catchAllCause((cause) => {
          // Nobody waits again for what just failed.
          bound *= 2
          return Effect.logWarning("a checkpoint failed; the log grows until the next one", cause)
        }),
        Effect.forever
      )
    )
    return {
      committed: () => {
        transactions += 1
        const grown = condition.logBytes() - seenBytes
        if (transactions % everyTransactions !== 0 && grown < everyBytes) return
        seenBytes += grown
        // It grows only when all of it is in use.
        if (grown > 0 && seenBytes > boundsAtMost * bound * frameBytes && condition.wrong() === null) shut()
        due.unsafeOffer(undefined)
      },
      isRoom: () => !catchingUp,
      room: room.await
    }
  })
