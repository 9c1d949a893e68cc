/**
 * The database beside raw better-sqlite3 on the same disk in the same run: durable commits one after another, by 100
 * writers at once, statements in a step, reads; and the slowest of many commits, which is where a checkpoint would show.
 *
 * Usage: npx tsx bench/state.ts [folder]
 */
import Sqlite from "better-sqlite3"
import { Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as SqliteDatabase from "../src/layers/sqlite/Database.js"
import { Database, Transaction } from "../src/services/state/Database.js"

const folder = mkdtempSync(path.join(process.argv[2] ?? tmpdir(), "hermes-bench-state-"))
const body = "x".repeat(200)

const line = (name: string, values: { readonly [name: string]: string | number }) =>
  console.log(
    name.padEnd(46),
    Object.entries(values)
      .map(([key, value]) => `${key} ${value}`)
      .join("  ")
  )

const quantile = (sorted: ReadonlyArray<number>, share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2)

const summary = (millis: Array<number>) => {
  const sorted = millis.toSorted((a, b) => a - b)
  return {
    "p50 ms": quantile(sorted, 0.5),
    "p99 ms": quantile(sorted, 0.99),
    "p99.9 ms": quantile(sorted, 0.999),
    "max ms": quantile(sorted, 1)
  }
}

const raw = () => {
  const db = new Sqlite(path.join(folder, "raw.db"))
  db.pragma("journal_mode = WAL")
  db.pragma("synchronous = FULL")
  db.exec("CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID")
  return db
}

const rawSingle = (db: Sqlite.Database, count: number): number => {
  const [begin, insert, commit] = ["BEGIN IMMEDIATE", "INSERT INTO meta VALUES (?, ?)", "COMMIT"].map((sql) =>
    db.prepare(sql)
  )
  const millis: Array<number> = []
  const started = performance.now()
  for (let i = 0; i < count; i++) {
    const at = performance.now()
    begin?.run()
    insert?.run(`raw-${started}-${i}`, body)
    commit?.run()
    millis.push(performance.now() - at)
  }
  const rate = count / ((performance.now() - started) / 1000)
  line("raw better-sqlite3, one by one, FULL", { "commits/s": Math.round(rate), ...summary(millis) })
  return rate
}

const insert = (key: string) =>
  Effect.flatMap(Transaction, (sql) => sql`INSERT INTO meta (key, value) VALUES (${key}, ${body})`)

const ours = Effect.gen(function* () {
  const database = yield* Database
  const single = (name: string, count: number) =>
    Effect.gen(function* () {
      const millis: Array<number> = []
      const started = performance.now()
      for (let i = 0; i < count; i++) {
        const at = performance.now()
        yield* database.write("bench", insert(`single-${started}-${i}`))
        millis.push(performance.now() - at)
      }
      const rate = count / ((performance.now() - started) / 1000)
      line(name, { "commits/s": Math.round(rate), ...summary(millis) })
      return rate
    })
  const many = (name: string, writers: number, each: number, statements: number) =>
    Effect.gen(function* () {
      const millis: Array<number> = []
      const started = performance.now()
      yield* Effect.forEach(
        Array.from({ length: writers }, (_, writer) => writer),
        (writer) =>
          Effect.gen(function* () {
            for (let i = 0; i < each; i++) {
              const at = performance.now()
              yield* database.write(
                "bench",
                Effect.forEach(
                  Array.from({ length: statements }, (_, statement) => statement),
                  (statement) => insert(`${name}-${writer}-${i}-${statement}`),
                  { discard: true }
                )
              )
              millis.push(performance.now() - at)
            }
          }),
        { concurrency: "unbounded", discard: true }
      )
      const rate = (writers * each) / ((performance.now() - started) / 1000)
      line(name, { "steps/s": Math.round(rate), ...summary(millis) })
      return rate
    })
  const db = raw()
  for (let round = 0; round < 3; round++) {
    const floor = rawSingle(db, 2_000)
    yield* single("ours, one by one, FULL", 2_000)
    const grouped = yield* many(`ours, 100 writers, FULL, round ${round}`, 100, 200, 1)
    line("ratio: 100 writers / raw one by one", { times: (grouped / floor).toFixed(2) })
    const turns = yield* many(`ours, 100 writers of 3 statements, round ${round}`, 100, 100, 3)
    line("turns of 4 commits and 12 statements", { "turns/s": Math.round(turns / 4) })
  }
  const reads = 20_000
  const started = performance.now()
  for (let i = 0; i < reads; i++)
    yield* database.read("bench", (sql) => sql`SELECT value FROM meta WHERE key = ${`single-${i}`}`)
  line("ours, SELECT by key", { µs: (((performance.now() - started) * 1000) / reads).toFixed(1) })
  db.close()
})

ours.pipe(
  Effect.provide(SqliteDatabase.layer({ file: path.join(folder, "ours.db") }) as Layer.Layer<Database>),
  Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true, force: true }))),
  Effect.runPromise
)
