/** Where jobs stand in the order in which they come due, and that each is found there. */
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, FastCheck as fc, Layer, Schema } from "effect"
import { statSync } from "node:fs"
import path from "node:path"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as FireClaimsLayer from "../../../src/layers/sqlite/FireClaims.js"
import { type ClaimLost, type FireClaim, FireClaims } from "../../../src/services/schedule/FireClaim.js"
import { farthest } from "../../../src/services/operation/Instant.js"
import type { JobError } from "../../../src/services/schedule/JobError.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { JobStore } from "../../../src/services/schedule/JobStore.js"
import * as Schedule from "../../../src/services/schedule/Schedule.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { StateError } from "../../../src/services/state/StateError.js"
import { scaled } from "../../scale.js"
import { folder } from "../sqlite/temporary.js"
import { ids, settingsLayer } from "../support/hands.js"
import { handClock, nobody, ok, rows, withClaims } from "./support.js"

const minute = 60_000
const start = Date.UTC(2026, 2, 27, 10, 7)

const write = (statement: string) =>
  Effect.flatMap(Database, (database) =>
    database.write(
      "test",
      Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql.unsafe(statement)))
    )
  )

/** Jobs of one rule: all are due at its next instant, 25 whose numbers lie far apart already at the start. */
const fill = (file: string, count: number) =>
  Effect.zipRight(
    Effect.scoped(Layer.build(SqliteDatabase.layer({ file }))),
    Effect.sync(() => {
      const db = new Sqlite(file)
      const rule = { kind: "cron", expression: "*/5 * * * *", timezone: "UTC", ownZone: true } as const
      const numbers = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})`
      db.exec(`INSERT INTO schedule_rules (id, rule) VALUES (1, '${Schema.encodeSync(Schedule.Stored)(rule)}');
        INSERT INTO schedule (job, rule) ${numbers} SELECT n, 1 FROM n;
        INSERT INTO due (job, next_at, settled) ${numbers}
          SELECT n, CASE WHEN n % ${count / 25} = 0 THEN ${start} ELSE ${start + 3 * minute} END, 0 FROM n`)
      db.close()
    })
  )

/** The bytes that a claim of what is due writes. */
const writtenByClaim = (count: number) =>
  Effect.gen(function* () {
    const file = path.join(yield* folder, "state.db")
    yield* fill(file, count)
    const hands = Layer.mergeAll(SqliteDatabase.layer({ file }), ids, settingsLayer("/nonexistent"))
    return yield* Effect.gen(function* () {
      const claims = yield* FireClaims
      yield* claims.recover
      const before = statSync(`${file}-wal`).size
      expect((yield* claims.claimDue()).claimed).toHaveLength(25)
      return statSync(`${file}-wal`).size - before
    }).pipe(Effect.provide(FireClaimsLayer.layer.pipe(Layer.provide(hands))))
  }).pipe(Effect.withClock(handClock(start).clock))

const under = withClaims(start)

const zones = ["Europe/Berlin", "Europe/Paris"]
const isStateError = Schema.is(StateError)
const schedules = ["*/7 * * * *", "0 9 * * *", "every 13m", "2h", "every 2d at 09:00"]

/** What no clock shows, as SQL: beyond what a Date can be, and no number. */
const nonsense = [
  "9e15",
  "-9e15",
  "8640000000000001",
  "9223372036854775807",
  "-9223372036854775807",
  "1e300",
  "-1e300",
  "8640000000000000",
  "-8640000000000000",
  "0",
  "-5",
  "1.5",
  "'soon'",
  "x'00ff'"
]

type Befalls =
  | { readonly what: "create" | "claim" | "end" | "right"; readonly schedule: string }
  | { readonly what: "edit"; readonly which: number; readonly schedule: string }
  | { readonly what: "pause" | "resume" | "remove"; readonly which: number }
  | { readonly what: "pass"; readonly minutes: number }
  | { readonly what: "rezone"; readonly timezone: string }

/** What befalls jobs: people change them, time passes, runs are claimed and end, the clock and the zone are set. */
const befalls: fc.Arbitrary<Befalls> = fc.oneof(
  fc.record({
    what: fc.constantFrom(...(["create", "create", "claim", "end", "right"] as const)),
    schedule: fc.constantFrom(...schedules)
  }),
  fc.record({ what: fc.constant("edit" as const), which: fc.nat(9), schedule: fc.constantFrom(...schedules) }),
  fc.record({ what: fc.constantFrom(...(["pause", "resume", "remove"] as const)), which: fc.nat(9) }),
  fc.record({ what: fc.constant("pass" as const), minutes: fc.integer({ min: -300, max: 400 }) }),
  fc.record({ what: fc.constant("rezone" as const), timezone: fc.constantFrom("Asia/Tokyo", "America/New_York") })
)

/** Each is made to happen; a person who asks for what cannot be is refused, which changes nothing. */
const happen = (at: { now: number }, claims: FireClaims["Type"]) =>
  Effect.gen(function* () {
    const service = yield* Jobs
    const store = yield* JobStore
    const running: Array<FireClaim> = []
    let made = 0
    const asked = (which: number, act: (id: string) => Effect.Effect<unknown, JobError>) =>
      Effect.flatMap(service.list({ all: true }), (list) => {
        const found = list[which % list.length]
        return found === undefined
          ? Effect.void
          : Effect.catchIf(
              act(found.job.id),
              (error) => !isStateError(error),
              () => Effect.void
            )
      })
    return (one: Befalls): Effect.Effect<unknown, JobError | ClaimLost> => {
      switch (one.what) {
        case "create":
          return service.create({ name: `${made++}`, prompt: "x", schedule: one.schedule }, nobody)
        case "edit":
          return asked(one.which, (id) => service.edit(id, { schedule: one.schedule }))
        case "pause":
        case "resume":
        case "remove":
          return asked(one.which, (id) => service[one.what](id))
        case "pass":
          return Effect.sync(() => (at.now += one.minutes * minute))
        case "claim":
          return claims.claimDue().pipe(
            Effect.flatMap(({ claimed }) => claims.start(claimed)),
            Effect.map((begun) => running.push(...begun))
          )
        case "end":
          return Effect.forEach(running.splice(0, 1), (run) => claims.record(run, ok))
        case "right":
          return store.rightClock("UTC")
        case "rezone":
          return store.rezone(one.timezone)
      }
    }
  })

describe("when jobs are due", () => {
  it.scoped("a claim writes as few pages of many jobs as of few", () =>
    Effect.gen(function* () {
      // A deeper tree has a page or two more on the way; by their numbers each of the 25 would have one of its own.
      expect((yield* writtenByClaim(50_000)) - (yield* writtenByClaim(500))).toBeLessThan(5 * 4_096)
    })
  )

  it.effect.prop(
    "each job that is not paused has one place, and is found there alone as among all",
    [fc.array(befalls, { maxLength: 20 })],
    ([events]) =>
      under((at, claims) =>
        Effect.gen(function* () {
          const service = yield* Jobs
          const make = yield* happen(at, claims)
          for (const one of events) {
            yield* make(one)
            for (const { job } of yield* service.list({ all: true }))
              expect((yield* service.find(job.id)).job.nextRunAt).toBe(job.nextRunAt)
            expect(yield* rows("SELECT job FROM due ORDER BY job")).toEqual(
              yield* rows("SELECT job FROM schedule ORDER BY job")
            )
          }
        })
      ),
    { fastCheck: { numRuns: scaled(1_000, 50) } }
  )

  it.effect.prop(
    "what came while a job was paused says so, what was overdue by then does not, and all of it is counted once",
    [
      fc.constantFrom("every 1s", "every 13m", "*/7 * * * *", "0 9 * * *"),
      fc.boolean(),
      fc.integer({ min: 0, max: 90_000 }),
      fc.integer({ min: 0, max: 200_000 })
    ],
    ([words, claimedBefore, before, during]) =>
      under((at, claims) =>
        Effect.gen(function* () {
          const service = yield* Jobs
          const store = yield* JobStore
          const { job } = yield* service.create({ schedule: words, script: "a.sh", noAgent: true }, nobody)
          const { schedule } = yield* store.find(job.id)
          if (schedule === null) return yield* Effect.dieMessage("it has no schedule")
          const claimed = Effect.flatMap(claims.claimDue(), (found) => claims.start(found.claimed))
          at.now += before * 1_000
          if (claimedBefore) for (const run of yield* claimed) yield* claims.record(run, ok)
          const pausedAt = at.now
          yield* service.pause(job.id)
          at.now += during * 1_000
          yield* service.resume(job.id)
          for (const run of yield* claimed) yield* claims.record(run, ok)

          const count = (after: number, until: number) => Schedule.occurrences(schedule, after, until)?.count ?? 0
          const sum = (condition: string) =>
            Effect.map(
              rows(`SELECT coalesce(sum(count), 0) AS n FROM occurrences WHERE ${condition}`),
              ([row]) => row?.["n"]
            )
          expect(yield* sum("true")).toBe(count(start, at.now))
          // The last one runs, as late as it is.
          const whilePaused = count(claimedBefore ? pausedAt : Math.max(start, pausedAt - 1), at.now)
          expect(yield* sum("reason = 'it was paused' AND state = 'skipped'")).toBe(Math.max(0, whilePaused - 1))
          expect(
            yield* rows(`SELECT at FROM occurrences WHERE coalesce(last_at, at) >= ${pausedAt}
            AND reason LIKE '%the gateway was down%'`)
          ).toEqual([])
        })
      ),
    { fastCheck: { numRuns: scaled(1_000, 25) } }
  )

  it.live("a change that something came before is decided anew", () =>
    under((at, claims) =>
      Effect.gen(function* () {
        const service = yield* Jobs
        const both = <A, B>(one: Effect.Effect<A, JobError>, other: Effect.Effect<B, JobError>) =>
          Effect.all([Effect.either(one), Effect.either(other)], { concurrency: 2 })
        // The removed job stood in the order for ever, and was skipped each time.
        const gone = yield* service.create({ name: "gone", prompt: "x", schedule: "every 1h" }, nobody)
        yield* both(service.remove(gone.job.id), service.edit(gone.job.id, { schedule: "every 2h" }))
        expect(yield* rows("SELECT job FROM due UNION ALL SELECT job FROM schedule")).toEqual([])
        // It ran once more than it was to run.
        yield* service.create({ name: "counted", prompt: "x", schedule: "* * * * *", repeat: 3 }, nobody)
        const begun = Effect.flatMap(claims.claimDue(), ({ claimed }) => claims.start(claimed))
        for (let round = 0; round < 12; round++) {
          at.now = (yield* service.find("counted")).job.nextRunAt ?? at.now
          const edit = Effect.ignore(service.edit("counted", { repeat: 3 + (round % 2), timezone: zones[round % 2] }))
          const runs = yield* Effect.all(round % 3 === 0 ? [edit, begun] : [begun, edit], { concurrency: 2 })
          for (const run of runs.flatMap((found) => found ?? [])) yield* claims.record(run, ok)
        }
        expect((yield* service.find("counted")).job).toMatchObject({ state: "completed", completed: 3 })
      })
    )
  )

  it.live("what a repair could not save of it is made anew at the next start", () =>
    under((at, claims) =>
      Effect.gen(function* () {
        const service = yield* Jobs
        const daily = yield* service.create({ name: "daily", prompt: "x", schedule: "0 9 * * *" }, nobody)
        const once = yield* service.create({ name: "once", prompt: "x", schedule: "2h" }, nobody)
        yield* write("DELETE FROM due")
        expect((yield* service.find("daily")).job.nextRunAt).toBeNull()
        yield* claims.recover
        expect((yield* service.find("daily")).job.nextRunAt).toBe(daily.job.nextRunAt)
        expect((yield* service.find("once")).job.nextRunAt).toBe(once.job.nextRunAt)
        at.now = once.job.nextRunAt ?? 0
        expect((yield* claims.claimDue()).claimed).toHaveLength(1)
      })
    )
  )

  it.effect.prop(
    "whatever somebody writes for a place, its job is listed and found, and each change, claim and start puts it right",
    [
      fc.constantFrom(...nonsense),
      fc.constantFrom("next_at", "settled"),
      fc.constantFrom(...schedules),
      fc.constantFrom(...(["edit", "pause", "resume", "remove", "claim", "start", "right", "rezone"] as const))
    ],
    ([value, column, schedule, act]) =>
      under((at, claims) =>
        Effect.gen(function* () {
          const service = yield* Jobs
          const store = yield* JobStore
          const { id } = (yield* service.create({ name: "spoilt", prompt: "x", schedule }, nobody)).job
          yield* service.create({ name: "other", prompt: "x", schedule: "every 1h" }, nobody)
          if (act === "resume") yield* service.pause(id)
          yield* write(`UPDATE ${act === "resume" ? "schedule_paused" : "due"} SET ${column} = ${value}
            WHERE job = (SELECT number FROM jobs WHERE name = 'spoilt')`)
          const nextOf = Effect.map(service.find(id), ({ job }) => job.nextRunAt)
          const isFine = (next: number | null) => next === null || Math.abs(next) <= farthest
          expect(yield* nextOf).toSatisfy(isFine)
          expect((yield* service.list({ all: true })).map(({ job }) => job.nextRunAt)).toSatisfy(
            (all: ReadonlyArray<number | null>) => all.length === 2 && all.every(isFine)
          )
          expect((yield* store.summary).next).toSatisfy(isFine)
          at.now += minute
          if (act === "edit") yield* service.edit(id, { schedule: "every 2h" })
          else if (act === "claim") yield* claims.claimDue()
          else if (act === "start") yield* claims.recover
          else if (act === "right") yield* store.rightClock("UTC")
          else if (act === "rezone") yield* store.rezone("Asia/Tokyo")
          else yield* service[act](id)
          const places = yield* rows(
            "SELECT next_at, settled FROM due WHERE job NOT IN (SELECT number FROM jobs WHERE name = 'other')"
          )
          if (act === "pause" || act === "remove") {
            expect(places).toEqual([])
            return
          }
          if (act === "edit" || act === "resume" || act === "start")
            expect(places).toEqual([{ next_at: yield* nextOf, settled: expect.toSatisfy(isFine) }])
          expect(yield* nextOf).toSatisfy(isFine)
          at.now += 3 * 24 * 60 * minute
          yield* claims.claimDue()
          yield* claims.claimDue()
        })
      ),
    { fastCheck: { numRuns: scaled(1_000, 40) } }
  )

  it.live("a run that is open and cannot be read is over at the next start: its job is not kept from running", () =>
    under((at, claims) =>
      Effect.gen(function* () {
        const service = yield* Jobs
        const { nextRunAt } = (yield* service.create({ name: "kept", prompt: "x", schedule: "every 1h" }, nobody)).job
        for (const place of ["9e15", "'soon'"])
          yield* write(`INSERT INTO occurrences (job, at, count, kind, state, attempts, claimed_at)
            VALUES ((SELECT number FROM jobs), ${place}, 1, 'on_time', 'claimed', 1, 1)`)
        yield* claims.recover
        expect(yield* rows("SELECT state, finished_at FROM occurrences")).toEqual(
          ["unknown", "unknown"].map((state) => ({ state, finished_at: start }))
        )
        at.now = nextRunAt ?? 0
        expect((yield* claims.claimDue()).claimed).toHaveLength(1)
      })
    )
  )
})
