/** A schedule in words, as every answer about a job has them. Expressions are put in words by cronstrue. Pure. */
import cronstrue from "cronstrue"
import * as ClockTime from "./ClockTime.js"
import * as Duration from "./Duration.js"
import { localTime } from "./LocalTime.js"
import type { Schedule } from "./Schedule.js"

const mostExpressions = 1_024
const spoken = new Map<string, string>()

/** Many jobs share an expression, and putting one in words takes as long as a page of them. */
const expressionWords = (expression: string): string => {
  const known = spoken.get(expression)
  if (known !== undefined) return known
  const said = inWords(expression)
  if (spoken.size >= mostExpressions) spoken.clear()
  spoken.set(expression, said)
  return said
}

const said = (expression: string): string =>
  cronstrue.toString(expression, { use24HourTimeFormat: true, throwExceptionOnParseError: false })

const isAny = (field: string): boolean => field === "*" || field === "?"
const ordinals: { readonly [day: string]: string } = { "29": "29th", "30": "30th", "31": "31st" }

/** Not each month has all days: what is listed by number does not move to another day. */
const wherePresent = (days: string, month: string): string => {
  const listed = days.split(",")
  const late = listed.flatMap((day) => ordinals[day] ?? [])
  if (!isAny(month) || late.length === 0) return ""
  return listed.length === 1
    ? `, in months that have a ${late.join("")}`
    : `, the ${late.join(" and the ")} where there is one`
}

/**
 * cronstrue leaves "every day" to be understood when only a time of day is given, and says "and" of a day of the month
 * and one of the week, of which either is enough.
 */
const inWords = (expression: string): string => {
  const fields = expression.split(/\s+/)
  const time = fields.slice(0, -3).join(" ")
  const [day = "*", month = "*", weekday = "*"] = fields.slice(-3)
  const whole = said(expression)
  const base = said(`${time} * * *`)
  const part = (rest: string): string | null => {
    const text = said(`${time} ${rest}`)
    return text.startsWith(`${base}, `) ? text.slice(base.length + 2) : null
  }
  const [onDay, onWeekday] = [part(`${day} * *`), part(`* * ${weekday}`)]
  const inMonth = isAny(month) ? "" : part(`* ${month} *`)
  const present = wherePresent(day, month)
  const text = isAny(day)
    ? `${whole}${isAny(month) && isAny(weekday) && /^[\d, ]+$/.test(time) ? ", every day" : ""}`
    : isAny(weekday)
      ? `${whole}${present}`
      : onDay === null || onWeekday === null || inMonth === null
        ? whole.replace(", and on ", ", or on ")
        : `${base}, ${onDay}${present}, or ${onWeekday.replace(/^only /, "")}${inMonth === "" ? "" : `, ${inMonth}`}`
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`
}

/** Without the zone, which stands beside it. */
export const words = (schedule: Schedule): string => {
  switch (schedule.kind) {
    case "once":
      return `once, on ${localTime(schedule.at, schedule.timezone).replace(" ", " at ")}`
    case "interval":
      return `every ${Duration.words(schedule.seconds, true)}`
    case "cron":
      return expressionWords(schedule.expression)
    case "days":
      return `every ${Duration.words(schedule.days * 86_400, true)} at ${ClockTime.format(schedule.time)}`
  }
}
