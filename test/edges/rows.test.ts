/** One cell of the database holds what it cannot hold: nothing breaks by it, and everybody else is served. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Cause, Effect, Exit, FastCheck, Fiber, Logger } from "effect"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import process from "node:process"
import { join } from "node:path"
import * as DirectDesk from "../../src/layers/operation/DirectDesk.js"
import { Desk } from "../../src/services/operation/Desk.js"
import { sameSamples, scaled } from "../scale.js"
import { chatOf } from "../simulation/Cast.js"
import * as Populated from "../simulation/populated.js"
import { World } from "../simulation/World.js"

const folder = mkdtempSync(join(tmpdir(), "hermes-rows-"))
const whole = join(folder, "whole.db")

interface Column {
  readonly table: string
  readonly name: string
  readonly keys: ReadonlyArray<string>
  readonly rows: number
}

const columnsOf = (file: string): ReadonlyArray<Column> => {
  const db = new Sqlite(file, { readonly: true })
  const tables = db
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all()
  const columns = tables.flatMap(({ name: table }) => {
    const info = db.pragma(`table_info(${table})`) as ReadonlyArray<{ name: string; pk: number }>
    const rows = Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())
    const keys = info.filter(({ pk }) => pk > 0).map(({ name }) => name)
    return rows === 0 || table === "migrations" ? [] : info.map(({ name }) => ({ table, name, keys, rows }))
  })
  db.close()
  return columns
}

const values = {
  word: "not what it was",
  empty: "",
  json: "{}",
  list: "[]",
  nothing: "null",
  tagged: '{"_tag":"Nonsense","job":[]}',
  textless: '{"_tag":{"toString":null},"kind":{"toString":null},"platform":{"_tag":{"toString":1}}}',
  halfway: '{"a":',
  deep: "[".repeat(100_000) + "]".repeat(100_000),
  huge: "x".repeat(2_000_000),
  negative: -1,
  fraction: 0.5,
  enormous: 1e300,
  far: 9_007_199_254_740_993n,
  bytes: Buffer.from([0, 255, 128]),
  null: null
} as const
type Value = keyof typeof values
const names: ReadonlyArray<Value> = Object.keys(values) as ReadonlyArray<Value>

/** To see again what was found. */
const seed = process.env["FUZZ_SEED"]

interface Damage {
  readonly table: string
  readonly column: string
  readonly row: number
  readonly value: Value
}

/** False where the table itself refuses it. */
const damage = (file: string, { column, row, table, value }: Damage): boolean => {
  const db = new Sqlite(file)
  try {
    db.pragma("foreign_keys = OFF")
    const triggers = db
      .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
      .all()
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
    const info = db.pragma(`table_info(${table})`) as ReadonlyArray<{ name: string; pk: number }>
    const keyed = info.filter(({ pk }) => pk > 0).map(({ name }) => name)
    // SQLite numbers all later rows from there on, with numbers that no program reads.
    if (value === "far" && keyed.includes(column)) return false
    const keys = keyed.join(", ")
    db.prepare(
      `UPDATE ${table} SET ${column} = ? WHERE (${keys}) IN (SELECT ${keys} FROM ${table} LIMIT 1 OFFSET ${row})`
    ).run(values[value])
    for (const { sql } of triggers) db.exec(sql)
    return true
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && /CONSTRAINT|MISMATCH/.test(error.code)) return false
    throw error
  } finally {
    db.close()
  }
}

/** Everything that the owner can look at. */
const looks = Effect.gen(function* () {
  const desk = yield* Desk
  const sessions = yield* Effect.orElseSucceed(desk.sessions.list({ limit: 500 }), () => [])
  return [
    ["sessions", desk.sessions.list({ limit: 500 })],
    ...sessions.flatMap(
      ({ id }) =>
        [
          [`messages of ${id}`, desk.sessions.messages(id, { limit: 500 })],
          [`export of ${id}`, desk.sessions.export(id, { after: 0, limit: 500 })]
        ] as const
    ),
    ["search", desk.sessions.search({ q: "answer" } as never)],
    ["deliveries", desk.deliveries.list({ limit: 500 })],
    ["targets", desk.deliveries.targets],
    ["approvals", desk.approvals.list({ limit: 500, open: false })],
    ["open approvals", desk.approvals.list({ limit: 500, open: true })],
    ["grants", desk.approvals.grants],
    ["jobs", desk.jobs.list({ all: true })],
    ["all jobs", desk.jobs.all],
    ["runs", desk.jobs.runs(null, 500)],
    ["incidents", desk.jobs.incidents({ state: null, limit: 500 })],
    ["usage", desk.usage({ by: "day", days: 30, limit: 100 })],
    ["pairing", desk.pairing.list]
  ] as const
})

/** What is wrong with a gateway on such a database; nothing when all is well. */
const trouble = (one: Damage): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const file = join(folder, "damaged.db")
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true })
    copyFileSync(whole, file)
    if (!damage(file, one)) return []
    const wrong: Array<string> = []
    const logger = Logger.make(({ cause, message }) => {
      for (const defect of Cause.defects(cause))
        wrong.push(`defect: ${String(message)}: ${String(defect).slice(0, 300)}`)
    })
    const world = new World(2, { database: file, logger })
    yield* Effect.gen(function* () {
      yield* world.begin(true)
      yield* world.pass(60_000)
      yield* Populated.say(world, 7, "#900 plain 0", 900)
      yield* world.pass(30_000)
      yield* Populated.say(world, 7, "#901 job 0", 901)
      yield* world.pass(5 * 60_000)
      const { place, platform } = chatOf(7)
      const heard = (yield* world.adapters[platform].posted(place)).map(({ text }) => text).join("\n")
      if (!heard.includes("answer to #900")) wrong.push(`somebody else has no answer: ${heard.slice(0, 300)}`)
      if (!heard.includes("job of #901")) wrong.push(`somebody else's job has not run: ${heard.slice(0, 300)}`)
      const asked = yield* world.within(looks.pipe(Effect.provide(DirectDesk.layer)))
      for (const [name, look] of asked) {
        const exit = yield* world.within(
          Effect.exit(look as Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>)
        )
        if (Exit.isFailure(exit)) {
          if (!Cause.isFailure(exit.cause)) wrong.push(`${name}: ${Cause.pretty(exit.cause).slice(0, 500)}`)
          else if (!name.startsWith(one.table) && process.env["TYPED"])
            console.log(JSON.stringify(one), name, Cause.pretty(exit.cause).slice(0, 120))
        }
      }
      yield* world.end
    }).pipe(
      Effect.catchAllDefect((defect) =>
        Effect.sync(
          () => void wrong.push(`it broke: ${String(defect instanceof Error ? defect.stack : defect).slice(0, 600)}`)
        )
      )
    )
    world.remove()
    return wrong
  })

/** In a fiber of its own: one that closes what others opened keeps their refs' history, and with it every world so far. */
const alone = <A>(self: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.flatMap(Effect.fork(self), (fiber) => Effect.flatten(Fiber.await(fiber)))

const cells = (): FastCheck.Arbitrary<Damage> =>
  FastCheck.constantFrom(...columnsOf(whole)).chain(({ name, rows, table }) =>
    FastCheck.record({
      table: FastCheck.constant(table),
      column: FastCheck.constant(name),
      row: FastCheck.nat({ max: rows - 1 }),
      value: FastCheck.constantFrom(...names)
    })
  )

beforeAll(() => Effect.runPromise(Populated.make(whole)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("a cell of the database", () => {
  it.live("breaks nothing where it is whole", () =>
    Effect.map(trouble({ table: "meta", column: "value", row: 0, value: "word" }), (wrong) =>
      assert.deepStrictEqual(wrong, [])
    )
  )

  it.live("may hold anything", () =>
    Effect.forEach(
      FastCheck.sample(cells(), {
        numRuns: scaled(2_000, 2),
        ...(seed === undefined ? sameSamples : { seed: Number(seed) })
      }),
      (one) => Effect.map(alone(trouble(one)), (wrong) => assert.deepStrictEqual(wrong, [], JSON.stringify(one))),
      { discard: true }
    )
  )
})
