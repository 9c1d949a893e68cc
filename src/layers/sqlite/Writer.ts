import { type SqlClient, type SqlConnection, SqlError } from "@effect/sql"
import { Cause, Chunk, Context, Effect, Exit, type ParseResult, Random, type Scope } from "effect"
import * as Synchronous from "../../fibers/Synchronous.js"
import * as Turn from "../../fibers/Turn.js"
import { type Patience, type Step, Transaction } from "../../services/state/Database.js"
import { StateDbReplaced, type StateError, StateUnknown } from "../../services/state/StateError.js"
import * as DirectClient from "./DirectClient.js"
import { isBusy, isFatal, stateError, translated } from "./SqliteFailure.js"
import { WriteRequest, type Outcome } from "./WriteRequest.js"

/** The queue. Who comes when it is full is parked with his fiber until there is room. */
const capacity = 1_024

/** Steps in one commit at most, and how long their statements may take before it is closed: others want the event loop. */
const batchSize = 512
const batchNanos = 4_000_000n

export interface Writer {
  /**
   * Waits behind everything that was asked for earlier, for room in the queue first. While another process holds the
   * file it waits no longer than its patience: then `StateLocked`, and nothing was written.
   */
  readonly write: <A, E>(
    operation: string,
    step: Step<A, E>,
    patience: Patience
  ) => Effect.Effect<A, StateError | Exclude<E, SqlError.SqlError | ParseResult.ParseError>>
}

/**
 * All writes through one connection: a worker takes what waits, runs each step in a savepoint of one transaction and
 * answers after its commit. Steps run in one go, so nothing else happens between BEGIN and COMMIT, and a statement
 * outside of them is refused.
 */
export const make = (options: {
  readonly client: SqlClient.SqlClient
  readonly connection: SqlConnection.Connection
  /** Waited for before each transaction. */
  readonly room: Effect.Effect<void>
  /** Told after each transaction. */
  readonly committed: () => void
  /** Asked before each transaction: what happened to the file, or null. */
  readonly replaced: () => string | null
}): Effect.Effect<Writer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const transaction = yield* makeTransaction(options)
    let waiting: ReadonlyArray<WriteRequest> = []
    let parked: ReadonlyArray<WriteRequest> = []
    let arrived: Array<WriteRequest> = []
    let wake: (() => void) | null = null
    let closed = false

    const fillQueue = (): void => {
      const all = parked.length === 0 ? arrived : parked.concat(arrived)
      const room = Math.max(0, capacity - waiting.length)
      waiting = waiting.concat(all.slice(0, room))
      parked = all.slice(room)
      arrived = []
    }

    const somethingWaits = Effect.async<void>((resume) => {
      if (waiting.length + parked.length + arrived.length > 0) return resume(Effect.void)
      wake = () => resume(Effect.void)
    })

    /** One transaction with the oldest of those that wait. Answers whether another process holds the file. */
    const commitOldest = (): boolean => {
      fillQueue()
      const wanted = waiting.filter((request) => !request.withdrawn)
      const left = transaction.run(wanted.slice(0, batchSize))
      waiting = left.requests.concat(wanted.slice(batchSize))
      return left.busy
    }

    /** Ends those whose patience has run out. */
    const expire = (): void => {
      const now = clock.unsafeCurrentTimeMillis()
      const patient = (request: WriteRequest): boolean => {
        if (!request.withdrawn && now >= request.deadline) request.expire(now)
        return !request.withdrawn && request.outcome === null
      }
      waiting = waiting.filter(patient)
      parked = parked.filter(patient)
    }

    /** 20–150 ms for the first two seconds, then 250–1,000 ms, never past the nearest deadline (state-agent.md 1.5). */
    const pause = Effect.suspend(() => {
      if (waiting.length === 0) return Effect.void
      const now = clock.unsafeCurrentTimeMillis()
      const waited = now - Math.min(...waiting.map((request) => request.askedAt))
      const nearest = Math.min(...[...waiting, ...parked].map((request) => request.deadline)) - now
      const jitter = waited < 2_000 ? Random.nextIntBetween(20, 151) : Random.nextIntBetween(250, 1_001)
      return Effect.flatMap(jitter, (millis) => Effect.sleep(Math.max(1, Math.min(millis, nearest))))
    })

    const round = somethingWaits.pipe(
      Effect.zipRight(allInputSeen),
      Effect.zipRight(options.room),
      Effect.zipRight(Effect.sync(commitOldest)),
      Effect.tap((busy) => (busy ? Effect.zipRight(Effect.sync(expire), pause) : Effect.void))
    )

    /** What still waits when the database closes is written if the file is free; nobody is left without an answer. */
    const close = Effect.sync(() => {
      closed = true
      fillQueue()
      while (waiting.length > 0) {
        if (!commitOldest()) continue
        const now = clock.unsafeCurrentTimeMillis()
        for (const request of [...waiting, ...parked]) request.expire(now)
        return
      }
    })

    yield* Effect.addFinalizer(() => close)
    yield* Turn.forkWorker(Effect.forever(round))

    const enqueue = (request: WriteRequest): Effect.Effect<unknown, unknown> => {
      if (closed)
        return Effect.fail(new StateUnknown({ operation: request.operation, detail: "the database is closed" }))
      arrived.push(request)
      wake?.()
      wake = null
      return request.settled
    }

    const capture = Synchronous.capture(Context.make(Transaction, transaction.client))

    const write = <A, E>(operation: string, step: Step<A, E>, patience: Patience) =>
      capture(step).pipe(
        Effect.flatMap((run) => enqueue(new WriteRequest(operation, run, clock.unsafeCurrentTimeMillis(), patience))),
        // The outcome of a request is that of its own step, which the queue does not know the type of.
        (outcome) => outcome as Effect.Effect<A, E | StateError>,
        Effect.mapError(translated(operation))
      ) as ReturnType<Writer["write"]> as Effect.Effect<
        A,
        StateError | Exclude<E, SqlError.SqlError | ParseResult.ParseError>
      >
    return { write }
  })

/**
 * Everything that has arrived at this process by now has been handed to its fibers: what they write shares the commit.
 * Without it each socket's message would be written, and waited for, alone.
 */
const allInputSeen = Effect.async<void>((resume) => {
  // oxlint-disable-next-line fibers/no-ambient-time -- the end of an event loop's turn is no time: no clock moves it
  setImmediate(() => resume(Effect.void))
})

/** What is left after a transaction: to be tried again, at once or when the file is free. */
interface Remainder {
  readonly requests: ReadonlyArray<WriteRequest>
  readonly busy: boolean
}
const nothing: Remainder = { requests: [], busy: false }
const again = (requests: ReadonlyArray<WriteRequest>, busy: boolean): Remainder => ({ requests, busy })

const failureOf = (exit: Outcome): unknown => (Exit.isSuccess(exit) ? null : Cause.squash(exit.cause))

const sqlErrorOf = (outcome: Outcome): SqlError.SqlError | null =>
  Exit.isSuccess(outcome)
    ? null
    : (Chunk.toReadonlyArray(Cause.failures(outcome.cause)).find((error) => error instanceof SqlError.SqlError) ?? null)

const makeTransaction = (options: {
  readonly client: SqlClient.SqlClient
  readonly connection: SqlConnection.Connection
  readonly committed: () => void
  readonly replaced: () => string | null
}) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    let open = false
    const client = DirectClient.make(options.client, () =>
      open
        ? Effect.succeed(options.connection)
        : Effect.dieMessage("a statement of a write step ran outside of its transaction")
    )
    const statement = (sql: string) =>
      Effect.map(
        Synchronous.capture(Context.empty())(options.connection.execute(sql, [], undefined)),
        (run) => () => failureOf(run())
      )
    const begin = yield* statement("BEGIN IMMEDIATE")
    const commit = yield* statement("COMMIT")
    const rollback = yield* statement("ROLLBACK")
    const savepoint = yield* statement("SAVEPOINT step")
    const release = yield* statement("RELEASE step")
    const rollbackStep = yield* statement("ROLLBACK TO step")

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

    const failAll = (requests: ReadonlyArray<WriteRequest>, error: unknown): Remainder => {
      for (const request of requests) request.settle(Exit.fail(stateError(request.operation, error)))
      return nothing
    }

    /** The whole transaction is lost with `culprit`, who is told; the others have done nothing wrong and are run again. */
    const lost = (batch: ReadonlyArray<WriteRequest>, culprit: WriteRequest, outcome: Outcome): Remainder => {
      rollback()
      culprit.settle(outcome)
      return again(
        batch.filter((request) => request !== culprit),
        false
      )
    }

    const runAlone = (request: WriteRequest): Remainder => {
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

    const runTogether = (batch: ReadonlyArray<WriteRequest>): Remainder => {
      const started = clock.unsafeCurrentTimeNanos()
      const done: Array<readonly [WriteRequest, Outcome]> = []
      for (const request of batch) {
        if (done.length > 0 && clock.unsafeCurrentTimeNanos() - started > batchNanos) break
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

    const finish = (
      done: ReadonlyArray<readonly [WriteRequest, Outcome]>,
      batch: ReadonlyArray<WriteRequest>,
      rest: ReadonlyArray<WriteRequest>
    ): Remainder => {
      const failed = commit()
      if (failed !== null) {
        rollback()
        if (isBusy(failed)) return again(batch.concat(rest), true)
        failAll(batch, failed)
        return again(rest, false)
      }
      options.committed()
      for (const [request, outcome] of done) request.settle(outcome)
      return again(rest, false)
    }

    /** Once replaced, for good: what we would write, nobody would ever read (state-agent.md 1.8). */
    let lostFile: string | null = null
    let retriedBegin = false
    return {
      client,
      /** One transaction, from BEGIN to COMMIT without leaving this function. */
      run: (batch: ReadonlyArray<WriteRequest>): Remainder => {
        const [first] = batch
        if (first === undefined) return nothing
        lostFile ??= options.replaced()
        if (lostFile !== null) {
          for (const request of batch)
            request.settle(Exit.fail(new StateDbReplaced({ operation: request.operation, detail: lostFile })))
          return nothing
        }
        const failed = begin()
        if (failed !== null) {
          if (isBusy(failed)) return again(batch, true)
          if (isFatal(failed) && !retriedBegin) {
            retriedBegin = true
            return again(batch, false)
          }
          return failAll(batch, failed)
        }
        retriedBegin = false
        return batch.length === 1 ? runAlone(first) : runTogether(batch)
      }
    }
  })
