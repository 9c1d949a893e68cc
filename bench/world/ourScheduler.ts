/** Our scheduler over a database of its own, without the rest of a gateway. */
import { Effect, Layer } from "effect"
import path from "node:path"
import * as Ids from "../../src/layers/node/Ids.js"
import * as ClockWatch from "../../src/layers/operation/ClockWatch.js"
import * as Drain from "../../src/layers/operation/Drain.js"
import * as Readiness from "../../src/layers/operation/Readiness.js"
import * as Bell from "../../src/layers/schedule/Bell.js"
import * as SchedulerLayer from "../../src/layers/schedule/Scheduler.js"
import * as SqliteDatabase from "../../src/layers/sqlite/Database.js"
import * as FireClaimsLayer from "../../src/layers/sqlite/FireClaims.js"
import * as JobStoreLayer from "../../src/layers/sqlite/JobStore.js"
import * as OccurrencesLayer from "../../src/layers/sqlite/Occurrences.js"
import * as PauseLayer from "../../src/layers/sqlite/Pause.js"
import { Settings } from "../../src/services/operation/Settings.js"
import { FireClaims } from "../../src/services/schedule/FireClaim.js"
import { JobRunner } from "../../src/services/schedule/JobRunner.js"
import { defaults } from "../../src/testing/Settings.js"
import { ok } from "../../test/layers/schedule/support.js"

/** What jobs are kept in, over one database. */
export const storage = (file: string, parallel: number) => {
  const base = defaults(path.dirname(file))
  return Layer.mergeAll(JobStoreLayer.layer, FireClaimsLayer.layer, OccurrencesLayer.layer, PauseLayer.layer).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        SqliteDatabase.layer({ file }),
        Ids.layer,
        Layer.succeed(Settings, { ...base, cron: { ...base.cron, maxParallelJobs: parallel } })
      )
    )
  )
}

/** What the handlers of a scheduler told. Wall clock, milliseconds. */
export interface Heard {
  readonly at: Array<number>
  recorded: number
  done: number
}

export const wall = (): number => performance.timeOrigin + performance.now()

/** Ours as the gateway has it, with a handler that only tells when it began. */
export const scheduler = (file: string, parallel: number, heard: Heard) =>
  SchedulerLayer.layer.pipe(
    Layer.provideMerge(
      Layer.effect(
        JobRunner,
        Effect.map(FireClaims, (claims) => ({
          run: (claim) =>
            Effect.suspend(() => {
              heard.at.push(wall())
              return Effect.map(Effect.orDie(claims.record(claim, ok)), () => {
                heard.recorded += 1
                heard.done = wall()
              })
            }),
          tell: () => Effect.void,
          tellRighted: () => Effect.void
        }))
      )
    ),
    Layer.provideMerge(
      Layer.mergeAll(storage(file, parallel), Bell.layer, Drain.layer, Readiness.layerOpen, ClockWatch.layer)
    )
  )
