/** A wall clock that was wrong and is put right: nothing runs twice, and nothing waits for a time that was never meant. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Random } from "effect"
import * as FireClaimsLayer from "../../../src/layers/sqlite/FireClaims.js"
import { FireClaims } from "../../../src/services/schedule/FireClaim.js"
import type { JobNumber } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { JobStore } from "../../../src/services/schedule/JobStore.js"
import * as Schedule from "../../../src/services/schedule/Schedule.js"
import { Database } from "../../../src/services/state/Database.js"
import { scaled } from "../../scale.js"
import { handClock, jobs, nobody, ok } from "./support.js"

const second = 1_000
const hour = 3_600 * second
const day = 24 * hour
const year = 365 * day
const begin = Date.UTC(2026, 2, 27, 10, 7)

/** A home's jobs under a clock by hand, and everything that is due run at once: `run` answers the instants that began. */
const under = <A, E>(
  test: (hands: {
    readonly at: { now: number }
    readonly run: Effect.Effect<ReadonlyArray<readonly [JobNumber, number]>, unknown, FireClaims>
  }) => Effect.Effect<A, E, Jobs | JobStore | FireClaims | Database>
) => {
  const { at, clock } = handClock(begin)
  const run = Effect.gen(function* () {
    const claims = yield* FireClaims
    const { claimed } = yield* claims.claimDue()
    for (const claim of yield* claims.start(claimed)) yield* claims.record(claim, ok)
    return claimed.map(({ job, scheduledAt }) => [job, scheduledAt] as const)
  })
  return FireClaims.pipe(
    Effect.flatMap((claims) => claims.recover),
    Effect.zipRight(test({ at, run })),
    Effect.provide(FireClaimsLayer.layer.pipe(Layer.provideMerge(jobs({ cron: { catchUpMissed: true } })))),
    Effect.withClock(clock)
  )
}

const texts = ["every 7h", "0 9 * * *", "*/20 * * * *", "every 2d at 06:30", "30 2 * * *", "0 12 * * 0"]

const rowsOf = (job: number) =>
  Effect.flatMap(Database, (database) =>
    database.read("test", (sql) =>
      sql.unsafe<{ at: number; last_at: number | null; count: number; state: string }>(
        "SELECT at, last_at, count, state FROM occurrences WHERE job = ? ORDER BY at",
        [job]
      )
    )
  )

describe("a clock that is put right", () => {
  it.live("days that were missed ahead of time are cut back by the schedule that they were asked for by", () =>
    under(({ at, run }) =>
      Effect.gen(function* () {
        const store = yield* JobStore
        const service = yield* Jobs
        const { job } = yield* service.create({ name: "daily", prompt: "x", schedule: "0 9 * * *" }, nobody)
        const number = (yield* store.get(job.id))?.number ?? 0
        at.now += 9 * day
        expect(yield* run).toEqual([[number, begin + 8 * day + 23 * hour - 7 * 60 * second]])
        yield* service.edit(job.id, { schedule: "0 */6 * * *" })
        at.now = begin + 3 * day
        expect(yield* store.rightClock("UTC")).toHaveLength(1)
        const nine = (days: number) => Date.UTC(2026, 2, 27 + days, 9)
        expect(yield* rowsOf(number)).toEqual([
          { at: nine(1), last_at: nine(3), count: 3, state: "missed" },
          { at: nine(9), last_at: null, count: 1, state: "ok" }
        ])
      })
    )
  )

  it.live(
    "five years ahead for 45 seconds: the jobs are due at their next time again, and the years are not accounted",
    () =>
      under(({ at, run }) =>
        Effect.gen(function* () {
          const store = yield* JobStore
          const numbers: Array<JobNumber> = []
          for (const schedule of texts) {
            const { job } = yield* (yield* Jobs).create({ name: schedule, prompt: "x", schedule }, nobody)
            const stored = yield* store.get(job.id)
            if (stored !== null) numbers.push(stored.number)
          }
          const single = yield* (yield* Jobs).create(
            { name: "single", prompt: "x", schedule: "2026-06-01 09:00" },
            nobody
          )
          at.now += 5 * year
          expect((yield* run).length).toBe(texts.length)
          expect((yield* store.get(single.job.id))?.job.state).toBe("missed")
          at.now += 45 * second
          yield* run
          at.now -= 5 * year
          const righted = yield* store.rightClock("UTC")
          expect(righted.length).toBe(texts.length + 1)
          expect((yield* store.get(single.job.id))?.job).toMatchObject({
            state: "scheduled",
            lastError: null,
            nextRunAt: Date.UTC(2026, 5, 1, 9)
          })
          // Told once: there is nothing to put right any more.
          expect(yield* store.rightClock("UTC")).toEqual([])
          for (const number of numbers) {
            const stored = yield* store.ofRun(number)
            if (stored?.schedule == null) return yield* Effect.dieMessage("a job has no schedule")
            expect(stored.job.nextRunAt).toBe(Schedule.next(stored.schedule, at.now))
            const rows = yield* rowsOf(number)
            expect(
              rows.filter(({ state }) => state === "missed" && rows.length > 1).every((row) => row.at <= at.now)
            ).toBe(true)
            expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(
              1 + (Schedule.occurrences(stored.schedule, begin, at.now)?.count ?? 0)
            )
          }
        })
      )
  )

  it.live("a job made while it was ahead does not wait for years", () =>
    under(({ at }) =>
      Effect.gen(function* () {
        at.now += 5 * year
        const { job } = yield* (yield* Jobs).create({ name: "a", prompt: "x", schedule: "every 30m" }, nobody)
        at.now -= 5 * year
        const store = yield* JobStore
        yield* store.rightClock("UTC")
        const next = (yield* store.get(job.id))?.job.nextRunAt ?? 0
        expect(next - at.now).toBeGreaterThan(0)
        expect(next - at.now).toBeLessThanOrEqual(hour / 2)
      })
    )
  )

  it.live("an hour back repeats nothing", () =>
    under(({ at, run }) =>
      Effect.gen(function* () {
        const { job } = yield* (yield* Jobs).create({ name: "a", prompt: "x", schedule: "*/20 * * * *" }, nobody)
        const store = yield* JobStore
        for (let turn = 0; turn < 4; turn++) {
          at.now = (yield* store.get(job.id))?.job.nextRunAt ?? 0
          expect((yield* run).length).toBe(1)
        }
        const due = (yield* store.get(job.id))?.job.nextRunAt
        at.now -= hour
        expect(yield* store.rightClock("UTC")).toEqual([])
        expect((yield* store.get(job.id))?.job.nextRunAt).toBe(due)
      })
    )
  )

  it.live("whatever jumps there were, no instant runs twice and each job runs within a period once it is right", () =>
    under(({ at, run }) =>
      Effect.gen(function* () {
        const store = yield* JobStore
        const made = yield* Effect.forEach(texts, (schedule) =>
          Effect.flatMap(Jobs, (all) => all.create({ name: schedule, prompt: "x", schedule }, nobody))
        )
        const ran = new Set<string>()
        const go = Effect.map(run, (instants) => {
          for (const [job, instant] of instants) {
            expect(ran.has(`${job} ${instant}`), `${job} twice at ${new Date(instant).toISOString()}`).toBe(false)
            ran.add(`${job} ${instant}`)
          }
        })
        for (let turn = 0; turn < scaled(60, 15); turn++) {
          const right = at.now
          let wrong = 0
          for (let jump = yield* Random.nextIntBetween(1, 4); jump > 0; jump--) {
            const scale = [90 * second, 2 * hour, 3 * day, 5 * year][yield* Random.nextIntBetween(0, 4)] ?? hour
            wrong += yield* Random.nextIntBetween(-scale, scale)
            at.now = right + wrong
            yield* store.rightClock("UTC")
            yield* go
            at.now += yield* Random.nextIntBetween(0, 2 * hour)
            yield* go
          }
          // Back to the true time, a little after where it was left.
          at.now = right + 6 * hour
          yield* store.rightClock("UTC")
          yield* go
          for (const { job } of made) {
            const stored = yield* store.get(job.id)
            if (stored?.schedule == null) return yield* Effect.dieMessage("a job has no schedule")
            let first = Schedule.next(stored.schedule, at.now)
            while (first !== null && ran.has(`${stored.number} ${first}`)) first = Schedule.next(stored.schedule, first)
            expect(stored.job.nextRunAt, job.name).toBe(first)
          }
          at.now += yield* Random.nextIntBetween(0, 3 * day)
          yield* go
        }
        for (const { job } of made) {
          const stored = yield* store.get(job.id)
          const rows = yield* rowsOf(stored?.number ?? 0)
          for (const [index, row] of rows.entries())
            expect(row.last_at ?? row.at).toBeLessThan(rows[index + 1]?.at ?? Number.POSITIVE_INFINITY)
        }
      })
    ).pipe(Effect.withRandom(Random.make("clock")))
  )
})
