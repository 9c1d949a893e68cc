/** When people are left alone with what can wait: a span of the day on the owner's clock. Pure. */
import { parse } from "../schedule/ClockTime.js"
import { localTime } from "../schedule/LocalTime.js"

export interface QuietHours {
  /** Seconds after midnight. */
  readonly from: number
  readonly until: number
}

/** Reads `22:00-07:00`; null when it is no span. */
export const read = (text: string): QuietHours | null => {
  const [first = "", second = "", ...more] = text.split("-")
  const [from, until] = [parse(first), parse(second)]
  return more.length > 0 || from === null || until === null || from === until ? null : { from, until }
}

/** Is it quiet at an instant, in a zone? A span that ends before it begins goes over midnight. */
export const at = (hours: QuietHours | null, millis: number, timezone: string): boolean => {
  if (hours === null) return false
  const time = parse(localTime(millis, timezone).slice(11)) ?? 0
  return hours.from < hours.until ? time >= hours.from && time < hours.until : time >= hours.from || time < hours.until
}
