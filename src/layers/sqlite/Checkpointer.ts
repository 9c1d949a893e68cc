import { Effect, Queue, type Scope } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { StateCorrupt } from "../../services/state/StateError.js"
import type { Condition } from "./Condition.js"
import type { ConnectionThread } from "./ConnectionThread.js"
import type { LogIndex } from "./LogIndex.js"

/** Frames (4 KiB each) of log above which writers wait for a checkpoint that catches up, so that the log starts over: 32 MiB. */
const boundFrames = 8_192

/** Transactions between two checkpoints: each syncs the disk, and the commits beside it wait for that. */
const everyTransactions = 1_024

/**
 * And frames, or growth of the log, where those are many: what is left to do when the log reaches its bound is what writers
 * wait for.
 */
const everyFrames = 4_096
const everyBytes = 8 * 2 ** 20

/** So few frames are followed in hardly more than the disk takes. */
const fewFrames = 64
/** Passes before the one that writers wait for: many writers write faster than a disk follows. */
const mostPasses = 4

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
export const make = (
  thread: ConnectionThread,
  condition: Condition,
  logIndex: Pick<LogIndex, "frames">
): Effect.Effect<Checkpointer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const due = yield* Queue.sliding<void>(1)
    const room = yield* Effect.makeLatch(true)
    let catchingUp = false
    let transactions = 0
    let seenBytes = condition.logBytes()
    let seenFrames = 0
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
      let progress = yield* thread.checkpoint
      if (progress.log < bound) return
      // Each pass has to follow what was written during the one before, which is less each time: the one that writers wait
      // for has least to do.
      for (let pass = 0, behind = progress.log; pass < mostPasses && behind > fewFrames; pass++) {
        const next = yield* thread.checkpoint
        behind = next.log - progress.log
        progress = next
      }
      shut()
      const caughtUp = yield* thread.checkpoint
      // A look of our own holds it up for a moment.
      const { checkpointed, log } = caughtUp.log === caughtUp.checkpointed ? caughtUp : yield* thread.checkpoint
      const left = log - checkpointed
      // A reader keeps the log from starting over: waiting for it would stop all writes, so the bound moves on.
      bound = left === 0 ? boundFrames : bound * 2
      if (left > 0)
        yield* Effect.logWarning("the write-ahead log cannot be emptied: another process reads an old state").pipe(
          Effect.annotateLogs({ frames: log, left })
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
        const frames = logIndex.frames()
        // It has started over.
        if (frames < seenFrames) seenFrames = 0
        if (transactions % everyTransactions !== 0 && grown < everyBytes && frames - seenFrames < everyFrames) return
        seenBytes += grown
        seenFrames = frames
        // It grows only when all of it is in use.
        if (grown > 0 && seenBytes > boundsAtMost * bound * frameBytes && condition.wrong() === null) shut()
        due.unsafeOffer(undefined)
      },
      isRoom: () => !catchingUp,
      room: room.await
    }
  })
