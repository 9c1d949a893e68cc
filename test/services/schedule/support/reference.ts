/**
 * Decision 12 read literally, as slowly as it says it: quarter of an hour by quarter of an hour along Intl's clock, with a
 * reader of expressions of its own. Nothing of src is used here.
 */

export interface Matcher {
  readonly second: (value: number) => boolean
  readonly minute: (value: number) => boolean
  readonly hour: (value: number) => boolean
  /** `last` is the month's last day. */
  readonly date: (year: number, month: number, day: number) => boolean
  readonly fixed: boolean
}

const names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

const number = (text: string): number => {
  const month = names.indexOf(text.toLowerCase())
  const day = days.indexOf(text.toLowerCase())
  return month !== -1 ? month + 1 : day !== -1 ? day : Number(text)
}

const field =
  (text: string, least: number) =>
  (value: number): boolean =>
    text.split(",").some((part) => {
      const [range = "", step = "1"] = part.split("/")
      if (range === "*") return (value - least) % Number(step) === 0
      const [a = "", b = a] = range.split("-")
      return value >= number(a) && value <= number(b) && (value - number(a)) % Number(step) === 0
    })

const utcDay = (year: number, month: number, day: number): Date => new Date(Date.UTC(year, month - 1, day))
const isWorkday = (date: Date): boolean => date.getUTCDay() !== 0 && date.getUTCDay() !== 6

const dayOfMonth = (text: string, year: number, month: number, day: number): boolean => {
  const last = utcDay(year, month + 1, 0).getUTCDate()
  if (text === "L") return day === last
  const near = text === "LW" ? last : text.endsWith("W") ? Number(text.slice(0, -1)) : null
  if (near === null) return field(text, 1)(day)
  if (near > last) return false
  for (const distance of [0, -1, 1, -2, 2]) {
    const candidate = near + distance
    if (candidate >= 1 && candidate <= last && isWorkday(utcDay(year, month, candidate))) return candidate === day
  }
  return false
}

const dayOfWeek = (text: string, year: number, month: number, day: number): boolean => {
  const on = utcDay(year, month, day).getUTCDay()
  const last = utcDay(year, month + 1, 0).getUTCDate()
  if (text.endsWith("L")) return on === number(text.slice(0, -1)) && day + 7 > last
  const [name = "", nth] = text.split("#")
  return nth === undefined ? field(text, 0)(on) : on === number(name) && Math.ceil(day / 7) === Number(nth)
}

export const matcher = (expression: string): Matcher => {
  const fields = expression.split(" ")
  const [s = "", m = "", h = "", d = "", mo = "", w = ""] = fields.length === 6 ? fields : ["0", ...fields]
  return {
    second: field(s, 0),
    minute: field(m, 0),
    hour: field(h, 0),
    date: (year, month, day) => {
      if (!field(mo, 1)(month)) return false
      if (w === "*") return d === "*" || dayOfMonth(d, year, month, day)
      if (d === "*") return dayOfWeek(w, year, month, day)
      return dayOfMonth(d, year, month, day) || dayOfWeek(w, year, month, day)
    },
    fixed: !m.startsWith("*") && !h.startsWith("*")
  }
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** What a clock in the zone shows, as if it were UTC, in seconds. */
const wallOf = (zone: string, seconds: number): number => {
  const clock =
    clocks.get(zone) ??
    new Intl.DateTimeFormat("en-CA", { timeZone: zone, hourCycle: "h23", dateStyle: "short", timeStyle: "medium" })
  clocks.set(zone, clock)
  return Date.parse(`${clock.format(seconds * 1_000).replace(", ", "T")}Z`) / 1_000
}

const quarter = 900

/** The first wall second of a span that matches, as seconds; null when none does. */
const firstIn = (matcher: Matcher, from: number, to: number): number | null => {
  for (let minute = Math.floor(from / 60) * 60; minute < to; minute += 60) {
    const at = new Date(minute * 1_000)
    if (!matcher.hour(at.getUTCHours()) || !matcher.minute(at.getUTCMinutes())) continue
    if (!matcher.date(at.getUTCFullYear(), at.getUTCMonth() + 1, at.getUTCDate())) continue
    for (let second = Math.max(minute, from); second < Math.min(minute + 60, to); second++)
      if (matcher.second(second % 60)) return second
  }
  return null
}

/** Whether a clock in the zone shows a date at all. */
const dateExists = (zone: string, wall: number, about: number): boolean => {
  for (let at = about - 172_800; at <= about + 172_800; at += quarter)
    if (Math.floor(wallOf(zone, at) / 86_400) === Math.floor(wall / 86_400)) return true
  return false
}

/** The first occurrence after an instant and before another (epoch milliseconds); null when there is none. */
export const next = (expression: string, zone: string, after: number, before: number): number | null => {
  const matches = matcher(expression)
  const start = Math.floor(after / 1_000) + 1
  let step = quarter
  for (let at = Math.floor(start / quarter) * quarter; at * 1_000 < before; at += step) {
    const wall = wallOf(zone, at)
    // Some change in the middle of a quarter: St. John's did at 00:01.
    step = at % quarter === 0 && wallOf(zone, at + quarter) - wall === quarter ? quarter : 60
    const previous = wallOf(zone, at - 1) + 1
    if (matches.fixed && wall > previous && at >= start) {
      // Skipped wall times happen now, those of dates that exist.
      for (let day = previous; day < wall; day = Math.floor(day / 86_400 + 1) * 86_400) {
        const end = Math.min(wall, Math.floor(day / 86_400 + 1) * 86_400)
        if (firstIn(matches, day, end) !== null && dateExists(zone, day, at)) return at * 1_000
      }
    }
    const from = wall + Math.max(0, start - at)
    const date = new Date(wall * 1_000)
    if (!matches.date(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate())) {
      if (!isChanging(zone, at)) at += untilMidnight(wall)
      continue
    }
    for (let found = firstIn(matches, from, wall + step); found !== null;) {
      const instant = at + found - wall
      if (!matches.fixed || !wasShown(zone, instant)) return instant * 1_000
      found = firstIn(matches, found + 1, wall + step)
    }
  }
  return null
}

/** Whether the zone's clock changes within the day to come. */
const isChanging = (zone: string, at: number): boolean => wallOf(zone, at + 86_400) - wallOf(zone, at) !== 86_400

/** Whole quarters until an hour before the next midnight, less the one that the loop adds. */
const untilMidnight = (wall: number): number =>
  Math.max(0, Math.floor((82_800 - (wall % 86_400)) / quarter) * quarter - quarter)

/** Whether the clock showed the same time before, in the day that went before. */
const wasShown = (zone: string, instant: number): boolean => {
  const wall = wallOf(zone, instant)
  for (const shift of [1_800, 3_600, 7_200, 10_800, 86_400]) if (wallOf(zone, instant - shift) === wall) return true
  return false
}
