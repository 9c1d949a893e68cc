/** What is said once to each owner: which of their jobs a clock that was ahead had put off. */
import { Effect } from "effect"
import type { Route } from "../../services/delivery/TargetResolver.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Job } from "../../services/schedule/Job.js"
import { JobStore, type Righted } from "../../services/schedule/JobStore.js"
import { localTime } from "../../services/schedule/LocalTime.js"
import type { RunDelivery } from "./RunDelivery.js"

/** Less is not worth a message; the log has it. */
const leastMillis = 3_600_000
const mostNames = 5

interface Notice {
  readonly job: Job
  readonly lane: Route
  readonly lines: Array<string>
}

const textOf = (lines: ReadonlyArray<string>): string => {
  const more = lines.length - mostNames
  return [
    "⚠ The clock of this machine was ahead and has been put right. What ran meanwhile is not run again; these jobs are due at their own time:",
    ...lines.slice(0, mostNames),
    ...(more > 0 ? [`and ${more} more: \`hermes cron list\``] : [])
  ].join("\n")
}

export const make = (post: RunDelivery) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const store = yield* JobStore

    return (righted: ReadonlyArray<Righted>) =>
      Effect.gen(function* () {
        const found = new Map<string, Notice>()
        for (const { from, job: number, to } of righted) {
          if (from !== null && from - to < leastMillis) continue
          const stored = yield* store.ofRun(number)
          if (stored === null || stored.removed || stored.job.state !== "scheduled") continue
          const { job, schedule } = stored
          const lane = yield* post.failureRoute(job)
          const key = JSON.stringify(lane.targets.map(({ address }) => address))
          const zone = schedule?.timezone ?? settings.timezone
          const notice = found.get(key) ?? { job, lane, lines: [] }
          notice.lines.push(
            `• "${job.name}": ${localTime(to, zone)}${from === null ? "; it had been given up as missed" : `, no longer ${localTime(from, zone)}`}`
          )
          found.set(key, notice)
        }
        return [...found.values()].map(({ job, lane, lines }) => ({ job, lane, text: textOf(lines) }))
      })
  })
