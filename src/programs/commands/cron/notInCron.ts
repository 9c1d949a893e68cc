import { Effect } from "effect"
import { markerOf } from "../../../fibers/AmbientEnvironment.js"
import * as CronMarker from "../../../fibers/CronMarker.js"
import { type Ended, failed } from "../failure.js"
import { Invocation } from "../invocation.js"

/** A scheduled run makes and changes no jobs (decision 29): refused before anything is opened or asked. */
export const notInCron = (what: string): Effect.Effect<void, Ended, Invocation> =>
  Effect.flatMap(Invocation, ({ environment }) =>
    CronMarker.isCron(markerOf(environment))
      ? failed(
          `${what} cannot be made or changed here: this command was started by a scheduled run (HERMES_CRON_SESSION is set); say in its answer what should be scheduled`
        )
      : Effect.void
  )
