/** The trigger in the whole gateway in memory: shutdown, takeover and what came too late (cron-delivery.md 2, decisions 14 and 15). */
import { FileSystem } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import * as FireClaimsLayer from "../../../src/layers/sqlite/FireClaims.js"
import { Drain } from "../../../src/services/operation/Drain.js"
import { Pause } from "../../../src/services/operation/Pause.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import { Bell } from "../../../src/services/schedule/Bell.js"
import { ClaimLost, FireClaims } from "../../../src/services/schedule/FireClaim.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { Scheduler } from "../../../src/services/schedule/Scheduler.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"

const maker = {
  origin: new JobOrigin({
    platform: "telegram",
    chatId: "77",
    chatName: null,
    chatType: "dm",
    threadId: null,
    userId: "77",
    scopeId: null
  }),
  createdBy: null
}

const rows = (sql: string) =>
  Effect.flatMap(Database, (database) => database.read("test", (client) => client.unsafe<Record<string, unknown>>(sql)))

const until = <A, E, R>(what: string, self: Effect.Effect<A, E, R>, holds: (value: A) => boolean) =>
  self.pipe(
    Effect.flatMap((value) => (holds(value) ? Effect.succeed(value) : Effect.fail(`waited in vain for ${what}`))),
    Effect.retry(Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(1_500))))
  )

/** Scripts that go on until they are ended, so many at a time as there are places. */
const sleepers = (count: number) =>
  Effect.gen(function* () {
    const { home } = yield* Settings
    const fs = yield* FileSystem.FileSystem
    yield* fs.makeDirectory(`${home}/scripts`, { recursive: true })
    yield* fs.writeFileString(`${home}/scripts/sleep.sh`, "sleep 60\n")
    const jobs = yield* Jobs
    for (let index = 0; index < count; index++) {
      const { job } = yield* jobs.create(
        { name: `sleeper ${index}`, schedule: "every 1h", script: "sleep.sh", noAgent: true },
        maker
      )
      yield* jobs.runNow(job.id)
    }
  })

describe("the scheduler", () => {
  it.scopedLive("starts nothing while the gateway is paused, lets what runs go on, and begins when it is lifted", () =>
    Effect.gen(function* () {
      const scheduler = yield* Scheduler
      const pause = yield* Pause
      yield* sleepers(1)
      yield* until("one run", scheduler.running, (running) => running.length === 1)
      yield* pause.begin({ by: "Ann", reason: null })
      const jobs = yield* Jobs
      const { job } = yield* jobs.create(
        { name: "paused", schedule: "every 1h", script: "sleep.sh", noAgent: true },
        maker
      )
      yield* jobs.runNow(job.id)
      yield* Effect.sleep("300 millis")
      expect(yield* rows("SELECT state FROM occurrences")).toEqual([{ state: "running" }])
      yield* pause.lift
      yield* until("both runs", scheduler.running, (running) => running.length === 2)
    }).pipe(Effect.provide(Testing.gateway({ model: [], settings: { cron: { maxParallelJobs: 2 } } })))
  )

  it.scopedLive(
    "at a shutdown starts nothing, records what it interrupts once, tells of it, and gives back what waited",
    () =>
      Effect.gen(function* () {
        const scheduler = yield* Scheduler
        const drain = yield* Drain
        yield* sleepers(3)
        yield* until("two runs", scheduler.running, (running) => running.length === 2)
        yield* until("one that waits", scheduler.waiting, (waiting) => waiting === 1)
        expect((yield* drain.items).map(({ kind }) => kind)).toEqual(["cron", "cron"])
        const jobs = yield* Jobs
        expect(yield* Effect.flip(jobs.runNow("sleeper 0"))).toMatchObject({ _tag: "JobNotReady" })
        yield* drain.begin({ restart: false })
        yield* scheduler.stop
        expect(yield* scheduler.running).toEqual([])
        expect(yield* drain.items).toEqual([])
        expect(yield* rows("SELECT state, attempts FROM occurrences ORDER BY state")).toEqual([
          { state: "claimed", attempts: 0 },
          { state: "interrupted", attempts: 1 },
          { state: "interrupted", attempts: 1 }
        ])
        expect((yield* jobs.find("sleeper 0")).job).toMatchObject({ lastStatus: "interrupted", state: "scheduled" })
        const { only } = yield* Testing.AdapterInMemory
        expect((yield* only.sent.all).map(({ text }) => text).join("\n")).toMatch(
          /sleeper \d" failed: the gateway stopped/
        )
      }).pipe(Effect.provide(Testing.gateway({ model: [], settings: { cron: { maxParallelJobs: 2 } } })))
  )

  it.scopedLive("at a shutdown while a run's words leave, tells of no failure and records how they stood", () =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      const { home } = yield* Settings
      const fs = yield* FileSystem.FileSystem
      yield* fs.makeDirectory(`${home}/scripts`, { recursive: true })
      yield* fs.writeFileString(`${home}/scripts/news.sh`, "echo the news\n")
      const { job } = yield* (yield* Jobs).create(
        { name: "news", schedule: "every 1h", script: "news.sh", noAgent: true },
        maker
      )
      yield* only.fail({ error: null, on: "send", delayMillis: 600 })
      yield* (yield* Jobs).runNow(job.id)
      yield* only.sent.waitFor("the news on their way", ({ text }) => text.includes("the news"))
      yield* (yield* Drain).begin({ restart: false })
      yield* (yield* Scheduler).stop
      expect(yield* rows("SELECT state, reason FROM occurrences")).toEqual([
        { state: "unknown", reason: "it was still being sent" }
      ])
      yield* until("the news sent", rows("SELECT state FROM deliveries"), (found) => found[0]?.["state"] === "sent")
      expect(yield* only.sent.count).toBe(1)
    }).pipe(Effect.provide(Testing.gateway({ model: [] })))
  )

  it.scopedLive("puts jobs right when the clock was years ahead, and tells their owner once", () => {
    const at = { ahead: 0 }
    const real = Clock.make()
    const clock: Clock.Clock = Object.assign(Object.create(real), {
      unsafeCurrentTimeMillis: () => real.unsafeCurrentTimeMillis() + at.ahead,
      currentTimeMillis: Effect.sync(() => real.unsafeCurrentTimeMillis() + at.ahead)
    })
    const year = 365 * 86_400_000
    return Effect.gen(function* () {
      const { home } = yield* Settings
      const fs = yield* FileSystem.FileSystem
      yield* fs.makeDirectory(`${home}/scripts`, { recursive: true })
      yield* fs.writeFileString(`${home}/scripts/quiet.sh`, "true\n")
      const jobs = yield* Jobs
      const bell = yield* Bell
      const { only } = yield* Testing.AdapterInMemory
      const names = ["first", "second"]
      for (const name of names)
        yield* jobs.create({ name, schedule: "every 1h", script: "quiet.sh", noAgent: true }, maker)
      const nextOf = (name: string) =>
        Effect.map(jobs.find(name), ({ job }) => (job.nextRunAt ?? 0) - real.unsafeCurrentTimeMillis())
      // Steady for a tick, so that the watch has seen it right.
      yield* bell.ring
      yield* Effect.sleep("50 millis")
      at.ahead = 5 * year
      yield* bell.ring
      for (const name of names) yield* until("a run", nextOf(name), (millis) => millis > 4 * year)
      yield* until("their ends", rows("SELECT 1 FROM occurrences WHERE state = 'ok'"), ({ length }) => length === 2)
      at.ahead = 0
      yield* bell.ring
      for (const name of names) yield* until("their own times", nextOf(name), (millis) => millis <= 3_600_000)
      const told = yield* only.sent.waitFor("the notice", ({ text }) => text.includes("clock"))
      expect(told.text).toContain('"first"')
      expect(told.text).toContain('"second"')
      at.ahead = -5_000
      yield* bell.ring
      yield* Effect.sleep("100 millis")
      expect((yield* only.sent.all).filter(({ text }) => text.includes("clock")).length).toBe(1)
    }).pipe(Effect.provide(Testing.gateway({ model: [] })), Effect.withClock(clock))
  })

  it.scopedLive("lets whoever lost an occurrence change nothing, nor claim anything more", () =>
    Effect.gen(function* () {
      const scheduler = yield* Scheduler
      const claims = yield* FireClaims
      const database = yield* Database
      yield* sleepers(1)
      const [held] = yield* until("a run", scheduler.running, (running) => running.length === 1)
      if (held === undefined) return yield* Effect.dieMessage("nothing runs")
      const note = Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`UPDATE jobs SET last_error = 'written'`))
      // While it is ours the step goes through: the refusal below is the token's doing.
      yield* claims.fenced(held, "test", note)
      expect(yield* rows("SELECT last_error FROM jobs")).toEqual([{ last_error: "written" }])
      // Another gateway takes over, as after a long stop of this one.
      const other = Context.get(yield* Layer.build(FireClaimsLayer.layer), FireClaims)
      expect((yield* other.recover).unknown).toHaveLength(1)
      yield* database.write(
        "test",
        Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`UPDATE due SET next_at = 1000`))
      )
      const late = claims.fenced(held, "test", note)
      const before = yield* rows("SELECT last_error FROM jobs")
      expect(yield* Effect.flip(late)).toBeInstanceOf(ClaimLost)
      expect(yield* rows("SELECT last_error FROM jobs")).toEqual(before)
      const ok = { status: "ok", reason: null, error: null, deliveryError: null, streak: "success" } as const
      expect(yield* Effect.flip(claims.record(held, { ...ok, sessionId: null, output: null }))).toBeInstanceOf(
        ClaimLost
      )
      expect((yield* claims.claimDue()).claimed).toEqual([])
      expect(yield* claims.beat([held])).toEqual([held.occurrence])
      expect(yield* rows("SELECT state FROM occurrences")).toEqual([{ state: "unknown" }])
      // The other one may.
      expect((yield* other.claimDue()).claimed).toHaveLength(1)
    }).pipe(Effect.provide(Testing.gateway({ model: [] })))
  )

  it.scopedLive("runs a single run up to two hours late, and keeps a later one in the list, its owner told", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const database = yield* Database
      for (const name of ["late", "too late"]) yield* jobs.create({ name, schedule: "5h", prompt: "x" }, maker)
      const hour = 3_600_000
      const now = Date.now()
      const set = (name: string, at: number) =>
        Effect.flatMap(Transaction, (sql) =>
          Effect.asVoid(sql`UPDATE due SET next_at = ${at} WHERE job = (SELECT number FROM jobs WHERE name = ${name})`)
        )
      yield* database.write(
        "test",
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`UPDATE schedule_rules SET rule = json_set(rule, '$.at', ${now - hour} + id)`
          yield* set("late", now - hour)
          yield* set("too late", now - 3 * hour)
        })
      )
      yield* Effect.flatMap(Bell, (bell) => bell.ring)
      const state = (name: string) => Effect.map(jobs.find(name), ({ job }) => job)
      yield* until("the late one", state("late"), (job) => job.lastStatus === "ok")
      expect(yield* state("late")).toMatchObject({ state: "completed", completed: 1 })
      expect(yield* state("too late")).toMatchObject({ state: "missed", lastStatus: "missed", completed: 0 })
      const { only } = yield* Testing.AdapterInMemory
      const told = yield* only.sent.waitFor("the notice", ({ text }) => text.includes("did not run"))
      expect(told.text).toContain("too late")
      expect((yield* jobs.rearm("too late", "5h")).job).toMatchObject({ state: "scheduled" })
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.say("[SILENT]") })))
  )
})
