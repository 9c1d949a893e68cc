import { Effect, Queue, type Scope } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { StateCorrupt } from "../../services/state/StateError.js"
import type { Condition } from "./Condition.js"
import type { ConnectionThread } from "./ConnectionThread.js"

/** Transactions between two checkpoints: each syncs the disk, and the commits beside it wait for that. */
const everyTransactions = 1_024

/** Frames (4 KiB each) of log above which writers wait for a checkpoint that catches up, so that the log starts over: 32 MiB. */
const boundFrames = 8_192

/** And growth of the log between two: some transactions are large. */
const everyBytes = 8 * 2 ** 20

/** A log this many times its bound does not wait to hear that it is: the thread may be slow to begin on a busy machine. */
const boundsAtMost = 2
const frameBytes = 4_120

export interface Checkpointer {
  /** Told after each transaction. */
  readonly committed: () => void
  /** True at nearly all times; false while the log is over its bound and a checkpoint catches up. */
  readonly isRoom: () => boolean
  /** Waits while the log is over its bound and a checkpoint catches up. */
  readonly room: Effect.Effect<void>
}

export const none: Checkpointer = { committed: () => {}, isRoom: () => true, room: Effect.void }

/**
 * Moves the log into the database file beside the writer, always PASSIVE: a checkpoint inside a commit would make one
 * in a few hundred commits slow. When the log is over its bound, writers wait for the one checkpoint that catches up.
 */
export const make = (thread: ConnectionThread, condition: Condition): Effect.Effect<Checkpointer, never, Scope.Scope> =>
  Effect.gen(function* () {
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
          condition.noted(new StateCorrupt({ operation: "checkpoint", detail: `the write-ahead log: ${detail}` }))
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
