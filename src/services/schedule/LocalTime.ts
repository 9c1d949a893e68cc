/** An instant as the clock on the wall says it. Pure. */
import { ofDayNumber } from "./Civil.js"
import * as ClockTime from "./ClockTime.js"
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
