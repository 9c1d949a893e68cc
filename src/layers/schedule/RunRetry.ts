/** When a failed run is tried again by itself, and when its provider's limit holds a job back (cron-delivery.md 3.11). */
import { Clock, Effect } from "effect"
import { Settings } from "../../services/operation/Settings.js"
import type { FireClaim } from "../../services/schedule/FireClaim.js"
import { JobStore, type StoredJob } from "../../services/schedule/JobStore.js"
import { Occurrences } from "../../services/schedule/Occurrence.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import type { Step } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import type { Work } from "./RunWork.js"
import { localTime } from "../../services/schedule/LocalTime.js"

const minuteMillis = 60_000
const ladderMillis: ReadonlyArray<number> = [5, 15, 30].map((minutes) => minutes * minuteMillis)

export interface Plan {
  /** Goes into the transaction that records the run. */
  readonly step: Step<void>
  /** Said with the notice of failure; null says nothing more. */
  readonly note: string | null
  /** It is tried again soon: nobody has to hear of this one. */
  readonly quiet: boolean
}

const none: Plan = { step: Effect.void, note: null, quiet: false }

export const make = Effect.gen(function* () {
  const settings = yield* Settings
  const store = yield* JobStore
  const occurrences = yield* Occurrences

  /** Runs of the ladder up to this one. */
  const climbed = (claim: FireClaim, stored: StoredJob) =>
    Effect.map(occurrences.list({ job: stored.job.id, limit: ladderMillis.length + 1 }), (newest) => {
      const before = newest.filter((run) => run.id <= claim.occurrence)
      const other = before.findIndex((run) => run.kind !== "retry")
      return other === -1 ? before.length : other
    })

  const unreachable = (claim: FireClaim, stored: StoredJob): Effect.Effect<Plan, StateError> =>
    Effect.gen(function* () {
      const delay = ladderMillis[yield* climbed(claim, stored)]
      const at = (yield* Clock.currentTimeMillis) + (delay ?? 0)
      const natural = stored.job.nextRunAt
      if (delay === undefined || (natural !== null && natural <= at)) return none
      return {
        step: Effect.zipRight(
          store.dropRetries(stored.number),
          store.wake({ job: stored.number, at, kind: "retry", attempt: 1, context: claim.context })
        ),
        note: null,
        quiet: true
      }
    })

  const held = (stored: StoredJob, retryAfterMillis: number): Effect.Effect<Plan> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const until = now + retryAfterMillis
      const natural = stored.job.nextRunAt
      const again = until + minuteMillis
      const hold = store.hold(stored.number, until)
      return {
        step:
          natural !== null && natural <= again
            ? hold
            : Effect.zipRight(
                Effect.zipRight(hold, store.dropRetries(stored.number)),
                store.wake({ job: stored.number, at: again, kind: "retry", attempt: 1, context: null })
              ),
        note: `It waits until ${localTime(until, stored.schedule?.timezone ?? settings.timezone)} for the provider's limit.`,
        quiet: false
      }
    })

  return (claim: FireClaim, stored: StoredJob, work: Work): Effect.Effect<Plan, StateError> => {
    const { schedule } = stored
    if (work._tag !== "Failed" || schedule === null || !Schedule.isRecurring(schedule)) return Effect.succeed(none)
    if (work.failure.kind === "unreachable" && !work.reached && settings.cron.retryUnreachable)
      return unreachable(claim, stored)
    return work.failure.kind === "limit" && work.retryAfterMillis !== null
      ? held(stored, work.retryAfterMillis)
      : Effect.succeed(none)
  }
})
