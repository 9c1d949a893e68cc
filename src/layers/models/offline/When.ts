/** Times in plain English as schedules: repeated ones by rules, single ones through chrono-node. */
import { DateTime, Effect, Either, Option } from "effect"
import * as Duration from "../../../services/schedule/Duration.js"

/** What is to be done when. */
export interface Plan {
  /** As the scheduler reads it: five cron fields, `every 30m`, or an ISO instant. */
  readonly schedule: string
  /** The time in words. */
  readonly words: string
  /** What is left of the text. */
  readonly what: string
}

interface TimeOfDay {
  readonly hour: number
  readonly minute: number
}

const clock = "(?:at\\s+)?(?:(\\d{1,2})(?::(\\d{2}))?\\s*(am|pm|o'?clock)?|(noon|midday|midnight))"

const timeOfDay = (
  hour: string | undefined,
  minute: string | undefined,
  half: string | undefined,
  word: string | undefined
): TimeOfDay | null => {
  if (word !== undefined) return { hour: word.toLowerCase() === "midnight" ? 0 : 12, minute: 0 }
  if (hour === undefined) return null
  const number = Number(hour)
  const isHalf = half !== undefined && /^[ap]m$/i.test(half)
  if (isHalf && (number < 1 || number > 12)) return null
  const full = !isHalf ? number : half.toLowerCase() === "pm" ? (number % 12) + 12 : number % 12
  const minutes = minute === undefined ? 0 : Number(minute)
  return full > 23 || minutes > 59 ? null : { hour: full, minute: minutes }
}

const weekdays: ReadonlyArray<readonly [RegExp, number, string]> = [
  [/^sun/i, 0, "Sunday"],
  [/^mon/i, 1, "Monday"],
  [/^tue/i, 2, "Tuesday"],
  [/^wed/i, 3, "Wednesday"],
  [/^thu/i, 4, "Thursday"],
  [/^fri/i, 5, "Friday"],
  [/^sat/i, 6, "Saturday"]
]

const dayName =
  "(?:sun(?:day)?|mon(?:day)?|tue(?:s|sday)?|wed(?:s|nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?)s?"

const unit = "(?:weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)"
const interval = new RegExp(
  `\\b(?:(?:every|each)\\s+(?:(\\d{1,4}\\s*${unit}(?:(?:\\s*,)?\\s*(?:and\\s+)?\\d{1,4}\\s*${unit})*)|(other)\\s+(minute|hour|day|week)|(minute|min|hour|hr|week))|(hourly))\\b`,
  "i"
)
const days = new RegExp(
  `\\b(?:(?:every|each|on)\\s+)?(?:(daily|every\\s?day|each day)|(morning)|(evening)|(night)|(weekdays?)|(weekends?)|(${dayName}(?:\\s*(?:,|and|&)\\s*(?:and\\s+)?${dayName})*))\\b`,
  "i"
)
const monthly = /\b(?:every|each) month(?: on)?(?: the)?\s+(\d{1,2})(?:st|nd|rd|th)?\b|\b(monthly)\b/i
const atTime = new RegExp(`^[\\s,]*${clock}(?=[\\s,.!]|$)`, "i")
const laterTime = new RegExp(
  `\\bat\\s+(?:(\\d{1,2})(?::(\\d{2}))?\\s*(am|pm|o'?clock)?|(noon|midday|midnight))(?=[\\s,.!]|$)`,
  "i"
)

const two = (value: number): string => String(value).padStart(2, "0")
const spoken = ({ hour, minute }: TimeOfDay): string => `${two(hour)}:${two(minute)}`

/** Takes a time of day out of a text: right at `index`, or anywhere after an `at`. */
const takeTime = (text: string, index: number): { readonly time: TimeOfDay; readonly rest: string } | null => {
  const behind = text.slice(index)
  const near = atTime.exec(behind)
  const time = near === null ? null : timeOfDay(near[1], near[2], near[3], near[4])
  if (near !== null && time !== null) return { time, rest: text.slice(0, index) + behind.slice(near[0].length) }
  const far = laterTime.exec(text)
  const late = far === null ? null : timeOfDay(far[1], far[2], far[3], far[4])
  return far === null || late === null
    ? null
    : { time: late, rest: text.slice(0, far.index) + text.slice(far.index + far[0].length) }
}

/** What is to be done, without the words around it. */
const task = (text: string): string =>
  text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^(?:please |can you |could you )/i, "")
    .replace(/^[\s,]*(?:(?:remind|tell|ping|wake|message|send) me|say)\b[\s,:]*/i, "")
    .replace(/^(?:up\b[\s,]*)?(?:to|that|about|of)\s+/i, "")
    .replace(/^[\s,.;:-]+|[\s,;:-]+$/g, "")

const plan = (schedule: string, words: string, rest: string): Plan => ({ schedule, words, what: task(rest) })

const lead = new RegExp(
  `^\\s*(?:(?:please|can you|could you)\\s+)?(?:(?:remind|tell|ping|wake|message|send)\\s+me)?(?:\\s+up)?(?:\\s*${clock})?[\\s,]*$`,
  "i"
)

/** A time stands at the beginning or at the end; in the middle it belongs to the task ("take the daily pill"). */
const atEdge = (text: string, match: RegExpExecArray): boolean =>
  lead.test(text.slice(0, match.index)) ||
  /^[\s,.!]*(?:please)?[\s,.!]*$/i.test(text.slice(match.index + match[0].length).replace(atTime, ""))

const edge = (pattern: RegExp, text: string): RegExpExecArray | null => {
  const match = pattern.exec(text)
  return match !== null && atEdge(text, match) ? match : null
}

const without = (text: string, match: RegExpExecArray): string =>
  text.slice(0, match.index) + text.slice(match.index + match[0].length)

const everyInterval = (text: string): Plan | null => {
  const match = edge(interval, text)
  if (match === null) return null
  const [, length, , other, single = "hour"] = match
  const seconds = Option.getOrNull(
    Either.getRight(Duration.parse(length ?? (other === undefined ? single : `2 ${other}`)))
  )
  if (seconds === null) return null
  const rest = without(text, match)
  const every = `every ${Duration.words(seconds, true)}`
  const timed = seconds % 86_400 === 0 ? takeTime(rest, match.index) : null
  return timed === null
    ? plan(`every ${Duration.format(seconds)}`, every, rest)
    : plan(`every ${seconds / 86_400}d at ${spoken(timed.time)}`, `${every} at ${spoken(timed.time)}`, timed.rest)
}

const onDays = (text: string): Plan | null => {
  const match = edge(days, text)
  if (match === null) return null
  const [, daily, morning, evening, night, week, weekend, named] = match
  const repeats = /\b(?:every|each|daily)/i.test(match[0]) || /s$/i.test(named ?? week ?? weekend ?? "")
  if (!repeats) return null
  const numbers = (named ?? "")
    .split(/\s*(?:,|and|&)\s*/i)
    .flatMap((name) => weekdays.filter(([pattern]) => pattern.test(name.trim())))
  const timed = takeTime(without(text, match), match.index)
  const usual = morning !== undefined ? 8 : evening !== undefined ? 18 : night !== undefined ? 21 : 9
  const time = timed?.time ?? { hour: usual, minute: 0 }
  const [field, words] =
    daily !== undefined || morning !== undefined || evening !== undefined || night !== undefined
      ? ["*", "every day"]
      : week !== undefined
        ? ["1-5", "every weekday"]
        : weekend !== undefined
          ? ["0,6", "every Saturday and Sunday"]
          : [
              [...new Set(numbers.map(([, number]) => number))].sort((a, b) => a - b).join(","),
              `every ${numbers.map(([, , name]) => name).join(" and ")}`
            ]
  return plan(
    `${time.minute} ${time.hour} * * ${field}`,
    `${words} at ${spoken(time)}`,
    timed?.rest ?? without(text, match)
  )
}

const onDayOfMonth = (text: string): Plan | null => {
  const match = edge(monthly, text)
  if (match === null) return null
  const day = Number(match[1] ?? 1)
  if (day < 1 || day > 31) return null
  const timed = takeTime(without(text, match), match.index)
  const time = timed?.time ?? { hour: 9, minute: 0 }
  return plan(
    `${time.minute} ${time.hour} ${day} * *`,
    `on day ${day} of ${day > 28 ? "each month that has one" : "every month"} at ${spoken(time)}`,
    timed?.rest ?? without(text, match)
  )
}

/** A repeated time; null when the text names none. */
export const repeated = (text: string): Plan | null => onDayOfMonth(text) ?? everyInterval(text) ?? onDays(text)

const zoneOf = (timezone: string): DateTime.TimeZone =>
  Option.getOrElse(DateTime.zoneFromString(timezone), () => DateTime.zoneMakeOffset(0))

/** Nobody names a time behind that many characters, and the library's own time grows with their square. */
const longestPhrase = 1_000

/** As for any schedule: a hundred years. */
const farthestMillis = 36_525 * 86_400_000

/** In the morning, for a day without a time. */
const usualHour = 9

/** A single time to come; null when the text names none. The dates library is loaded here, at the first use. */
export const once = (text: string, nowMillis: number, timezone: string): Effect.Effect<Plan | null> =>
  Effect.map(
    Effect.promise(() => import("chrono-node")),
    (chrono) => {
      const zone = zoneOf(timezone)
      const now = DateTime.unsafeMakeZoned(nowMillis, { timeZone: zone })
      const reference = { instant: new Date(nowMillis), timezone: DateTime.zonedOffset(now) / 60_000 }
      const [found] = chrono.en.parse(text.slice(0, longestPhrase), reference, { forwardDate: true })
      // What is to happen again and again does not happen once because its time was not understood.
      if (found === undefined || /\b(?:every|each)\s+$/i.test(text.slice(0, found.index))) return null
      const { start } = found
      const part = (name: Parameters<typeof start.get>[0]): number => start.get(name) ?? 0
      const timed =
        start.isCertain("hour") || /\b(?:noon|midday|midnight|tonight|evening|morning|afternoon)\b/i.test(found.text)
      const isLength = /^in\b/i.test(found.text)
      const elapsed = start.isCertain("timezoneOffset")
      let at = DateTime.unsafeMakeZoned(
        {
          year: part("year"),
          month: part("month"),
          day: part("day"),
          hours: timed || isLength ? part("hour") : usualHour,
          minutes: timed || isLength ? part("minute") : 0,
          seconds: 0
        },
        { timeZone: zone, adjustForTimeZone: true }
      )
      if (elapsed) at = DateTime.unsafeMakeZoned(start.date(), { timeZone: zone })
      else if (DateTime.toEpochMillis(at) <= nowMillis && !start.isCertain("day") && !isLength)
        at = DateTime.add(at, { days: 1 })
      const distance = DateTime.toEpochMillis(at) - nowMillis
      if (distance <= 0 || distance > farthestMillis) return null
      const parts = DateTime.toParts(at)
      const sameDay = DateTime.formatIsoDate(at) === DateTime.formatIsoDate(now)
      return plan(
        DateTime.formatIso(at).replace(/\.\d{3}Z$/, "Z"),
        `${sameDay ? "today" : `on ${DateTime.formatIsoDate(at)}`} at ${two(parts.hours)}:${two(parts.minutes)}${parts.seconds === 0 ? "" : `:${two(parts.seconds)}`}`,
        text.slice(0, found.index).replace(/\b(?:on|at|by)\s*$/i, "") + text.slice(found.index + found.text.length)
      )
    }
  )
