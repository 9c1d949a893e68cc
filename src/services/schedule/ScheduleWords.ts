/** A schedule in words, as every answer about a job has them. Expressions are put in words by cronstrue. Pure. */
import cronstrue from "cronstrue"
import * as ClockTime from "./ClockTime.js"
import { ofDayNumber } from "./Civil.js"
import * as Duration from "./Duration.js"
import type { Schedule } from "./Schedule.js"
import * as TimeZone from "./TimeZone.js"

const two = (value: number): string => String(value).padStart(2, "0")

/** An instant on the wall clock of a zone: `2026-11-29 14:00`. */
export const localTime = (millis: number, timezone: string): string => {
  const seconds = Math.floor(millis / 1_000)
  const wall = seconds + TimeZone.of(timezone).at(seconds).offset
  const day = Math.floor(wall / 86_400)
  const { day: date, month, year } = ofDayNumber(day)
  return `${year}-${two(month)}-${two(date)} ${ClockTime.format(wall - day * 86_400)}`
}

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

/** cronstrue leaves "every day" to be understood when only a time of day is given. */
const inWords = (expression: string): string => {
  const said = cronstrue.toString(expression, { use24HourTimeFormat: true, throwExceptionOnParseError: false })
  const daily = /(?:^|\s)[\d,]+ \* \* \*$/.test(expression)
  return `${said.charAt(0).toLowerCase()}${said.slice(1)}${daily ? ", every day" : ""}`
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
