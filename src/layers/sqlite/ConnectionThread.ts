/** A thread with a connection of its own to a database file: what takes long there holds nothing here. */
import { Effect, Schema, type Scope } from "effect"
import { createRequire } from "node:module"
import { Worker } from "node:worker_threads"
import * as Deadlines from "../../fibers/Deadlines.js"
import * as WriteAheadLog from "./WriteAheadLog.js"

/** How long one request may take before it is given up on, and with it the thread. */
const patienceMillis = 30_000

/** Log frames in all, and how many of them the database file has; `busy` when somebody else is at it. */
const Progress = Schema.Struct({ busy: Schema.Number, log: Schema.Number, checkpointed: Schema.Number })
export type Progress = typeof Progress.Type

/** The log is damaged. It stays as it is, and nothing of it goes into the database file. */
export class LogDamaged extends Schema.TaggedError<LogDamaged>()("LogDamaged", { detail: Schema.String }) {}

/** The thread could not do what was asked. `code` is SQLite's, null where it is none of its errors: it ended, or it hangs. */
export class ThreadFailed extends Schema.TaggedError<ThreadFailed>()("ThreadFailed", {
  code: Schema.NullOr(Schema.String),
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

/** A statement and the values of each of its runs; without any it is run once. */
export type Statement = readonly [sql: string, ...runs: ReadonlyArray<ReadonlyArray<string | number>>]

export interface ConnectionThread {
  /** Moves the log into the database file, always PASSIVE: nobody waits for it. */
  readonly checkpoint: Effect.Effect<Progress, ThreadFailed | LogDamaged>
  /** All of it or nothing. Answers how many rows it changed, those of virtual tables' own tables too. */
  readonly transaction: (statements: ReadonlyArray<Statement>) => Effect.Effect<number, ThreadFailed>
}

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
const followWhole = ${WriteAheadLog.followWhole.toString()}
let followed = null
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
const database = new Database(workerData.file, { fileMustExist: true, timeout: 1000 })
database.pragma("wal_autocheckpoint = 0")
database.pragma("synchronous = " + workerData.synchronous)
const checkpoint = () => {
  const log = workerData.file + "-wal"
  followed = followWhole(fs, log, followed, follow, pause)
  const damage = followed === null ? examine(fs, log, scan, pause) : null
  if (damage !== null) return { damaged: "damaged before " + damage.forgotten + " commits, in frame " + damage.frames.join(", ") }
  const progress = database.pragma("wal_checkpoint(PASSIVE)")[0]
  // What was looked at and is in the log alone is looked at again.
  if (followed !== null && progress.checkpointed < followed.frames) followed = null
  return progress
}
const prepared = new Map()
const prepare = (sql) => {
  if (prepared.size > 64) prepared.clear()
  if (!prepared.has(sql)) prepared.set(sql, database.prepare(sql))
  return prepared.get(sql)
}
const changes = () => prepare("SELECT total_changes()").pluck().get()
const transact = database.transaction((statements) => {
  const before = changes()
  for (const [sql, ...runs] of statements) {
    const statement = prepare(sql)
    if (runs.length === 0) statement.run()
    for (const params of runs) statement.run(...params)
  }
  return { changes: changes() - before }
})
parentPort.on("message", ({ id, statements }) => {
  if (id === "close") {
    database.close()
    parentPort.close()
    return
  }
  try {
    parentPort.postMessage({ id, reply: statements === null ? checkpoint() : transact.immediate(statements) })
  } catch (error) {
    parentPort.postMessage({ id, reply: { code: typeof error.code === "string" ? error.code : null, error: String(error.message) } })
  }
})
`

const Message = Schema.Struct({
  id: Schema.Number,
  reply: Schema.Union(
    Progress,
    Schema.Struct({ changes: Schema.Number }),
    Schema.Struct({ error: Schema.String, code: Schema.NullOr(Schema.String) }),
    Schema.Struct({ damaged: Schema.String })
  )
})
const decodeMessage = Schema.decodeUnknown(Message)

const failed = (detail: string): ThreadFailed => new ThreadFailed({ code: null, detail })

/**
 * Starts with the first request, so a gateway that rests has none, and ends with the scope. Requests are done one after
 * another.
 *
 * `synchronous`: how far its own transactions go. FULL: onto the disk; NORMAL: into the system's hands.
 */
export const make = (
  file: string,
  synchronous: "FULL" | "NORMAL"
): Effect.Effect<ConnectionThread, never, Scope.Scope> =>
  Effect.gen(function* () {
    const deadlines = yield* Deadlines.make
    let worker: Worker | null = null
    let asked = 0

    const start = (): Worker => {
      const started = new Worker(source, {
        eval: true,
        workerData: { file, synchronous, driver: createRequire(import.meta.url).resolve("better-sqlite3") },
        env: {},
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: 32 }
      })
      started.unref()
      // One for each request that waits, and no more requests wait than there are writers.
      started.setMaxListeners(0)
      started.on("exit", () => {
        if (worker === started) worker = null
      })
      return started
    }

    /** Not waited for: a thread that hangs in a call of the system's ends when that does. */
    const stop = Effect.sync(() => {
      const thread = worker
      worker = null
      void thread?.terminate()
    })

    const ask = (statements: ReadonlyArray<Statement> | null) =>
      Effect.async<unknown, ThreadFailed>((resume) => {
        const thread = (worker ??= start())
        const id = (asked += 1)
        const onMessage = (message: { readonly id: number }): void => {
          if (message.id === id) done(Effect.succeed(message))
        }
        const onError = (error: Error): void => done(Effect.fail(failed(error.message)))
        const onExit = (): void => done(Effect.fail(failed("the database's thread ended")))
        const cancel = deadlines.after(patienceMillis, () =>
          done(Effect.fail(failed(`no end after ${patienceMillis / 1_000} seconds`)))
        )
        const forget = (): void => {
          cancel()
          thread.off("message", onMessage).off("error", onError).off("exit", onExit)
        }
        const done = (outcome: Effect.Effect<unknown, ThreadFailed>): void => {
          forget()
          resume(outcome)
        }
        thread.on("message", onMessage).on("error", onError).on("exit", onExit)
        thread.postMessage({ id, statements })
        return Effect.sync(forget)
      }).pipe(
        Effect.flatMap((message) => Effect.mapError(decodeMessage(message), (error) => failed(error.message))),
        Effect.flatMap(({ reply }) =>
          "error" in reply ? new ThreadFailed({ code: reply.code, detail: reply.error }) : Effect.succeed(reply)
        ),
        Effect.tapError((error) => (error.code === null ? stop : Effect.void))
      )

    const close = Effect.async<void>((resume) => {
      const thread = worker
      if (thread === null) return resume(Effect.void)
      thread.once("exit", () => resume(Effect.void))
      thread.postMessage({ id: "close", statements: null })
    }).pipe(
      Effect.timeoutTo({ duration: "5 seconds", onSuccess: () => true, onTimeout: () => false }),
      Effect.flatMap((closed) => (closed ? Effect.void : stop))
    )
    yield* Effect.addFinalizer(() => close)

    const unasked = Effect.dieMessage("the database's thread answered what it was not asked")
    return {
      checkpoint: Effect.flatMap(ask(null), (reply): Effect.Effect<Progress, LogDamaged> => {
        if ("damaged" in reply) return new LogDamaged({ detail: reply.damaged })
        return "log" in reply ? Effect.succeed(reply) : unasked
      }),
      transaction: (statements) =>
        Effect.flatMap(ask(statements), (reply) => ("changes" in reply ? Effect.succeed(reply.changes) : unasked))
    }
  })
