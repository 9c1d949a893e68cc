/** What makes jobs run: the trigger, its claims and the one firing path. Over the agency, which does the work and carries the words. */
import { Layer } from "effect"
import * as Scripts from "../layers/node/Scripts.js"
import * as ClockWatch from "../layers/operation/ClockWatch.js"
import * as JobRunner from "../layers/schedule/JobRunner.js"
import * as Scheduler from "../layers/schedule/Scheduler.js"
import * as FireClaims from "../layers/sqlite/FireClaims.js"

export const scheduling = Scheduler.layer.pipe(
  Layer.provideMerge(JobRunner.layer),
  Layer.provideMerge(Layer.mergeAll(FireClaims.layer, ClockWatch.layer)),
  Layer.provideMerge(Scripts.endLeft)
)
