import type { SqlClient } from "@effect/sql"
import { Context, Effect, Exit, Random, type Scope } from "effect"
import * as Synchronous from "../../fibers/Synchronous.js"
import * as Turn from "../../fibers/Turn.js"
import {
  type Ahead,
  type Commit,
  type Failure,
  type Patience,
  type Step,
  Transaction
} from "../../services/state/Database.js"
import { StateUnknown } from "../../services/state/StateError.js"
import * as EventLoop from "../node/EventLoop.js"
import type { Loss } from "./DatabaseFile.js"
import type { LogIndex } from "./LogIndex.js"
import type { LogSync } from "./LogSync.js"
import type { SteadyConnection } from "./SteadyConnection.js"
import { WriteRequest } from "./WriteRequest.js"
import * as WriteTransaction from "./WriteTransaction.js"

/** The queue. Who comes when it is full is parked with his fiber until there is room. */
const capacity = 1_024

/** Steps in one commit at most. */
const batchSize = 512

/**
 * Where so many share a commit, the event loop waits until it is on the disk: what it did meanwhile would make many small
 * commits of the next large one, which costs more than the wait (bench/).
 */
const crowd = 16

export interface Writer {
  /**
   * Waits behind everything that was asked for earlier, for room in the queue first. While another process holds the
   * file it waits no longer than its patience: then `StateLocked`, and nothing was written.
   */
  readonly write: <A, E>(
    operation: string,
    step: Step<A, E>,
    patience: Patience,
    commit: Commit
  ) => Effect.Effect<A, Failure<E>>
  /** The same, and answers when the commit is made, before it is on the disk. */
  readonly writeAhead: <A, E>(
    operation: string,
    step: Step<A, E>,
    patience: Patience
  ) => Effect.Effect<Ahead<A>, Failure<E>>
}

/**
 * All writes through one connection: what waits at the end of a turn of the event loop is run in one transaction, and
 * answered when its commit is on the disk. What comes meanwhile shares the next one. Steps run in one go, so nothing else
 * happens between BEGIN and COMMIT, and a statement outside of them is refused.
 */
export const make = (options: {
  readonly client: SqlClient.SqlClient
  readonly connection: SteadyConnection
  /** Takes commits to the disk; null where they are there when they are made. */
  readonly logSync: LogSync | null
  /** How long a write that may wait for others does so, in milliseconds; 0: not at all. */
  readonly lingerMillis: number
  /** Asked before each transaction: may it be made now? */
  readonly isRoom: () => boolean
  /** Waits until it may. */
  readonly room: Effect.Effect<void>
  /** Told after each transaction. */
  readonly committed: () => void
  /** Asked before each transaction: what happened to the file, or null. */
  readonly lost: () => Loss | null
  /** Looked at before a commit. */
  readonly logIndex: LogIndex
}): Effect.Effect<Writer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const transaction = yield* WriteTransaction.make(options)
    let waiting: ReadonlyArray<WriteRequest> = []
    let parked: ReadonlyArray<WriteRequest> = []
    let arrived: Array<WriteRequest> = []
    /** A transaction is going to be made at the end of this turn of the event loop. */
    let scheduled = false
    /** Committed, and not known to be on the disk; whoever asked for it is told then. */
    let unsynced: ReadonlyArray<WriteTransaction.Committed> = []
    let syncing = false
    /** Open while some time passes for those who may wait; until it has, they are not committed alone. */
    const company = Effect.unsafeMakeLatch(false)
    let lingering = false
    /** Wakes the worker that waits for the file or for room in the log; until it gives the queue back, nobody else commits. */
    let handOver: (() => void) | null = null
    let handedOver = false
    let closed = false

    const fillQueue = (): void => {
      const all = parked.length === 0 ? arrived : parked.concat(arrived)
      const room = Math.max(0, capacity - waiting.length)
      waiting = waiting.concat(all.slice(0, room))
      parked = all.slice(room)
      arrived = []
    }

    /** One transaction with the oldest of those that wait. Answers whether another process holds the file. */
    const commitOldest = (): boolean => {
      fillQueue()
      const wanted = waiting.filter((request) => !request.withdrawn)
      const { busy, committed, left } = transaction.run(wanted.slice(0, batchSize))
      waiting = left.concat(wanted.slice(batchSize))
      if (options.logSync === null || committed.every(([request]) => request.commit === "soft")) tell(committed, null)
      else {
        for (const [request, outcome] of committed) request.make(outcome)
        unsynced = unsynced.concat(committed)
        sync(options.logSync)
      }
      return busy
    }

    /** What the disk did not take is not known to outlive anything, and no later commit may be built upon it. */
    const tell = (committed: ReadonlyArray<WriteTransaction.Committed>, error: Error | null): void => {
      if (error === null) {
        for (const [request, outcome] of committed) request.settle(outcome)
        return
      }
      const loss: Loss = {
        kind: "unsynced",
        detail: `its log did not get onto the disk: ${error.message}; nothing more is written until the gateway is started again`
      }
      transaction.lose(loss)
      for (const [request] of committed) request.settle(Exit.fail(WriteTransaction.ofLoss(request.operation, loss)))
    }

    const sync = (log: LogSync): void => {
      if (syncing || unsynced.length === 0) return
      const committed = unsynced
      if (committed.length >= crowd) {
        unsynced = []
        tell(committed, log.now())
        return
      }
      syncing = true
      log.begin((error) => {
        // The end has told them.
        if (closed) return
        syncing = false
        unsynced = unsynced.slice(committed.length)
        tell(committed, error)
        sync(log)
        schedule()
      })
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

    const commit = (): void => {
      scheduled = false
      if (closed || handedOver || syncing) return
      if (options.isRoom() && !commitOldest()) return schedule()
      handedOver = true
      handOver?.()
      handOver = null
    }

    /** What was handed over by the end of the turn shares the commit; else each socket's message would be written alone. */
    const schedule = (): void => {
      if (scheduled || closed || handedOver || syncing || !isWanted()) return
      scheduled = true
      EventLoop.afterTurn(commit)
    }

    const mayWait = (request: WriteRequest): boolean => lingering && request.commit === "soon"

    /** Does anybody wait who does not wait for company? */
    const isWanted = (): boolean => waiting.length + parked.length > 0 || !arrived.every(mayWait)

    const lingered = company.await.pipe(
      Effect.zipRight(Effect.sleep(options.lingerMillis)),
      Effect.zipRight(
        Effect.sync(() => {
          company.unsafeClose()
          lingering = false
          schedule()
        })
      )
    )

    const waitForCompany = (): void => {
      if (lingering || options.lingerMillis === 0) return
      lingering = true
      company.unsafeOpen()
    }

    const handed = Effect.async<void>((resume) => {
      if (handedOver) return resume(Effect.void)
      handOver = () => resume(Effect.void)
    })

    const attempt = Effect.zipRight(options.room, Effect.sync(commitOldest))

    /** What has to wait, for room in the log or for another process, waits in a fiber. */
    const round = handed.pipe(
      Effect.zipRight(
        Effect.repeat(
          Effect.tap(attempt, (busy) => (busy ? Effect.zipRight(Effect.sync(expire), pause) : Effect.void)),
          { while: (busy) => busy }
        )
      ),
      Effect.zipRight(
        Effect.sync(() => {
          handedOver = false
          schedule()
        })
      )
    )

    const writeRest = (): void => {
      fillQueue()
      while (waiting.length > 0) {
        if (!commitOldest()) continue
        const now = clock.unsafeCurrentTimeMillis()
        for (const request of [...waiting, ...parked]) request.expire(now)
        return
      }
    }

    /** What still waits when the database closes is written if the file is free; nobody is left without an answer. */
    const close = Effect.sync(() => {
      closed = true
      syncing = true
      writeRest()
      if (options.logSync !== null && unsynced.length > 0) tell(unsynced, options.logSync.now())
      unsynced = []
    })

    yield* Effect.addFinalizer(() => close)
    yield* Turn.forkWorker(Effect.forever(round))
    if (options.lingerMillis > 0) yield* Turn.forkWorker(Effect.forever(lingered))

    const enqueue = (request: WriteRequest): void => {
      if (closed)
        return request.settle(
          Exit.fail(new StateUnknown({ operation: request.operation, detail: "the database is closed" }))
        )
      arrived.push(request)
      if (request.commit === "soon") waitForCompany()
      schedule()
    }

    const services = Context.make(Transaction, transaction.client)

    /** The outcome of a request is that of its own step, which the queue does not know the type of. */
    const asked = <A, E, B>(
      operation: string,
      step: Step<A, E>,
      patience: Patience,
      commitment: Commit,
      told: (request: WriteRequest) => Effect.Effect<unknown, unknown>
    ) =>
      Synchronous.captured(services, step, (run) => {
        const request = new WriteRequest(operation, run, clock.unsafeCurrentTimeMillis(), patience, commitment)
        enqueue(request)
        return told(request)
      }) as Effect.Effect<B, Failure<E>>

    return {
      write: <A, E>(operation: string, step: Step<A, E>, patience: Patience, commitment: Commit) =>
        asked<A, E, A>(operation, step, patience, commitment, ({ settled }) => settled),
      writeAhead: <A, E>(operation: string, step: Step<A, E>, patience: Patience) =>
        asked<A, E, Ahead<A>>(operation, step, patience, "now", ({ ahead }) => ahead)
    }
  })
