/**
 * A cron expression of five fields, or six with seconds first, as sets of bits (decision 11), and its occurrences on a
 * wall clock that never changes. Wall times are seconds since 1970-01-01 00:00 of that clock; zones are for
 * {@link ZonedTimes}. Weekdays are 0 (Sunday) to 6, 7 is Sunday too; `L`, `L-3`, `LW`, `15W` in the day field and `5L`,
 * `5#2` in the weekday field. Day and weekday both given mean either one, as everywhere but in the oldest crons.
 */
import { Either } from "effect"
import { dayNumber, daysInMonth, ofDayNumber, weekday } from "./Civil.js"
import * as Field from "./CronField.js"
import { type ScheduleInvalid, invalid } from "./ScheduleInvalid.js"

/** `next[i]`: the smallest value ≥ i, or -1; `below[i]`: how many values are < i. */
interface Unit {
  readonly next: Int8Array
  readonly below: Uint8Array
}

export interface CronExpression {
  readonly seconds: Unit
  readonly minutes: Unit
  readonly hours: Unit
  /** Occurrences on a day that matches. */
  readonly perDay: number
  /** Bits 1 to 12. */
  readonly months: number
  /** Bits 1 to 31; null when any day will do. */
  readonly days: number | null
  /** How many days before the month's last; 0 for `L`. */
  readonly fromLast: ReadonlyArray<number>
  readonly lastWorkday: boolean
  /** The workday nearest to these days. */
  readonly nearWorkday: ReadonlyArray<number>
  /** Days of a month that begins on Sunday … Saturday which fall on a wanted weekday; null when any weekday will do. */
  readonly weekdays: ReadonlyArray<number> | null
  readonly nthWeekday: ReadonlyArray<{ readonly weekday: number; readonly nth: number }>
  readonly lastWeekday: ReadonlyArray<number>
  /** Neither the minute nor the hour begins with `*`: meant for a time of day, also on the days when clocks change (decision 12). */
  readonly fixed: boolean
}

const unit = (size: number, values: ReadonlyArray<number>): Unit => {
  const next = new Int8Array(size + 1).fill(-1)
  const below = new Uint8Array(size + 1)
  const wanted = new Set(values)
  for (let i = size - 1; i >= 0; i--) next[i] = wanted.has(i) ? i : (next[i + 1] ?? -1)
  for (let i = 0; i < size; i++) below[i + 1] = (below[i] ?? 0) + (wanted.has(i) ? 1 : 0)
  return { next, below }
}

const bits = (values: ReadonlyArray<number>): number => values.reduce((mask, value) => mask | (1 << value), 0)

const isAny = (text: string): boolean => text === "*" || text === "?"

type Days = Pick<CronExpression, "days" | "fromLast" | "lastWorkday" | "nearWorkday">

const days = (text: string): Either.Either<Days, ScheduleInvalid> =>
  Either.gen(function* () {
    if (isAny(text)) return { days: null, fromLast: [], lastWorkday: false, nearWorkday: [] }
    const numbers: Array<number> = []
    const fromLast: Array<number> = []
    const nearWorkday: Array<number> = []
    let lastWorkday = false
    for (const part of text.split(",")) {
      const back = /^L(?:-(\d{1,2}))?$/i.exec(part)
      const near = /^(\d{1,2})W$/i.exec(part)
      if (/^LW$/i.test(part)) lastWorkday = true
      else if (back !== null) {
        const distance = Number(back[1] ?? 0)
        if (distance > 30)
          return yield* Either.left(invalid(Field.pathOf(Field.day), part, "no month has so many days before its last"))
        fromLast.push(distance)
      } else if (near !== null) nearWorkday.push(yield* Field.value(Field.day, near[1] ?? ""))
      else numbers.push(...(yield* Field.item(Field.day, part)))
    }
    return { days: bits(numbers), fromLast, lastWorkday, nearWorkday }
  })

type Weekdays = Pick<CronExpression, "weekdays" | "nthWeekday" | "lastWeekday">

/** The days 1 to 31 of a month that begins on `first` which fall on a weekday of `mask`. */
const pattern = (first: number, mask: number): number => {
  let found = 0
  for (let day = 1; day <= 31; day++) if ((mask >> ((first + day - 1) % 7)) & 1) found |= 1 << day
  return found
}

const everyWeekday = 0b111_1111

const weekdays = (text: string): Either.Either<Weekdays, ScheduleInvalid> =>
  Either.gen(function* () {
    if (isAny(text)) return { weekdays: null, nthWeekday: [], lastWeekday: [] }
    const numbers: Array<number> = []
    const nthWeekday: Array<{ readonly weekday: number; readonly nth: number }> = []
    const lastWeekday: Array<number> = []
    for (const part of text.split(",")) {
      const [, name, nth] = /^([^#]+)#(.*)$/.exec(part) ?? []
      const last = /^(\d|[a-z]{3})L$/i.exec(part)?.[1]
      if (name !== undefined) {
        const day = (yield* Field.value(Field.weekday, name)) % 7
        if (!/^[1-5]$/.test(nth ?? ""))
          return yield* Either.left(
            invalid(
              Field.pathOf(Field.weekday),
              part,
              "after # stands which of the month's: 1 to 5, or write 5L for its last"
            )
          )
        nthWeekday.push({ weekday: day, nth: Number(nth) })
      } else if (last !== undefined) lastWeekday.push((yield* Field.value(Field.weekday, last)) % 7)
      else if (/^L$/i.test(part))
        return yield* Either.left(
          invalid(Field.pathOf(Field.weekday), part, "the last of which weekday? 5L is the month's last Friday")
        )
      else numbers.push(...(yield* Field.item(Field.weekday, part)).map((day) => day % 7))
    }
    const mask = bits(numbers) & everyWeekday
    return {
      weekdays: [0, 1, 2, 3, 4, 5, 6].map((first) => pattern(first, mask)),
      nthWeekday,
      lastWeekday
    }
  })

/** Whether it ever happens: the calendar repeats itself after 400 years. */
const happens = (cron: CronExpression): boolean => next(cron, 946_684_800) !== null

export const parse = (text: string): Either.Either<CronExpression, ScheduleInvalid> =>
  Either.gen(function* () {
    const fields = text.trim().split(/\s+/)
    if (fields.length < 5 || fields.length > 6)
      return yield* Either.left(
        invalid(
          "schedule",
          text,
          `a cron expression has five fields (minute hour day month weekday), or six with seconds first; this one has ${fields.length}`
        )
      )
    const [s, m, h, d, mo, w] = fields.length === 6 ? fields : ["0", ...fields]
    const seconds = yield* Field.values(Field.second, s ?? "")
    const minutes = yield* Field.values(Field.minute, m ?? "")
    const hours = yield* Field.values(Field.hour, h ?? "")
    const onDays = yield* days(d ?? "")
    const inMonths = yield* Field.values(Field.month, mo ?? "")
    const onWeekdays = yield* weekdays(w ?? "")
    const cron: CronExpression = {
      seconds: unit(60, seconds),
      minutes: unit(60, minutes),
      hours: unit(24, hours),
      perDay: new Set(seconds).size * new Set(minutes).size * new Set(hours).size,
      months: bits(inMonths),
      ...onDays,
      ...onWeekdays,
      fixed: !(m ?? "").startsWith("*") && !(h ?? "").startsWith("*")
    }
    return happens(cron) ? cron : yield* Either.left(invalid("schedule", text, "never happens: no such day exists"))
  })

/** The workday nearest to a day without leaving its month: Saturday goes back, Sunday on. */
const nearestWorkday = (day: number, first: number, length: number): number => {
  const on = (first + day - 1) % 7
  if (on === 6) return day === 1 ? 3 : day - 1
  if (on === 0) return day === length ? day - 2 : day + 1
  return day
}

/** The days of a month that match, as bits 1 to 31. */
export const daysOf = (cron: CronExpression, year: number, month: number): number => {
  const length = daysInMonth(year, month)
  const first = weekday(dayNumber(year, month, 1))
  const all = length === 31 ? ~1 : (1 << (length + 1)) - 2
  let onDay = cron.days ?? 0
  for (const back of cron.fromLast) if (back < length) onDay |= 1 << (length - back)
  if (cron.lastWorkday) onDay |= 1 << nearestWorkday(length, first, length)
  for (const day of cron.nearWorkday) if (day <= length) onDay |= 1 << nearestWorkday(day, first, length)
  if (cron.weekdays === null) return cron.days === null ? all : onDay & all
  let onWeekday = cron.weekdays[first] ?? 0
  for (const { nth, weekday } of cron.nthWeekday) {
    const day = 1 + ((weekday - first + 7) % 7) + (nth - 1) * 7
    if (day <= length) onWeekday |= 1 << day
  }
  for (const wanted of cron.lastWeekday) onWeekday |= 1 << (length - ((first + length - 1 - wanted + 7) % 7))
  return (cron.days === null ? onWeekday : onDay | onWeekday) & all
}

const lowest = (mask: number): number => 31 - Math.clz32(mask & -mask)

/** The first time of day ≥ `time`, in seconds; -1 when the day has none. */
const timeFrom = (cron: CronExpression, time: number): number => {
  const { hours, minutes, seconds } = cron
  const startHour = (time / 3_600) | 0
  const startMinute = ((time / 60) | 0) % 60
  let hour = hours.next[startHour] ?? -1
  if (hour === startHour) {
    let minute = minutes.next[startMinute] ?? -1
    if (minute === startMinute) {
      const second = seconds.next[time % 60] ?? -1
      if (second !== -1) return hour * 3_600 + minute * 60 + second
      minute = minutes.next[startMinute + 1] ?? -1
    }
    if (minute !== -1) return hour * 3_600 + minute * 60 + (seconds.next[0] ?? 0)
    hour = hours.next[startHour + 1] ?? -1
  }
  return hour === -1 ? -1 : hour * 3_600 + (minutes.next[0] ?? 0) * 60 + (seconds.next[0] ?? 0)
}

const calendarMonths = 400 * 12

/** The first occurrence ≥ `wall`; null when there is none in the 400 years after which the calendar repeats itself. */
export const next = (cron: CronExpression, wall: number): number | null => {
  const startDay = Math.floor(wall / 86_400)
  const time = timeFrom(cron, wall - startDay * 86_400)
  let { day, month, year } = ofDayNumber(time === -1 ? startDay + 1 : startDay)
  for (let months = 0; months <= calendarMonths; months++) {
    if ((cron.months >> month) & 1) {
      const found = daysOf(cron, year, month) & (-1 << day)
      if (found !== 0) {
        const number = dayNumber(year, month, lowest(found))
        return number * 86_400 + (number === startDay ? time : timeFrom(cron, 0))
      }
    }
    month = month === 12 ? 1 : month + 1
    if (month === 1) year += 1
    day = 1
  }
  return null
}

const timesBefore = (cron: CronExpression, time: number): number => {
  const { hours, minutes, seconds } = cron
  const hour = (time / 3_600) | 0
  const minute = ((time / 60) | 0) % 60
  const perMinute = seconds.below[60] ?? 0
  const perHour = perMinute * (minutes.below[60] ?? 0)
  const inHour =
    (minutes.below[minute] ?? 0) * perMinute + (minutes.next[minute] === minute ? (seconds.below[time % 60] ?? 0) : 0)
  return (hours.below[hour] ?? 0) * perHour + (hours.next[hour] === hour ? inHour : 0)
}

const bitCount = (mask: number): number => {
  let left = mask
  let count = 0
  for (; left !== 0; left &= left - 1) count += 1
  return count
}

const matches = (cron: CronExpression, number: number): boolean => {
  const { day, month, year } = ofDayNumber(number)
  return ((cron.months >> month) & 1) === 1 && ((daysOf(cron, year, month) >> day) & 1) === 1
}

/** How many days match from the first of a month to before a day. */
const daysBefore = (cron: CronExpression, year: number, month: number, day: number): number =>
  (cron.months >> month) & 1 ? bitCount(daysOf(cron, year, month) & ~(-1 << day)) : 0

/** How many occurrences there are from `from` to before `to`, month by month. */
export const count = (cron: CronExpression, from: number, to: number): number => {
  if (to <= from) return 0
  const [fromDay, toDay] = [Math.floor(from / 86_400), Math.floor(to / 86_400)]
  const [start, end] = [ofDayNumber(fromDay), ofDayNumber(toDay)]
  let found = -daysBefore(cron, start.year, start.month, start.day)
  for (let { year, month } = start; year < end.year || (year === end.year && month < end.month);) {
    if ((cron.months >> month) & 1) found += bitCount(daysOf(cron, year, month))
    month = month === 12 ? 1 : month + 1
    if (month === 1) year += 1
  }
  found += daysBefore(cron, end.year, end.month, end.day)
  const before = matches(cron, fromDay) ? timesBefore(cron, from - fromDay * 86_400) : 0
  const after = matches(cron, toDay) ? timesBefore(cron, to - toDay * 86_400) : 0
  return found * cron.perDay - before + after
}

/** Whether two occurrences may be less than a minute apart. */
export const isWithinMinute = (cron: CronExpression): boolean => (cron.seconds.below[60] ?? 0) > 1
