import { type SqlClient, SqlError } from "@effect/sql"
import { Cause, Chunk, Effect, Exit } from "effect"
import { StateCorrupt, StateDbReplaced, type StateError, StateUnknown } from "../../services/state/StateError.js"
import type { Loss } from "./DatabaseFile.js"
import * as DirectClient from "./DirectClient.js"
import type { LogIndex } from "./LogIndex.js"
import { isBusy, isFatal, stateError } from "./SqliteFailure.js"
import type { SteadyConnection } from "./SteadyConnection.js"
import type { Outcome, WriteRequest } from "./WriteRequest.js"

/**
 * How long the statements of one transaction may take before it is closed: others want the event loop. On a slow disk
 * they may take as long as the commit itself, or most of the time would go into commits.
 */
const batchNanos = { least: 4_000_000n, most: 20_000_000n }

/** How long one look at the names of the files counts. */
const lookNanos = 5_000_000n

/** How long one look at the log's index counts, as long as no page is read again through it. */
const indexNanos = 20_000_000n

/** A request, and what it is told once its commit is as lasting as it wants. */
export type Committed = readonly [request: WriteRequest, outcome: Outcome]

/** What came of a transaction: what was committed, and what is to be tried again, at once or when the file is free. */
export interface Result {
  readonly committed: ReadonlyArray<Committed>
  readonly left: ReadonlyArray<WriteRequest>
  readonly busy: boolean
}
const nothing: Result = { committed: [], left: [], busy: false }
const again = (left: ReadonlyArray<WriteRequest>, busy: boolean): Result => ({ committed: [], left, busy })

/** What a write is told whose file is not the one that was opened any more, or whose log the disk did not take. */
export const ofLoss = (operation: string, { detail, kind }: Loss): StateError => {
  switch (kind) {
    case "replaced":
      return new StateDbReplaced({ operation, detail })
    case "cut":
      return new StateCorrupt({ operation, detail })
    case "unsynced":
      return new StateUnknown({ operation, detail })
  }
}

const sqlErrorOf = (outcome: Outcome): SqlError.SqlError | null =>
  Exit.isSuccess(outcome)
    ? null
    : (Chunk.toReadonlyArray(Cause.failures(outcome.cause)).find((error) => error instanceof SqlError.SqlError) ?? null)

/**
 * The transactions of the writer: each runs a batch of steps and ends them all with one commit. Where a step fails that
 * has written something, all are undone and run again, each in a savepoint, and it is undone alone; one that takes the
 * transaction with it is told so, and the others are run again.
 */
export const make = (options: {
  readonly client: SqlClient.SqlClient
  readonly connection: SteadyConnection
  readonly committed: () => void
  readonly lost: () => Loss | null
  readonly logIndex: LogIndex
}) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    let open = false
    const client = DirectClient.make(options.client, options.connection, () =>
      open ? null : "a statement of a write step ran outside of its transaction"
    )
    const statement = (sql: string) => () => options.connection.runNow(sql)
    const begin = statement("BEGIN IMMEDIATE")
    const commit = statement("COMMIT")
    const undo = statement("ROLLBACK")
    /** What was changed is read again from the file and its log. */
    let readAgain = true
    const rollback = () => {
      readAgain = true
      return undo()
    }
    const savepoint = statement("SAVEPOINT step")
    const release = statement("RELEASE step")
    const rollbackStep = statement("ROLLBACK TO step")

    let commitNanos = 0n
    const sliceNanos = (): bigint =>
      commitNanos < batchNanos.least ? batchNanos.least : commitNanos > batchNanos.most ? batchNanos.most : commitNanos

    const runStep = (request: WriteRequest): Outcome => {
      open = true
      try {
        return request.step()
      } catch (defect) {
        return Exit.die(defect)
      } finally {
        open = false
      }
    }

    const failAll = (requests: ReadonlyArray<WriteRequest>, error: unknown): Result => {
      for (const request of requests) request.settle(Exit.fail(stateError(request.operation, error)))
      return nothing
    }

    /** The whole transaction is lost with `culprit`, who is told; the others have done nothing wrong and are run again. */
    const lost = (batch: ReadonlyArray<WriteRequest>, culprit: WriteRequest, outcome: Outcome): Result => {
      rollback()
      culprit.settle(outcome)
      return again(
        batch.filter((request) => request !== culprit),
        false
      )
    }

    const runAlone = (request: WriteRequest): Result => {
      const outcome = runStep(request)
      if (Exit.isFailure(outcome)) {
        rollback()
        const error = sqlErrorOf(outcome)
        if (error !== null && isBusy(error)) return again([request], true)
        request.settle(outcome)
        return nothing
      }
      return finish([[request, outcome]], [request], [])
    }

    /**
     * Without savepoints, which cost as much as the statements between them. Answers null when a step failed that had
     * written something: then nothing of any step was kept, and all are run again, each in a savepoint.
     */
    const runTrusting = (batch: ReadonlyArray<WriteRequest>): Result | null => {
      const started = clock.unsafeCurrentTimeNanos()
      const done: Array<Committed> = []
      for (const request of batch) {
        if (done.length > 0 && clock.unsafeCurrentTimeNanos() - started > sliceNanos()) break
        const before = options.connection.writes()
        const outcome = runStep(request)
        if (Exit.isFailure(outcome) && (options.connection.writes() !== before || sqlErrorOf(outcome) !== null)) {
          rollback()
          return null
        }
        done.push([request, outcome])
      }
      return finish(done, batch.slice(0, done.length), batch.slice(done.length))
    }

    const runGuarded = (batch: ReadonlyArray<WriteRequest>): Result => {
      const started = clock.unsafeCurrentTimeNanos()
      const done: Array<Committed> = []
      for (const request of batch) {
        if (done.length > 0 && clock.unsafeCurrentTimeNanos() - started > sliceNanos()) break
        savepoint()
        const outcome = runStep(request)
        if (Exit.isFailure(outcome)) {
          const error = sqlErrorOf(outcome)
          if (error !== null && isBusy(error)) {
            rollback()
            return again(batch, true)
          }
          if ((error !== null && isFatal(error)) || rollbackStep() !== null) return lost(batch, request, outcome)
        }
        const unreleased = release()
        if (unreleased !== null) return lost(batch, request, Exit.fail(stateError(request.operation, unreleased)))
        done.push([request, outcome])
      }
      return finish(done, batch.slice(0, done.length), batch.slice(done.length))
    }

    let indexAt = 0n
    /** What would be committed upon pages that the log's index does not find any more; null where all is well. */
    const misled = (): SqlError.SqlError | null => {
      const now = clock.unsafeCurrentTimeNanos()
      const since = now - indexAt
      if (!readAgain && since > 0n && since < indexNanos) return null
      indexAt = now
      const message = options.logIndex.damage(readAgain)
      if (message === null) {
        readAgain = false
        return null
      }
      return new SqlError.SqlError({ cause: { code: "SQLITE_CORRUPT", message }, message })
    }

    const finish = (
      done: ReadonlyArray<Committed>,
      batch: ReadonlyArray<WriteRequest>,
      rest: ReadonlyArray<WriteRequest>
    ): Result => {
      const wrong = misled()
      if (wrong !== null) {
        rollback()
        return failAll(batch.concat(rest), wrong)
      }
      const started = clock.unsafeCurrentTimeNanos()
      const failed = commit()
      commitNanos = clock.unsafeCurrentTimeNanos() - started
      if (failed !== null) {
        rollback()
        if (isBusy(failed)) return again(batch.concat(rest), true)
        failAll(batch, failed)
        return again(rest, false)
      }
      options.committed()
      return { committed: done, left: rest, busy: false }
    }

    /** Once lost, for good: what we would write, nobody would ever read (state-agent.md 1.8). */
    let loss: Loss | null = null
    let lookedAt = -1n
    /** Commits that follow one another share a look: three names looked up cost a tenth of one. A clock that stands says nothing. */
    const lookForLoss = (): Loss | null => {
      const now = clock.unsafeCurrentTimeNanos()
      const since = now - lookedAt
      if (since > 0n && since < lookNanos && lookedAt >= 0n) return null
      lookedAt = now
      return options.lost()
    }
    let retriedBegin = false
    /** No transaction could be begun. */
    const refused = (batch: ReadonlyArray<WriteRequest>, error: SqlError.SqlError): Result => {
      if (isBusy(error)) return again(batch, true)
      if (!isFatal(error) || retriedBegin) return failAll(batch, error)
      retriedBegin = true
      return again(batch, false)
    }

    return {
      client,
      /** From now on nothing is written any more, and everybody is told why. */
      lose: (found: Loss): void => {
        loss = found
      },
      /**
       * One transaction, from BEGIN to COMMIT without leaving this function. Who fails is told at once; who does not, by
       * whoever asked for it, when the commit is where it is to be.
       */
      run: (batch: ReadonlyArray<WriteRequest>): Result => {
        const [first] = batch
        if (first === undefined) return nothing
        loss ??= lookForLoss()
        if (loss !== null) {
          for (const request of batch) request.settle(Exit.fail(ofLoss(request.operation, loss)))
          return nothing
        }
        const failed = begin()
        if (failed !== null) return refused(batch, failed)
        retriedBegin = false
        if (batch.length === 1) return runAlone(first)
        const together = runTrusting(batch)
        if (together !== null) return together
        const refusal = begin()
        return refusal === null ? runGuarded(batch) : refused(batch, refusal)
      }
    }
  })
