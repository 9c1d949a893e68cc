/**
 * When a job is due: once, at a fixed distance, on a cron expression, or every few days at a time of day. Plain data that
 * survives a row; what is due next is a pure function of it (decisions 11–13). Instants are epoch milliseconds.
 */
import { Schema } from "effect"
import { farthest } from "../operation/Instant.js"
import * as CronExpression from "./CronExpression.js"
import * as TimeZone from "./TimeZone.js"
import * as ZonedTimes from "./ZonedTimes.js"

const zoned = {
  /** The zone whose wall clock counts, and in which times are shown. */
  timezone: Schema.String,
  /** The job has a zone of its own; without, it follows the configured one: {@link rezone}. */
  ownZone: Schema.Boolean
}
const Millis = Schema.Int.pipe(Schema.between(-farthest, farthest))
const Positive = Schema.Int.pipe(Schema.positive())

export const Once = Schema.Struct({ kind: Schema.Literal("once"), at: Millis, ...zoned })

export const Interval = Schema.Struct({
  kind: Schema.Literal("interval"),
  seconds: Positive,
  /** Occurrences are a whole number of intervals after this instant, however long runs take (decision 13). */
  anchor: Millis,
  ...zoned
})

export const Cron = Schema.Struct({ kind: Schema.Literal("cron"), expression: Schema.String, ...zoned })

export const Days = Schema.Struct({
  kind: Schema.Literal("days"),
  days: Positive,
  /** Seconds after midnight. */
  time: Schema.Int.pipe(Schema.between(0, 86_399)),
  /** A date that is one of the days, as days since 1970-01-01. */
  anchorDay: Schema.Int,
  ...zoned
})

export const Schedule = Schema.Union(Once, Interval, Cron, Days).annotations({ identifier: "Schedule" })
export type Schedule = typeof Schedule.Type

/** How it stands in a row. */
export const Stored = Schema.parseJson(Schedule)

const modulo = (value: number, by: number): number => ((value % by) + by) % by

const everyDays = (schedule: typeof Days.Type): ZonedTimes.WallTimes => {
  const first = schedule.anchorDay * 86_400 + schedule.time
  const length = schedule.days * 86_400
  const next = (wall: number): number => wall + modulo(first - wall, length)
  return {
    fixed: true,
    next,
    count: (from, to) => (to <= from ? 0 : Math.max(0, Math.ceil((to - next(from)) / length)))
  }
}

const mostExpressions = 4_096
const expressions = new Map<string, ZonedTimes.WallTimes | null>()

/** Null for an expression that cannot be read: such a schedule is never due, which is for the job to tell. */
const onExpression = (text: string): ZonedTimes.WallTimes | null => {
  const known = expressions.get(text)
  if (known !== undefined) return known
  const parsed = CronExpression.parse(text)
  const times =
    parsed._tag === "Left"
      ? null
      : {
          fixed: parsed.right.fixed,
          next: (wall: number) => CronExpression.next(parsed.right, wall),
          count: (from: number, to: number) => CronExpression.count(parsed.right, from, to)
        }
  if (expressions.size >= mostExpressions) expressions.clear()
  expressions.set(text, times)
  return times
}

const wallTimes = (schedule: typeof Cron.Type | typeof Days.Type): ZonedTimes.WallTimes | null =>
  schedule.kind === "cron" ? onExpression(schedule.expression) : everyDays(schedule)

/** No schedule goes on beyond what a Date can be. */
const instant = (millis: number): number | null => (Math.abs(millis) <= farthest ? millis : null)

/**
 * The first occurrence strictly after an instant; null when there is none any more. The same schedule has the same
 * occurrences whatever it is asked: it never goes back, and never skips one.
 */
export const next = (schedule: Schedule, after: number): number | null => {
  switch (schedule.kind) {
    case "once":
      return schedule.at > after ? schedule.at : null
    case "interval": {
      const length = schedule.seconds * 1_000
      return instant(after + length - modulo(after - schedule.anchor, length))
    }
    default: {
      const times = wallTimes(schedule)
      const found =
        times === null ? null : ZonedTimes.next(times, TimeZone.of(schedule.timezone), Math.floor(after / 1_000) + 1)
      return found === null ? null : instant(found * 1_000)
    }
  }
}

/** When a job made now is due first: a single time may be a little past already (decision 15). */
export const first = (schedule: Schedule, now: number): number | null =>
  schedule.kind === "once" ? schedule.at : next(schedule, now)

/** The coming occurrences after an instant, `most` at the most. */
export const upcoming = (schedule: Schedule, after: number, most: number): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let at = next(schedule, after); at !== null && found.length < most; at = next(schedule, at)) found.push(at)
  return found
}

/** A stretch of occurrences. */
export interface Occurrences {
  readonly first: number
  readonly last: number
  readonly count: number
}

const countBetween = (schedule: typeof Cron.Type | typeof Days.Type, first: number, until: number): number => {
  const times = wallTimes(schedule)
  const zone = TimeZone.of(schedule.timezone)
  return times === null ? 0 : ZonedTimes.count(times, zone, first / 1_000, Math.floor(until / 1_000) + 1)
}

/**
 * What falls after one instant and not after another, `after` < occurrence ≤ `until`: counted by arithmetic, so a year of
 * seconds costs no more than a year of days. Null when nothing does.
 */
export const occurrences = (schedule: Schedule, after: number, until: number): Occurrences | null => {
  const start = next(schedule, after)
  if (start === null || start > until) return null
  const second = next(schedule, start)
  if (second === null || second > until || schedule.kind === "once") return { first: start, last: start, count: 1 }
  if (schedule.kind === "interval") {
    const length = schedule.seconds * 1_000
    const more = Math.floor((until - start) / length)
    return { first: start, last: start + more * length, count: more + 1 }
  }
  // The last one is where `next` steps over `until`: halved down to it.
  let last = second
  let low = Math.floor(second / 1_000)
  let high = Math.floor(until / 1_000)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const found = next(schedule, middle * 1_000 - 1)
    if (found !== null && found <= until) {
      last = found
      low = Math.max(middle, Math.floor(found / 1_000))
    } else high = middle - 1
  }
  return { first: start, last, count: countBetween(schedule, start, until) }
}

export const isRecurring = (schedule: Schedule): boolean => schedule.kind !== "once"

/** The distance of the next two occurrences, in milliseconds; null when there are no two any more. */
export const period = (schedule: Schedule, after: number): number | null => {
  if (schedule.kind === "interval") return schedule.seconds * 1_000
  const [one, two] = upcoming(schedule, after, 2)
  return one === undefined || two === undefined ? null : two - one
}

/** A schedule without a zone of its own, after the configured one changed: it keeps its hour, in the new zone. */
export const rezone = (schedule: Schedule, timezone: string): Schedule =>
  schedule.ownZone || schedule.timezone === timezone ? schedule : { ...schedule, timezone }
