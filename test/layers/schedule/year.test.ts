/**
 * A year of jobs in ten zones, with restarts in the middle of runs, edits, pauses and clocks that jump: what the
 * schedules asked for is what the rows account for, to the last one, and nothing is run twice (decision 14).
 */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Random } from "effect"
import * as FireClaimsLayer from "../../../src/layers/sqlite/FireClaims.js"
import { type Claimed, type FireClaim, FireClaims } from "../../../src/services/schedule/FireClaim.js"
import { JobDefinition, JobId, type JobNumber } from "../../../src/services/schedule/Job.js"
import { JobStore } from "../../../src/services/schedule/JobStore.js"
import * as Schedule from "../../../src/services/schedule/Schedule.js"
import * as ScheduleText from "../../../src/services/schedule/ScheduleText.js"
import { Database } from "../../../src/services/state/Database.js"
import { scaled } from "../../scale.js"
import { ids, settingsLayer } from "../support/hands.js"
import { handClock, ok, stores } from "./support.js"

const zones = [
  "Europe/Lisbon",
  "America/New_York",
  "America/Santiago",
  "Asia/Beirut",
  "Africa/Cairo",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
  "Pacific/Apia",
  "Europe/Berlin",
  "UTC"
]
const texts = [
  "0 9 * * *",
  "30 1 * * *",
  "30 2 * * *",
  "0 */6 * * *",
  "0 8 * * 1-5",
  "every 7h",
  "every 1d at 02:30",
  "15 */4 * * *",
  "0 0 1 * *",
  "every 11h",
  "every 36h",
  "0 12 * * 0"
]
const hour = 3_600_000
/** Just before the changes of clocks in Europe and America. */
const begin = Date.UTC(2026, 9, 20)
const count = scaled(200, 20)
const days = scaled(scaled(365), 14)

const definition = (name: string, schedule: string): JobDefinition => ({
  name,
  prompt: "x",
  skills: [],
  model: null,
  provider: null,
  baseUrl: null,
  modelSnapshot: null,
  reasoningEffort: null,
  script: null,
  noAgent: false,
  monitor: null,
  contextFrom: [],
  schedule,
  timezone: null,
  times: null,
  deliver: "local",
  failureDeliver: null,
  origin: null,
  createdBy: null,
  attachToSession: null,
  enabledToolsets: null,
  workdir: null
})

const parse = (text: string, zone: string, now: number): Schedule.Schedule => {
  const parsed = ScheduleText.parse(text, { now, zone: "UTC", timezone: zone, wakesAgent: true })
  if (parsed._tag === "Left") throw parsed.left
  return parsed.right
}

/** What the schedules ask for, told apart from how it is kept. */
class Model {
  expected = 0
  readonly instants = new Set<number>()
  /** Claimed to be run, and so never again. */
  readonly fired = new Set<number>()
  readonly number: JobNumber
  readonly zone: string
  schedule: Schedule.Schedule
  cursor: number
  constructor(number: JobNumber, zone: string, schedule: Schedule.Schedule, cursor: number) {
    this.number = number
    this.zone = zone
    this.schedule = schedule
    this.cursor = cursor
  }
  reach(now: number): void {
    for (
      let at = Schedule.next(this.schedule, this.cursor);
      at !== null && at <= now;
      at = Schedule.next(this.schedule, at)
    ) {
      this.cursor = at
      if (this.instants.has(at)) continue
      this.expected += 1
      this.instants.add(at)
    }
    this.cursor = Math.max(this.cursor, now)
  }
  /** The clock went back: what did not run is still to come, at its own time. */
  back(now: number): void {
    for (const at of this.instants)
      if (at > now && !this.fired.has(at)) {
        this.instants.delete(at)
        this.expected -= 1
      }
    this.cursor = now
  }
}

/** Four stories when all is run: each takes most of a minute. */
const seeds = Array.from({ length: scaled(4) }, (_, index) => 7 + index)

describe("a year of jobs", () => {
  it.live.each(seeds)(
    `accounts for each occurrence of ${count} jobs in ${zones.length} zones over ${days} days, told from seed %i`,
    (seed) => {
      const { at, clock } = handClock(begin)
      return Effect.gen(function* () {
        const store = yield* JobStore
        const database = yield* Database
        const models: Array<Model> = []
        for (let index = 0; index < count; index++) {
          const zone = zones[index % zones.length] ?? "UTC"
          const text = texts[index % texts.length] ?? "every 7h"
          const schedule = parse(text, zone, begin)
          const number = yield* database.write(
            "test",
            store.insert({
              id: JobId.make(index.toString(16).padStart(12, "0")),
              definition: definition(`job ${index}`, text),
              appointment: { schedule, nextAt: Schedule.next(schedule, begin) ?? 0, remaining: null },
              paused: null
            })
          )
          models.push(new Model(number, zone, schedule, begin))
        }

        let queue: Array<Claimed> = []
        let running: Array<{ readonly claim: FireClaim; readonly endsAt: number }> = []
        /** What a dead gateway had in its hands: it tries to record it all the same. */
        let stale: Array<FireClaim> = []
        let refused = 0
        const begun = Effect.gen(function* () {
          const context = yield* Layer.build(FireClaimsLayer.layer).pipe(Effect.scoped)
          const claims = Context.get(context, FireClaims)
          queue = [...(yield* claims.recover).claimed]
          return claims
        })
        let claims = yield* begun
        const before: Array<typeof claims> = []
        const claimed = Effect.gen(function* () {
          const found = (yield* claims.claimDue()).claimed
          for (const { job, scheduledAt } of found) {
            const fired = models.find(({ number }) => number === job)?.fired
            expect(fired?.has(scheduledAt), `${job} at ${new Date(scheduledAt).toISOString()} once more`).toBe(false)
            fired?.add(scheduledAt)
          }
          return found
        })

        /** Everything that happens until a moment, in its order: what is due is claimed, started, and ends in its time. */
        const live = (until: number) =>
          Effect.gen(function* () {
            for (;;) {
              const due = yield* claims.nextDue
              const ends = running.reduce((least, run) => Math.min(least, run.endsAt), Number.POSITIVE_INFINITY)
              const next = Math.min(due ?? Number.POSITIVE_INFINITY, ends)
              if (next > until && queue.length === 0) break
              at.now = Math.max(at.now, Math.min(next, until))
              for (const model of models) model.reach(at.now)
              queue = queue.concat(yield* claimed)
              const started = yield* claims.start(queue)
              queue = []
              for (const claim of started) {
                const long = (yield* Random.nextIntBetween(0, 20)) === 0
                running.push({ claim, endsAt: at.now + (long ? 9 * hour : yield* Random.nextIntBetween(1, 600_000)) })
              }
              for (const run of running.filter((one) => one.endsAt <= at.now)) yield* claims.record(run.claim, ok)
              running = running.filter((one) => one.endsAt > at.now)
            }
            at.now = Math.max(at.now, until)
            for (const model of models) model.reach(at.now)
          })

        const end = begin + days * 24 * hour
        let [restarts, edits, jumps] = [0, 0, 0]
        while (at.now < end) {
          yield* live(at.now + (yield* Random.nextIntBetween(10 * 60_000, 5 * hour)))
          const dice = yield* Random.nextIntBetween(0, 30)
          const model = models[yield* Random.nextIntBetween(0, models.length)]
          if (dice < 2) {
            // It dies as it stands, at times between a claim and its start, and is away for a while.
            restarts += 1
            if (dice === 1) {
              const next = yield* claims.nextDue
              at.now = Math.max(at.now, next ?? 0)
              for (const each of models) each.reach(at.now)
              yield* claimed
            }
            stale = running.map(({ claim }) => claim)
            before.push(claims)
            running = []
            at.now += yield* Random.nextIntBetween(0, 3 * 24 * hour)
            claims = yield* begun
            for (const claim of stale) {
              const late = yield* Effect.either(before.at(-1)?.record(claim, ok) ?? Effect.void)
              if (late._tag === "Left" && late.left._tag === "ClaimLost") refused += 1
            }
            expect((yield* before.at(-1)?.claimDue() ?? claims.claimDue()).claimed).toEqual([])
          } else if (dice < 6 && model !== undefined) {
            edits += 1
            const text = texts[yield* Random.nextIntBetween(0, texts.length)] ?? "every 7h"
            const schedule = parse(text, model.zone, at.now)
            const nextAt = Schedule.next(schedule, at.now) ?? 0
            yield* database.write(
              "test",
              store.reschedule(model.number, { schedule, nextAt, remaining: null }, "edited")
            )
            model.schedule = schedule
            model.cursor = at.now
          } else if (dice === 6) {
            // The clock is set back: what ran does not run again, and what did not run comes in its time.
            jumps += 1
            at.now -= yield* Random.nextIntBetween(0, (yield* Random.nextBoolean) ? 2 * hour : 40 * hour)
            for (const each of models) each.back(at.now)
            yield* store.rightClock("UTC")
          } else if (dice === 7) {
            jumps += 1
            at.now += 20 * hour
          }
        }
        yield* live(at.now + 60_000)
        for (const run of running) yield* claims.record(run.claim, ok)

        const rows = yield* database.read("test", (sql) =>
          sql.unsafe<{
            job: number
            at: number
            last_at: number | null
            count: number
            state: string
            attempts: number
          }>("SELECT job, at, last_at, count, state, attempts FROM occurrences ORDER BY job, at")
        )
        const told = new Map<number, number>()
        for (const [index, row] of rows.entries()) {
          told.set(row.job, (told.get(row.job) ?? 0) + row.count)
          const earlier = rows[index - 1]
          if (earlier?.job === row.job) expect(earlier.last_at ?? earlier.at).toBeLessThan(row.at)
        }
        for (const model of models) {
          expect(told.get(model.number) ?? 0, `job ${model.number} in ${model.zone}`).toBe(model.expected)
          for (const row of rows)
            if (row.job === model.number && row.count === 1)
              expect(model.instants.has(row.at), `${new Date(row.at).toISOString()} of job ${row.job}`).toBe(true)
        }
        const by = (state: string) => rows.filter((row) => row.state === state).length
        expect(by("claimed") + by("running")).toBe(0)
        expect(by("ok")).toBeGreaterThan(rows.length / 2)
        expect(Math.min(restarts, edits, jumps)).toBeGreaterThan(0)
        yield* Effect.logInfo(
          `${rows.length} rows: ${["ok", "unknown", "missed", "skipped"].map((state) => `${by(state)} ${state}`).join(", ")}; ${restarts} restarts, ${edits} edits, ${jumps} jumps, ${refused} late records refused`
        )
      }).pipe(
        Effect.provide(stores),
        Effect.provide(Layer.mergeAll(ids, settingsLayer("/nonexistent"))),
        Effect.withRandom(Random.make(seed)),
        Effect.withClock(clock)
      )
    },
    600_000
  )
})
