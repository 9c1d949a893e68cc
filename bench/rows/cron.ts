/** Jobs beside raw better-sqlite3 on the same disk, with the same tables and the same next occurrences, in the same run. */
import Sqlite from "better-sqlite3"
import { Cron as Croner } from "croner"
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { symlinkSync, writeFileSync } from "node:fs"
import path from "node:path"
import { promisify } from "node:util"
import { build } from "rolldown"
import { external } from "../../build/external.mjs"
import { steady } from "../../build/shapes.mjs"
import * as SqliteDatabase from "../../src/layers/sqlite/Database.js"
import { Bell as BellTag } from "../../src/services/schedule/Bell.js"
import { FireClaims } from "../../src/services/schedule/FireClaim.js"
import * as Schedule from "../../src/services/schedule/Schedule.js"
import { Scheduler } from "../../src/services/schedule/Scheduler.js"
import { Database, Transaction } from "../../src/services/state/Database.js"
import { measure } from "../world/jobPeers.js"
import { type Heard, scheduler, storage, wall } from "../world/ourScheduler.js"
import { root } from "../gateway.js"
import { type Context, type Family, median, quantile, type Row } from "../harness.js"

const zone = "America/New_York"
/** Six hours away, so that none of them comes due by itself while something else is measured. */
const away =
  (Number(new Intl.DateTimeFormat("en", { hour: "numeric", hourCycle: "h23", timeZone: zone }).format()) + 6) % 24
const expressions = [
  `* ${away} * * *`,
  `*/5 ${away} * * *`,
  `0 ${away} * * *`,
  `30 ${away} * * *`,
  `0 ${away} * * 1-5`,
  `15 ${away} */2 * *`,
  `0 ${away} 1 * *`,
  `45 ${away} * * 0`,
  `*/15 ${away} * 1-11 *`,
  `0,20,40 ${away} * * *`
]
const rules = expressions.map((expression): Schedule.Schedule => ({
  kind: "cron",
  expression,
  timezone: zone,
  ownZone: true
}))
const encode = Schema.encodeSync(Schedule.Stored)
const ruleOf = (job: number): number => job % rules.length
/** When a job is due: together with all others of its rule. */
const nextOf = (job: number): number => {
  const next = Schedule.next(rules[ruleOf(job)] as Schedule.Schedule, Date.now())
  if (next === null) throw new Error(`job ${job} is never due`)
  return next
}

/** A home's database with so many jobs, none of them due. */
const fill = async (file: string, jobs: number): Promise<void> => {
  await Effect.runPromise(Effect.provide(Database, SqliteDatabase.layer({ file })) as Effect.Effect<unknown>)
  const db = new Sqlite(file)
  db.transaction(() => {
    for (const [index, rule] of rules.entries())
      db.prepare("INSERT INTO schedule_rules (id, rule) VALUES (?, ?)").run(index + 1, encode(rule))
    const job = db.prepare(
      "INSERT INTO jobs (id, name, definition, state, created_at, updated_at) VALUES (?, ?, ?, 'scheduled', 0, 0)"
    )
    const schedule = db.prepare("INSERT INTO schedule (job, rule) VALUES (?, ?)")
    const due = db.prepare("INSERT INTO due (next_at, settled, job) VALUES (?, 0, ?)")
    // Beside ours: narrow rows by their job, with an index on when they are due.
    db.exec(`CREATE TABLE narrow (job INTEGER PRIMARY KEY, next_at INTEGER NOT NULL, rule INTEGER NOT NULL, settled INTEGER NOT NULL);
      CREATE INDEX narrow_next ON narrow (next_at)`)
    const narrow = db.prepare("INSERT INTO narrow (job, next_at, rule, settled) VALUES (?, ?, ?, 0)")
    const definition = JSON.stringify({
      prompt: "Summarise the overnight alerts and send the three that matter. ".repeat(4)
    })
    for (let index = 1; index <= jobs; index++) {
      job.run(index.toString(16).padStart(12, "0"), `job ${index}`, definition)
      const next = nextOf(index)
      schedule.run(index, ruleOf(index) + 1)
      due.run(next, index)
      narrow.run(index, next, ruleOf(index) + 1)
    }
  })()
  db.pragma("wal_checkpoint(PASSIVE)")
  db.close()
}

const claimed = async (
  file: string,
  jobs: number,
  due: number,
  times: number
): Promise<{ ours: number; floor: number }> => {
  const raw = new Sqlite(file)
  raw.pragma("synchronous = FULL")
  raw.pragma("wal_autocheckpoint = 0")
  const stride = Math.floor(jobs / due)
  // As before any run of theirs: what is settled beyond its next time has seen a clock that was ahead.
  const back = raw.prepare("UPDATE narrow SET next_at = ?, settled = 0 WHERE job = ?")
  const reset = (): void => {
    const at = Date.now() - 1_000
    raw.transaction(() => {
      for (let i = 0; i < due; i++) back.run(at - i, i * stride + 1)
      raw.exec("DELETE FROM occurrences")
    })()
    raw.pragma("wal_checkpoint(PASSIVE)")
  }
  const select = raw.prepare("SELECT job, rule, next_at FROM narrow WHERE next_at <= ? ORDER BY next_at").raw()
  const update = raw.prepare("UPDATE narrow SET next_at = ?, settled = ? WHERE job = ?")
  const insert = raw.prepare(
    "INSERT INTO occurrences (job, at, count, kind, state, token, attempts, claimed_at) VALUES (?, ?, 1, 'on_time', 'claimed', ?, 1, ?)"
  )
  const floor = raw.transaction(() => {
    const now = Date.now()
    for (const [job, rule, at] of select.all(now) as Array<[number, number, number]>) {
      insert.run(job, at, "lse_0000000000000000000000", now)
      update.run(Schedule.next(rules[rule - 1] as Schedule.Schedule, now), now, job)
    }
  })
  return Effect.runPromise(
    Effect.gen(function* () {
      const claims = yield* FireClaims
      const database = yield* Database
      yield* claims.recover
      /** The instant of the last claim: those that it has put back are settled up to it. */
      const lastClaim = (where: string) =>
        database.read("bench", (sql) => Effect.map(sql.unsafe(`SELECT max(${where}`).values, ([row]) => row?.[0]))
      let claimedAt = yield* lastClaim("settled) FROM due")
      /** On our own connection, so that its pages are as warm as the raw one's. */
      const resetOurs = database.write(
        "bench",
        Effect.gen(function* () {
          const sql = yield* Transaction
          const now = Date.now()
          for (let i = 0; i < due; i++) {
            const job = i * stride + 1
            const moved = yield* sql.unsafe(
              "UPDATE due SET next_at = ?, settled = 0 WHERE next_at = ? AND settled IN (0, ?) AND job = ? RETURNING job",
              [now - 1_000 - i, nextOf(job), claimedAt, job]
            )
            if (moved.length !== 1) throw new Error(`job ${job} stands elsewhere`)
            yield* sql.unsafe("SELECT rule FROM schedule WHERE job = ?", [job])
          }
          yield* sql.unsafe("DELETE FROM occurrences")
        })
      )
      const [ours, floors]: [Array<number>, Array<number>] = [[], []]
      for (let round = 0; round < times + 2; round++) {
        reset()
        let began = performance.now()
        floor.immediate()
        floors.push(performance.now() - began)
        yield* resetOurs
        // As the scheduler has when it goes to sleep until then.
        yield* claims.nextDue
        began = performance.now()
        const { claimed: got } = yield* claims.claimDue()
        ours.push(performance.now() - began)
        if (got.length !== due) throw new Error(`claimed ${got.length} of ${due}`)
        claimedAt = yield* lastClaim("claimed_at) FROM occurrences")
      }
      return { ours: median(ours.slice(2)), floor: median(floors.slice(2)) }
    }).pipe(Effect.provide(storage(file, 4)), Effect.ensuring(Effect.sync(() => raw.close()))) as Effect.Effect<{
      ours: number
      floor: number
    }>
  )
}

/** Jobs that come due at one instant: when the last handler began, and when the last was recorded, after it. */
const atOnce = (file: string, count: number, parallel: number): Promise<{ started: number; recorded: number }> => {
  const heard: Heard = { at: [], recorded: 0, done: 0 }
  return Effect.runPromise(
    Effect.gen(function* () {
      const bell = yield* BellTag
      yield* Effect.flatMap(Scheduler, (one) => one.recover)
      const raw = new Sqlite(file)
      const due = Date.now() + 300
      raw.transaction(() => {
        raw.exec("DELETE FROM occurrences")
        raw.prepare("UPDATE due SET next_at = ? WHERE job <= ?").run(due, count)
      })()
      raw.close()
      yield* bell.ring
      while (heard.recorded < count) yield* Effect.sleep("5 millis")
      return { started: Math.max(...heard.at) - due, recorded: heard.done - due }
    }).pipe(Effect.provide(scheduler(file, parallel, heard))) as Effect.Effect<{ started: number; recorded: number }>
  )
}

/** The same several times over one database, as schedules come again and again; the middle of each. */
const bursts = async (
  file: string,
  parallel: number,
  times: number
): Promise<{ started: number; recorded: number }> => {
  const all: Array<{ started: number; recorded: number }> = []
  for (let round = 0; round < times; round++) all.push(await atOnce(file, 1_000, parallel))
  return { started: median(all.map((one) => one.started)), recorded: median(all.map((one) => one.recorded)) }
}

/** What the machine takes for one: a timer, then a commit in the system's hands and one on the disk, of a narrow row. */
const latenessRaw = async (file: string, times: number): Promise<ReadonlyArray<number>> => {
  const raw = new Sqlite(file)
  raw.pragma("wal_autocheckpoint = 0")
  raw.exec("CREATE TABLE IF NOT EXISTS late (id INTEGER PRIMARY KEY, at INTEGER)")
  const insert = raw.prepare("INSERT INTO late (at) VALUES (?)")
  const late: Array<number> = []
  for (let round = 0; round < times; round++) {
    const due = Date.now() + 60
    while (Date.now() < due) await new Promise((resolve) => setTimeout(resolve, due - Date.now()))
    for (const level of ["NORMAL", "FULL"]) {
      raw.pragma(`synchronous = ${level}`)
      insert.run(due)
    }
    late.push(wall() - due)
  }
  raw.close()
  return late
}

/** One job after another on an idle system: from its instant to its handler. */
const lateness = (file: string, times: number): Promise<ReadonlyArray<number>> => {
  const heard: Heard = { at: [], recorded: 0, done: 0 }
  return Effect.runPromise(
    Effect.gen(function* () {
      const bell = yield* BellTag
      yield* Effect.flatMap(Scheduler, (one) => one.recover)
      const raw = new Sqlite(file)
      const late: Array<number> = []
      for (let round = 0; round < times; round++) {
        const due = Date.now() + 60
        raw.exec("DELETE FROM occurrences")
        raw.prepare("UPDATE due SET next_at = ? WHERE job = 1").run(due)
        yield* bell.ring
        while (heard.recorded <= round) yield* Effect.sleep("10 millis")
        late.push((heard.at.at(-1) ?? 0) - due)
      }
      raw.close()
      return late
    }).pipe(Effect.provide(scheduler(file, 4, heard))) as Effect.Effect<Array<number>>
  )
}

const execute = promisify(execFile)

/** What {@link idle} runs, built as the gateway is: compiled while it runs it has a thread for that, with a heap of its own that V8 collects. */
const builtWaiting = async (folder: string): Promise<string> => {
  symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"), "dir")
  const file = path.join(folder, "waiting.mjs")
  const { output } = await build({
    input: path.join(root, "bench/world/waiting.ts"),
    platform: "node",
    external,
    logLevel: "warn",
    write: false,
    output: { format: "esm", codeSplitting: false }
  })
  writeFileSync(file, steady(output[0].code))
  return file
}

/**
 * CPU that a process takes which waits, milliseconds a second: with a scheduler over a file, or with nothing. Without the
 * part of V8 that collects what a start has left: in one that allocates nothing it looks every eight seconds and collects
 * every hundred, three times, and then never again. It would be most of what is measured in any minute of the first five.
 */
const idle = async (waiting: string, seconds: number, ...file: ReadonlyArray<string>): Promise<number> => {
  const { stdout } = await execute(process.execPath, ["--no-memory-reducer", waiting, String(seconds), ...file])
  return Number(stdout.trim().split("\n").at(-1))
}

const micros = (times: number, act: (index: number) => unknown): number => {
  for (let index = 0; index < times / 10; index++) act(index)
  const began = performance.now()
  for (let index = 0; index < times; index++) act(index)
  return ((performance.now() - began) * 1_000) / times
}

const within = (ours: number, limit: number): boolean => ours <= limit

const run = async ({ folder, log, quick }: Context): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  const small = path.join(folder, "small.db")
  const large = path.join(folder, "large.db")
  log("filling 1,000 and 100,000 jobs")
  await fill(small, 1_000)
  await fill(large, 100_000)
  // Whole minutes: it looks once in each.
  const seconds = quick ? 3 : 60
  const waiting = await builtWaiting(folder)
  const [cpu, nothing] = await Promise.all([idle(waiting, seconds, large), idle(waiting, seconds)])
  const memory = (): number => process.memoryUsage().rss / 2 ** 20

  const base = Date.UTC(2026, 10, 29, 12)
  const croners = expressions.map((expression) => new Croner(expression, { timezone: zone, paused: true }))
  const next = micros(200_000, (index) =>
    Schedule.next(rules[index % rules.length] as Schedule.Schedule, base + index * 977_000)
  )
  const peer = micros(5_000, (index) => croners[index % croners.length]?.nextRun(new Date(base + index * 977_000)))
  rows.push({
    what: "next instant of an expression in New York, warm",
    unit: "µs",
    ours: next,
    beside: [{ name: "croner", value: peer }],
    memory: null,
    target: { words: "≤ 1 µs", met: within(next, 1) }
  })

  const times = quick ? 9 : 75
  const ofSmall = await claimed(small, 1_000, 50, times)
  const ofLarge = await claimed(large, 100_000, 50, times)
  for (const [name, measured] of [
    ["1,000", ofSmall],
    ["100,000", ofLarge]
  ] as const)
    rows.push({
      what: `claim and advance 50 due of ${name} jobs, one durable transaction`,
      unit: "ms",
      ours: measured.ours,
      beside: [{ name: "raw, row by row in one transaction", value: measured.floor }],
      memory: memory(),
      target: { words: "≤ 1.5 × raw", met: within(measured.ours, 1.5 * measured.floor) }
    })
  rows.push({
    what: "the same of 100,000 jobs beside 1,000",
    unit: "ms",
    ours: ofLarge.ours,
    beside: [{ name: "of 1,000", value: ofSmall.ours }],
    memory: null,
    target: { words: "≤ 1.3 ×", met: within(ofLarge.ours, 1.3 * ofSmall.ours) }
  })
  const many = await claimed(large, 100_000, 10_000, quick ? 3 : 7)
  rows.push({
    what: "claim and advance 10,000 due of 100,000 jobs",
    unit: "ms",
    ours: many.ours,
    beside: [{ name: "raw, row by row in one transaction", value: many.floor }],
    memory: memory(),
    target: { words: "≤ 2 × raw", met: within(many.ours, 2 * many.floor) }
  })

  const late = await lateness(small, quick ? 20 : 100)
  const lateRaw = await latenessRaw(small, quick ? 20 : 100)
  rows.push({
    what: "from the instant a job is due to its handler, idle, p50",
    unit: "ms",
    ours: median(late),
    beside: [
      { name: "p99", value: quantile(late, 0.99) },
      { name: "a timer and both commits, raw", value: median(lateRaw) },
      { name: "p99", value: quantile(lateRaw, 0.99) }
    ],
    memory: null,
    target: { words: "p50 < 1.5, p99 < 5", met: median(late) < 1.5 && quantile(late, 0.99) < 5 }
  })

  const burst = await bursts(small, 1_000, quick ? 3 : 7)
  const others = await measure(1_000, { folder, log, quick })
  rows.push({
    what: "1,000 jobs at one instant: the last handler begins, each with its row",
    unit: "ms",
    ours: burst.started,
    beside: others.map(({ began, name }) => ({
      name: name === "croner" ? "croner (memory only)" : name,
      value: began
    })),
    memory: memory(),
    target: { words: "< 25 ms", met: burst.started < 25 }
  })
  const four = await bursts(small, 4, quick ? 1 : 3)
  const commits = new Sqlite(small)
  commits.pragma("synchronous = FULL")
  commits.exec("CREATE TABLE IF NOT EXISTS commits (id INTEGER PRIMARY KEY, at INTEGER)")
  const one = commits.prepare("INSERT INTO commits (at) VALUES (?)")
  const began = performance.now()
  for (let index = 0; index < 1_000; index++) one.run(index)
  const single = performance.now() - began
  commits.close()
  const durable = others.flatMap(({ name, recorded }) => (recorded === null ? [] : [{ name, value: recorded }]))
  const fastest = Math.min(...durable.map(({ value }) => value))
  rows.push({
    what: "1,000 jobs at one instant: all are recorded, 1,000 at a time",
    unit: "ms",
    ours: burst.recorded,
    beside: [
      ...durable,
      { name: "one FULL commit a job, raw", value: single },
      { name: "ours, 4 at a time", value: four.recorded }
    ],
    memory: memory(),
    target: {
      words: "faster than each durable peer of this run",
      met: durable.length === 0 ? null : burst.recorded < fastest
    }
  })

  rows.push({
    what: "CPU with 100,000 jobs waiting (V8's collections of what the start left are not in it)",
    unit: "ms/s",
    ours: cpu,
    beside: [{ name: "a process of Node's that waits for nothing", value: nothing }],
    memory: memory(),
    target: { words: "≤ 1 ms a second", met: cpu <= 1 }
  })
  return rows
}

export default { title: "Jobs", run } satisfies Family
