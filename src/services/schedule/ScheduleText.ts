/**
 * Schedules as people and models write them (cron-delivery.md 1.4 as changed by decision 11), and back. Pure.
 *
 * In this order: a `CRON_TZ=Area/City` prefix; `@daily` and its like; days and a time (`weekdays at 9am`, `mon and thu
 * 18:30`) or a day of the month (`monthly on the 31st at 9`); `every 30m`, `every 2d at 09:00`; a cron expression; an ISO
 * time; a time of day (`9am`, `tomorrow at 9`), `in 10 minutes`, or just `10m`, for once.
 */
import { Either } from "effect"
import { dayNumber, daysInMonth, ofDayNumber } from "./Civil.js"
import * as ClockTime from "./ClockTime.js"
import * as CronExpression from "./CronExpression.js"
import * as Duration from "./Duration.js"
import type { Schedule } from "./Schedule.js"
import * as Schedules from "./Schedule.js"
import { type ScheduleInvalid, invalid } from "./ScheduleInvalid.js"
import * as TimeZone from "./TimeZone.js"
import * as ZonedTimes from "./ZonedTimes.js"

export interface Context {
  /** Epoch milliseconds. */
  readonly now: number
  /** The configured zone, for a schedule without one of its own. */
  readonly zone: string
  /** The job's own zone, by its option. */
  readonly timezone: string | null
  /** Whether a run wakes the agent: then at most once a minute (decision 11). */
  readonly wakesAgent: boolean
}

type Parsed<A = Schedule> = Either.Either<A, ScheduleInvalid>
interface Zoned {
  readonly timezone: string
  readonly ownZone: boolean
}

const forms =
  "write it as one of: 30m or 1h30m (once, from now), tomorrow at 9am (once), every 30m, every 1d at 09:00, weekdays at 9am, " +
  "monthly on the 1st at 9am, 0 9 * * 1-5 (cron), @daily, 2027-01-31T09:00 (once)"

const refuse = (found: string, detail: string) => Either.left(invalid("schedule", found, detail))

const aliases: { readonly [name: string]: string } = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *"
}

const alias = (text: string): Parsed<string> => {
  const every = /^@every\s+(.+)$/i.exec(text)
  if (every !== null) return Either.right(`every ${every[1]}`)
  const expression = aliases[text.toLowerCase()]
  if (expression !== undefined) return Either.right(expression)
  return refuse(text, `is none of ${Object.keys(aliases).join(", ")}`)
}

const dayNames: ReadonlyArray<RegExp> = [
  /^sun(?:days?)?$/i,
  /^mon(?:days?)?$/i,
  /^tue(?:s|sdays?)?$/i,
  /^wed(?:s|nesdays?)?$/i,
  /^thu(?:r|rs|rsdays?)?$/i,
  /^fri(?:days?)?$/i,
  /^sat(?:urdays?)?$/i
]

const dayWords: ReadonlyArray<readonly [word: RegExp, weekdays: string]> = [
  [/^(?:day|daily|everyday)$/i, "*"],
  [/^weekdays?$/i, "1-5"],
  [/^weekends?$/i, "0,6"]
]

/** Seconds only when there are any: five fields else. */
const atTime = (time: number, weekdays: string): string => {
  const fields = `${Math.floor(time / 60) % 60} ${Math.floor(time / 3_600)} * * ${weekdays}`
  return time % 60 === 0 ? fields : `${time % 60} ${fields}`
}

/** `weekdays at 9am` as an expression; null when the text is not of this form, or is an interval (`every day`). */
const onDays = (text: string): Parsed<string> | null => {
  const words = text
    .replace(/^every\s+/i, "")
    .split(/[\s,]+/)
    .filter((word) => word !== "")
  const keyword = dayWords.find(([word]) => word.test(words[0] ?? ""))
  const days = new Set<number>()
  let index = 0
  if (keyword !== undefined) index = 1
  else
    for (; index < words.length; index++) {
      const day = dayNames.findIndex((name) => name.test(words[index] ?? ""))
      if (day !== -1) days.add(day)
      else if (!/^(?:and|&)$/i.test(words[index] ?? "") || days.size === 0) break
    }
  if (keyword === undefined && days.size === 0) return null
  if (/^at$/i.test(words[index] ?? "")) index += 1
  const rest = words.slice(index).join(" ")
  const weekdays = keyword?.[1] ?? [...days].sort((a, b) => a - b).join(",")
  const time = ClockTime.parse(rest)
  if (time !== null) return Either.right(atTime(time, weekdays))
  if (weekdays === "*" && rest === "") return null
  return rest === ""
    ? refuse(text, `needs a time of day: ${text.trim()} at 9am`)
    : refuse(rest, "is no time of day; write it like 09:00, 9am or noon")
}

const monthlyForms: ReadonlyArray<RegExp> = [
  /^(?:monthly|(?:every|each)\s+month)\b(?:\s+on\b)?(?:\s+the\b)?(?<days>.*)$/i,
  /^(?:on\s+)?the\s+(?<days>.*?)\s+(?:day\s+)?of\s+(?:the|every|each)\s+month\b(?<time>.*)$/i
]

/** `monthly on the 1st and 15th at 9am` as an expression, on the days that a month has; null when the text is not of this form. */
const onMonthDays = (text: string): Parsed<string> | null => {
  const found = monthlyForms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined)
  if (found === undefined) return null
  const [, listed = "", clock = ""] =
    /^((?:[\s,]|and\b|day\b|(?:last|\d{1,2}(?:st|nd|rd|th))\b)*)(?:at\b)?(.*)$/i.exec(
      `${found["days"] ?? ""} ${found["time"] ?? ""}`
    ) ?? []
  const days = [...listed.matchAll(/last|\d+/gi)].map(([day]) => (/last/i.test(day) ? "L" : String(Number(day))))
  const time = ClockTime.parse(clock)
  if (time === null)
    return clock.trim() === "" && days.length === 0 && /month\s*$|^monthly$/i.test(text)
      ? null
      : refuse(text, "is not understood; write it like monthly on the 1st at 9am, or monthly on the last day at 18:00")
  if (days.some((day) => day !== "L" && (Number(day) < 1 || Number(day) > 31)))
    return refuse(text, "names a day that no month has")
  return Either.right(
    atTime(time, "*").replace(/\* \* \*$/, `${days.length === 0 ? "1" : [...new Set(days)].join(",")} * *`)
  )
}

/** The first time of day of the wall clock after now. */
const anchorDay = (time: number, zone: Zoned, now: number): number => {
  const daily: Schedule = { kind: "days", days: 1, time, anchorDay: 0, ...zone }
  const at = Schedules.next(daily, now) ?? now
  // A skipped time of day happens a little later, never on another date that exists.
  return Math.floor((at / 1_000 + TimeZone.of(zone.timezone).at(at / 1_000).offset) / 86_400)
}

const least = (seconds: number, wakesAgent: boolean, text: string): Parsed<number> =>
  wakesAgent && seconds < 60
    ? refuse(text, "a job that wakes the agent needs at least 60s; a script alone (no agent) may take 1s")
    : Either.right(seconds)

const cron = (expression: string, zone: Zoned, context: Context, text: string): Parsed =>
  Either.flatMap(CronExpression.parse(expression), (parsed) =>
    Either.map(least(CronExpression.isWithinMinute(parsed) ? 1 : 60, context.wakesAgent, text), () => ({
      kind: "cron",
      expression: expression.trim().split(/\s+/).join(" "),
      ...zone
    }))
  )

const every = (rest: string, zone: Zoned, context: Context, text: string): Parsed => {
  const [, length = rest, clock] = /^(.*\S)\s+at\s+(.+)$/i.exec(rest) ?? []
  return Either.flatMap(Duration.parse(length), (seconds) => {
    if (clock === undefined)
      return Either.map(least(seconds, context.wakesAgent, text), () => ({
        kind: "interval",
        seconds,
        anchor: context.now,
        ...zone
      }))
    const time = ClockTime.parse(clock)
    if (time === null) return refuse(clock, "is no time of day; write it like 09:00, 9am or noon")
    if (seconds % 86_400 !== 0) return refuse(text, "only whole days have a time of day: every 2d at 09:00")
    if (seconds === 86_400) return cron(atTime(time, "*"), zone, context, text)
    return Either.right({
      kind: "days",
      days: seconds / 86_400,
      time,
      anchorDay: anchorDay(time, zone, context.now),
      ...zone
    })
  })
}

const isoForm =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T\s](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i

/** How late a single time may be and still be taken, in milliseconds (decision 15). */
export const oncePastMillis = 120_000

/** A single ISO time, as epoch milliseconds; without an offset it is one of the zone's wall clock. */
export const instant = (text: string, timezone: string): Parsed<number> => {
  const found = isoForm.exec(text)
  if (found === null)
    return refuse(text, "is no ISO time; write it like 2027-01-31T09:00, with Z or +01:00 behind for a fixed offset")
  const [, year, month, day, hour, minute, second] = found.map(Number)
  const [y = 0, mo = 0, d = 0, h = 0, m = 0, s = 0] = [year, month, day, hour, minute, second].map((n) => n || 0)
  if (mo < 1 || mo > 12 || d < 1 || d > daysInMonth(y, mo)) return refuse(text, "names a date that does not exist")
  if (h > 23 || m > 59 || s > 59) return refuse(text, "names a time of day that does not exist")
  const wall = dayNumber(y, mo, d) * 86_400 + h * 3_600 + m * 60 + s
  const millis = Number((found[7] ?? "").padEnd(3, "0").slice(0, 3))
  const offset = found[8]
  if (offset === undefined) {
    const once = { fixed: true, next: (from: number) => (from <= wall ? wall : null), count: () => 0 }
    const at = ZonedTimes.next(once, TimeZone.of(timezone), wall - 2 * 86_400)
    return at === null ? refuse(text, `names a date that ${timezone} left out`) : Either.right(at * 1_000 + millis)
  }
  const [, sign, hours = "0", minutes = "0"] = /^([+-])(\d{2}):?(\d{2})?$/.exec(offset) ?? []
  const ahead = (Number(hours) * 3_600 + Number(minutes) * 60) * (sign === "-" ? -1 : 1)
  if (Number(hours) > 14 || Number(minutes) > 59) return refuse(text, "has an offset that no place has")
  return Either.right((wall - ahead) * 1_000 + millis)
}

const spoken = (millis: number): string => new Date(millis).toISOString().replace(".000Z", "Z")

const iso = (text: string, zone: Zoned, now: number): Parsed =>
  Either.flatMap(instant(text, zone.timezone), (at) =>
    at < now - oncePastMillis
      ? refuse(
          text,
          `is ${spoken(at)}, which is past; a single time may be at most 2 minutes ago (now: ${spoken(now)})`
        )
      : Either.right({ kind: "once", at, ...zone })
  )

/** `9am`, `at 9`, `tomorrow at noon`: the next such time of the wall clock; null when the text is not of this form. */
const atOnce = (text: string, zone: Zoned, now: number): Parsed | null => {
  const [, at, before, middle, after] =
    /^(at\s+)?(?:(today|tomorrow)\b(?:\s+at\b)?)?(.*?)(?:\s+(today|tomorrow))?$/i.exec(text.trim()) ?? []
  const day = (before ?? after)?.toLowerCase()
  const clock = (middle ?? "").trim()
  const time = ClockTime.parse(clock)
  if (day !== undefined && clock === "") return refuse(text, `needs a time of day: ${day} at 9am`)
  // A bare number is a time of day only where something says so.
  if (time === null || (day === undefined && at === undefined && /^\d+$/.test(clock))) return null
  if (day === undefined) {
    const daily: Schedule = { kind: "days", days: 1, time, anchorDay: 0, ...zone }
    return Either.right({ kind: "once", at: Schedules.next(daily, now) ?? now, ...zone })
  }
  const wall = now / 1_000 + TimeZone.of(zone.timezone).at(now / 1_000).offset
  const date = ofDayNumber(Math.floor(wall / 86_400) + (day === "tomorrow" ? 1 : 0))
  const two = (value: number): string => String(value).padStart(2, "0")
  return iso(`${date.year}-${two(date.month)}-${two(date.day)}T${ClockTime.format(time)}`, zone, now)
}

/** Five fields or more, or fewer with a star among them: then what is missing can be said. */
const looksLikeCron = (text: string): boolean => {
  const fields = text.split(/\s+/)
  if (/[a-z]/i.test(fields[0] ?? "")) return false
  const isField = (field: string): boolean => /^[a-z\d*,/#?-]+$/i.test(field)
  return fields.length >= 5
    ? fields.slice(0, 5).every(isField) && /[\d*]/.test(text)
    : fields.length >= 2 && text.includes("*") && fields.every(isField)
}

const decide = (text: string, zone: Zoned, context: Context): Parsed => {
  const days = onDays(text)
  if (days !== null) return Either.flatMap(days, (expression) => cron(expression, zone, context, text))
  const monthly = onMonthDays(text)
  if (monthly !== null) return Either.flatMap(monthly, (expression) => cron(expression, zone, context, text))
  const repeated = /^every\s+(.+)$/i.exec(text)?.[1]
  if (repeated !== undefined) return every(repeated, zone, context, text)
  const later = /^in\s+(.+)$/i.exec(text)?.[1]
  if (later === undefined && looksLikeCron(text)) return cron(text, zone, context, text)
  if (/^\d{4}-\d{1,2}-\d{1,2}/.test(text) || /^\d{4}-?\d.*T/.test(text)) return iso(text, zone, context.now)
  const once = later === undefined ? atOnce(text, zone, context.now) : null
  if (once !== null) return once
  const length = later ?? (Duration.looksLike(text) ? text : undefined)
  if (length === undefined) return refuse(text, `is no schedule; ${forms}`)
  return Either.flatMap(Duration.parse(length), (seconds) =>
    Either.map(least(seconds, context.wakesAgent, text), () => ({
      kind: "once",
      at: context.now + seconds * 1_000,
      ...zone
    }))
  )
}

/** What `CRON_TZ=` names in front of a text, and what stands behind it. */
const prefixed = (text: string): { readonly named: string | undefined; readonly rest: string } => {
  const [, named, rest = text] = /^(?:CRON_)?TZ=(\S*)\s*(.*)$/is.exec(text) ?? []
  return { named, rest }
}

/** The zone that a schedule is in: one in the text, one by option (not two that differ), or the configured one. */
export const zoneOf = (text: string, context: Pick<Context, "zone" | "timezone">): Parsed<Zoned> =>
  Either.gen(function* () {
    const { named } = prefixed(text.trim())
    const own = context.timezone === null ? null : yield* TimeZone.check(context.timezone)
    const inText = named === undefined ? null : yield* TimeZone.check(named, "schedule.CRON_TZ")
    if (own !== null && inText !== null && own !== inText)
      return yield* Either.left(
        invalid("timezone", own, `differs from CRON_TZ=${inText} in the schedule; give one of them`)
      )
    return { timezone: inText ?? own ?? context.zone, ownZone: (inText ?? own) !== null }
  })

/** @returns a schedule that has an occurrence to come, or what is wrong with the text. */
export const parse = (text: string, context: Context): Parsed =>
  Either.gen(function* () {
    const trimmed = text.trim()
    if (trimmed === "") return yield* refuse(text, `is empty; ${forms}`)
    if (trimmed.length > 500) return yield* refuse(text, `is too long for a schedule; ${forms}`)
    const { rest } = prefixed(trimmed)
    const zone = yield* zoneOf(trimmed, context)
    if (rest === "") return yield* refuse(text, `has a time zone and nothing behind it; ${forms}`)
    return yield* decide(rest.startsWith("@") ? yield* alias(rest) : rest, zone, context)
  })

/** What a text meant when it was taken, also where nothing of it is to come any more; null when it is no schedule. */
export const reread = (text: string, timezone: string): Schedule | null =>
  Either.getOrNull(parse(text, { now: 0, zone: timezone, timezone: null, wakesAgent: false }))

/** A schedule as text that {@link parse} takes again, its zone apart. */
export const format = (schedule: Schedule): string => {
  switch (schedule.kind) {
    case "once":
      return spoken(schedule.at)
    case "interval":
      return `every ${Duration.format(schedule.seconds)}`
    case "cron":
      return schedule.expression
    case "days":
      return `every ${Duration.format(schedule.days * 86_400)} at ${ClockTime.format(schedule.time)}`
  }
}
