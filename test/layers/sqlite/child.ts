/**
 * A process that opens the database of its first argument and does what its second says, until it is killed. It says
 * on stdout what was acknowledged to it, one JSON line each, written before it goes on.
 */
import { Effect, Logger, LogLevel, Redacted } from "effect"
import { writeSync } from "node:fs"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as SqliteGatewayLock from "../../../src/layers/sqlite/GatewayLock.js"
import { GatewayLock } from "../../../src/services/operation/GatewayLock.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { StateCorrupt } from "../../../src/services/state/StateError.js"

const [, , file = "", mode = ""] = process.argv

/** Whoever reads may be slower than the writers are: a full pipe is waited for. */
const say = (line: unknown): Effect.Effect<void> =>
  Effect.suspend(() => {
    try {
      writeSync(1, `${JSON.stringify(line)}\n`)
      return Effect.void
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error
      return Effect.zipRight(
        Effect.sleep(1),
        Effect.suspend(() => say(line))
      )
    }
  })

/** 30 writers, each row in two statements that belong together; a few steps fail on purpose. */
const write = Effect.gen(function* () {
  const database = yield* Database
  yield* say("ready")
  yield* Effect.forEach(
    Array.from({ length: 30 }, (_, writer) => writer),
    (writer) =>
      Effect.gen(function* () {
        for (let i = 0; ; i++) {
          const key = `${process.pid}-${writer}-${i}`
          const step = Effect.gen(function* () {
            const sql = yield* Transaction
            yield* sql`INSERT INTO meta (key, value) VALUES (${`a-${key}`}, ${"x".repeat(writer * 40)})`
            if (i % 7 === 3) return yield* Effect.fail("refused" as const)
            yield* sql`INSERT INTO meta (key, value) VALUES (${`b-${key}`}, '')`
          })
          const exit = yield* Effect.exit(database.write("child", step))
          const told = exit._tag === "Failure" && exit.cause._tag === "Fail" && exit.cause.error instanceof StateCorrupt
          yield* say({ key, ok: exit._tag === "Success", told })
        }
      }),
    { concurrency: "unbounded" }
  )
}).pipe(Effect.provide(SqliteDatabase.layer({ file })))

/** One writer that says which rows it was told are stored. */
const single = (journalMode: "wal" | "delete") =>
  Effect.gen(function* () {
    const database = yield* Database
    yield* say("ready")
    for (let i = 0; ; i++) {
      const key = `${process.pid}-${i}`
      const exit = yield* Effect.exit(
        database.write(
          "child",
          Effect.flatMap(Transaction, (sql) => sql`INSERT INTO meta (key, value) VALUES (${key}, '')`)
        )
      )
      yield* say({ key, ok: exit._tag === "Success", error: exit._tag === "Failure" ? String(exit.cause) : null })
      yield* Effect.sleep(exit._tag === "Success" ? 1 : 20)
    }
  }).pipe(Effect.provide(SqliteDatabase.layer({ file, journalMode })))

/** Opens, says so, and keeps everything open. */
const open = Effect.zipRight(say("ready"), Effect.never).pipe(Effect.provide(SqliteDatabase.layer({ file })))

const lock = Effect.gen(function* () {
  const held = yield* GatewayLock
  yield* held.holdToken("telegram", Redacted.make("123:secret"))
  yield* say("ready")
  return yield* Effect.never
}).pipe(
  Effect.scoped,
  Effect.provide(
    SqliteGatewayLock.layer({ home: path.dirname(file), lockDirectory: path.join(path.dirname(file), "locks") })
  )
)

const modes: { readonly [name: string]: Effect.Effect<unknown, unknown> } = {
  write,
  single: single("wal"),
  "single-delete": single("delete"),
  open,
  lock
}

const chosen = modes[mode] ?? Effect.dieMessage(`no mode ${mode}`)
await Effect.runPromise(
  Effect.catchAllCause(chosen, (cause) => say({ failed: String(cause) })).pipe(
    Effect.asVoid,
    // What it logs would stand between its lines.
    Logger.withMinimumLogLevel(LogLevel.None)
  ) as Effect.Effect<void>
)
