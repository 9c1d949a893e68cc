import { Clock, Effect, Option } from "effect"
import { Preview } from "../../../services/api/Jobs.js"
import { localTime } from "../../../services/schedule/LocalTime.js"
import * as Schedule from "../../../services/schedule/Schedule.js"
import * as ScheduleText from "../../../services/schedule/ScheduleText.js"
import * as ScheduleWords from "../../../services/schedule/ScheduleWords.js"
import { answer } from "../output.js"
import { configuredZone } from "./zone.js"

export interface Asked {
  /** How many instants. */
  readonly count: number
  /** An ISO time to begin from. */
  readonly from: Option.Option<string>
  /** The words of the schedule. */
  readonly schedule: ReadonlyArray<string>
  /** An IANA zone. */
  readonly zone: Option.Option<string>
}

/** Says when a schedule comes; fails with `ScheduleInvalid` for one that is none. */
export const upcoming = ({ count, from, schedule, zone }: Asked) =>
  Effect.gen(function* () {
    const configured = yield* configuredZone
    const timezone = Option.getOrNull(zone)
    const now = Option.isNone(from)
      ? yield* Clock.currentTimeMillis
      : yield* ScheduleText.instant(from.value, timezone ?? configured)
    const text = schedule.join(" ").trim()
    const parsed = yield* ScheduleText.parse(text, { now, zone: configured, timezone, wakesAgent: false })
    const preview: Preview = {
      schedule: text,
      timezone: parsed.timezone,
      words: ScheduleWords.words(parsed),
      next: Schedule.upcoming(parsed, now, count)
    }
    yield* answer(Preview, preview, ({ next, timezone, words }) => [
      `${words} (${timezone})`,
      ...next.map((at) => `${localTime(at, timezone)}  ${new Date(at).toISOString()}`),
      ...(next.length === 0 ? ["It does not come any more."] : [])
    ])
  })
