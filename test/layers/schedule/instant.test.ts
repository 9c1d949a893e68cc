/** When a run begins: never before its instant, with all that is written for it on the disk by then (decision 14). */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Layer, TestClock, TestServices } from "effect"
import * as ClockWatch from "../../../src/layers/operation/ClockWatch.js"
import * as Drain from "../../../src/layers/operation/Drain.js"
import * as Readiness from "../../../src/layers/operation/Readiness.js"
import * as SchedulerLayer from "../../../src/layers/schedule/Scheduler.js"
import * as FireClaimsLayer from "../../../src/layers/sqlite/FireClaims.js"
import * as OccurrencesLayer from "../../../src/layers/sqlite/Occurrences.js"
import * as PauseLayer from "../../../src/layers/sqlite/Pause.js"
import { FireClaims } from "../../../src/services/schedule/FireClaim.js"
import { JobRunner } from "../../../src/services/schedule/JobRunner.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { JobStore } from "../../../src/services/schedule/JobStore.js"
import { Scheduler } from "../../../src/services/schedule/Scheduler.js"
import { Database } from "../../../src/services/state/Database.js"
import { jobs, nobody, ok } from "./support.js"

interface Begun {
  readonly at: number
  readonly due: number
  readonly states: ReadonlyArray<string>
}

/** What each run saw at its first step: the time, its own instant, and the rows of all that were due with it. */
const runner = (begun: Array<Begun>, millis: number) =>
  Layer.effect(
    JobRunner,
    Effect.gen(function* () {
      const claims = yield* FireClaims
      const database = yield* Database
      const store = yield* JobStore
      return JobRunner.of({
        run: (claim) =>
          Effect.gen(function* () {
            const at = yield* Clock.currentTimeMillis
            const rows = yield* database.read("test", (sql) =>
              sql.unsafe<{ state: string }>("SELECT state FROM occurrences WHERE at = ?", [claim.scheduledAt])
            )
            // One that was taken back in the meantime is no run.
            if (!(yield* store.ofRun(claim.job))?.open) return
            begun.push({ at, due: claim.scheduledAt, states: rows.map(({ state }) => state) })
            if (millis > 0) yield* Effect.interruptible(Effect.sleep(millis))
            yield* claims.record(claim, ok)
          }).pipe(Effect.orDie),
        tell: () => Effect.void,
        tellRighted: () => Effect.void
      })
    })
  )

/** What one fiber hands to another takes real time, in which the test clock stands still. */
const pass = (millis: number) =>
  Effect.zipRight(TestClock.adjust(millis), TestServices.provideLive(Effect.sleep("2 millis")))

/** In steps as fine as those by which a claim comes before its instant. */
const passFinely = (millis: number) =>
  Effect.forEach(
    Array.from({ length: Math.ceil(millis / 10) }, (_, step) => Math.min(10, millis - 10 * step)),
    pass,
    { discard: true }
  )

const occurrences = Effect.flatMap(Database, (database) =>
  database.read("test", (sql) =>
    sql.unsafe<{ at: number; state: string; reason: string | null }>(
      "SELECT at, state, reason FROM occurrences ORDER BY id"
    )
  )
)

const scheduler = (begun: Array<Begun>, millis = 0) =>
  SchedulerLayer.layer.pipe(
    Layer.provideMerge(runner(begun, millis)),
    Layer.provideMerge(
      Layer.mergeAll(
        FireClaimsLayer.layer,
        OccurrencesLayer.layer,
        PauseLayer.layer,
        Drain.layer,
        Readiness.layerOpen,
        ClockWatch.layer
      ).pipe(Layer.provideMerge(jobs({ cron: { maxParallelJobs: 100 } })))
    )
  )

const about = { script: "look.sh", noAgent: true }

describe("a run", () => {
  it.scoped("begins at its instant and not before, when it and all that are due with it are on the disk", () => {
    const begun: Array<Begun> = []
    return Effect.gen(function* () {
      yield* (yield* Scheduler).recover
      const all = yield* Jobs
      for (let index = 0; index < 20; index++)
        yield* all.create(
          { name: `job ${index}`, ...about, schedule: index % 2 === 0 ? "every 1s" : "every 2s" },
          nobody
        )
      const states = Effect.map(occurrences, (rows) => rows.map(({ state }) => state))
      const ten = (state: string) => Array.from({ length: 10 }, () => state)
      yield* pass(960)
      expect(yield* states).toEqual(ten("claimed"))
      yield* pass(35)
      expect(yield* states).toEqual(ten("running"))
      expect(begun).toEqual([])
      for (let step = 0; step < 60; step++) yield* pass(37)
      expect(begun.length).toBe(40)
      for (const { at, due, states } of begun) {
        expect(at).toBeGreaterThanOrEqual(due)
        expect(states).not.toContain("claimed")
      }
    }).pipe(Effect.provide(scheduler(begun)))
  })

  it.scoped.each([
    { millis: 900, ran: [1, 2, 3, 4, 5, 6] },
    { millis: 970, ran: [1, 2, 3, 4, 5, 6] },
    { millis: 990, ran: [1, 2, 3, 4, 5, 6] },
    { millis: 1_030, ran: [1, 3, 5] },
    { millis: 1_970, ran: [1, 3, 5] }
  ])("is left out only where the one before goes on at its instant: $millis ms of a second", ({ millis, ran }) => {
    const begun: Array<Begun> = []
    return Effect.gen(function* () {
      yield* (yield* Scheduler).recover
      yield* (yield* Jobs).create({ name: "long", ...about, schedule: "every 1s" }, nobody)
      yield* passFinely(6_050)
      expect(begun.map(({ due }) => due / 1_000)).toEqual(ran)
      for (const { at, due } of begun) expect(at - due).toBeLessThan(10)
      expect((yield* occurrences).map(({ at, reason }) => [at / 1_000, reason])).toEqual(
        [1, 2, 3, 4, 5, 6].map((second) => [second, ran.includes(second) ? null : "the run before was not over"])
      )
      // The clock of the one that goes on stands still now.
      yield* (yield* Scheduler).stop
    }).pipe(Effect.provide(scheduler(begun, millis)))
  })

  it.scoped.each([
    { before: 30, edit: "every 1h", ran: [] },
    { before: 90, edit: "every 1h", ran: [] },
    { before: 30, edit: "30 5 * * *", ran: [] },
    { before: 90, edit: "0-59 * * * *", ran: [60] },
    { before: 30, edit: "0-59 * * * *", ran: [60] }
  ])("of a schedule that is changed $before ms before its instant to $edit is one of the new one or none", (one) => {
    const begun: Array<Begun> = []
    return Effect.gen(function* () {
      yield* (yield* Scheduler).recover
      yield* (yield* Jobs).create({ name: "moved", ...about, schedule: "* * * * *" }, nobody)
      yield* pass(50_000)
      yield* passFinely(10_000 - one.before)
      expect((yield* occurrences).map(({ at }) => at)).toEqual([60_000])
      const edited = yield* (yield* Jobs).edit("moved", { schedule: one.edit })
      yield* passFinely(one.before + 200)
      expect(begun.map(({ due }) => due / 1_000)).toEqual(one.ran)
      expect((yield* occurrences).map(({ at, reason }) => [at, reason])).toEqual([
        [60_000, one.ran.length === 0 ? "the schedule was edited before it ran" : null]
      ])
      expect((yield* (yield* Jobs).get(edited.job.id))?.nextRunAt).toBeGreaterThan(60_000)
    }).pipe(Effect.provide(scheduler(begun)))
  })
})
