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
import { Scheduler } from "../../../src/services/schedule/Scheduler.js"
import { Database } from "../../../src/services/state/Database.js"
import { jobs, nobody, ok } from "./support.js"

interface Begun {
  readonly at: number
  readonly due: number
  readonly states: ReadonlyArray<string>
}

/** What each run saw at its first step: the time, its own instant, and the rows of all that were due with it. */
const runner = (begun: Array<Begun>) =>
  Layer.effect(
    JobRunner,
    Effect.gen(function* () {
      const claims = yield* FireClaims
      const database = yield* Database
      return JobRunner.of({
        run: (claim) =>
          Effect.gen(function* () {
            const at = yield* Clock.currentTimeMillis
            const rows = yield* database.read("test", (sql) =>
              sql.unsafe<{ state: string }>("SELECT state FROM occurrences WHERE at = ?", [claim.scheduledAt])
            )
            begun.push({ at, due: claim.scheduledAt, states: rows.map(({ state }) => state) })
            yield* claims.record(claim, ok)
          }).pipe(Effect.orDie),
        tell: () => Effect.void,
        tellRighted: () => Effect.void
      })
    })
  )

describe("a run", () => {
  it.scoped("begins at its instant and not before, when it and all that are due with it are on the disk", () => {
    const begun: Array<Begun> = []
    /** What one fiber hands to another takes real time, in which the test clock stands still. */
    const pass = (millis: number) =>
      Effect.zipRight(TestClock.adjust(millis), TestServices.provideLive(Effect.sleep("2 millis")))
    return Effect.gen(function* () {
      yield* (yield* Scheduler).recover
      const all = yield* Jobs
      const about = { script: "look.sh", noAgent: true }
      for (let index = 0; index < 20; index++)
        yield* all.create(
          { name: `job ${index}`, ...about, schedule: index % 2 === 0 ? "every 1s" : "every 2s" },
          nobody
        )
      const states = (yield* Database).read("test", (sql) =>
        Effect.map(sql.unsafe<{ state: string }>("SELECT state FROM occurrences"), (all) =>
          all.map(({ state }) => state)
        )
      )
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
    }).pipe(
      Effect.provide(
        SchedulerLayer.layer.pipe(
          Layer.provideMerge(runner(begun)),
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
      )
    )
  })
})
