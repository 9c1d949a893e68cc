/**
 * The offsets of an IANA zone, read once through Intl and kept: four years take under a millisecond, and a lookup after
 * that some nanoseconds. What is kept here is what the platform would say again, so it is no state that anybody could see.
 */
import { Either, Option } from "effect"
import { near } from "../operation/Spelling.js"
import { type ScheduleInvalid, invalid } from "./ScheduleInvalid.js"

/** A stretch of time of one offset. All in seconds; an offset is what is added to UTC to get the wall clock. */
export interface Segment {
  readonly start: number
  /** Exclusive. */
  readonly end: number
  readonly offset: number
  /** The offset just before `start`: smaller where wall times were skipped, greater where they come again. */
  readonly before: number
}

export interface TimeZone {
  readonly name: string
  /** The stretch that holds an instant (epoch seconds). */
  readonly at: (seconds: number) => Segment
}

/** 2^27 seconds, a little over four years. */
const blockSeconds = 134_217_728
/** No zone has two changes nearer to each other than this (Recife's of October 2000 are a week apart). */
const probeSeconds = 3 * 86_400
const mostBlocks = 64

/**
 * The years 100 and 9999, in seconds: outside of them Intl and Date write years in other ways, and beyond ±8.64e12 there is
 * no date at all. Zones keep the offset there that they have at these.
 */
const earliest = -59_011_459_200
const latest = 253_370_764_800

const offsets = (name: string): ((seconds: number) => number) => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric"
  })
  return (asked) => {
    const seconds = Math.min(latest, Math.max(earliest, asked))
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] =
      format
        .format(seconds * 1_000)
        .match(/\d+/g)
        ?.map(Number) ?? []
    return Date.UTC(year, month - 1, day, hour, minute, second) / 1_000 - seconds
  }
}

/** The first second of the offset that holds at `to`; `from` has another. */
const change = (offset: (seconds: number) => number, from: number, to: number): number => {
  const target = offset(to)
  let low = from
  let high = to
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offset(middle) === target) high = middle
    else low = middle
  }
  return high
}

const block = (offset: (seconds: number) => number, index: number): ReadonlyArray<Segment> => {
  const from = index * blockSeconds
  const to = from + blockSeconds
  const found: Array<Segment> = []
  let start = from
  let before = offset(from - 1)
  let current = offset(from)
  for (let at = from; at < to;) {
    const next = Math.min(at + probeSeconds, to)
    const other = offset(next)
    if (other !== current) {
      const changed = change(offset, at, next)
      if (changed >= to) break
      found.push({ start, end: changed, offset: current, before })
      start = changed
      before = current
      current = other
    }
    at = next
  }
  found.push({ start, end: to, offset: current, before })
  return found
}

const utc: TimeZone = (() => {
  const always: Segment = { start: -Infinity, end: Infinity, offset: 0, before: 0 }
  return { name: "UTC", at: () => always }
})()

const load = (name: string): TimeZone => {
  if (/^(?:utc|etc\/utc)$/i.test(name)) return { ...utc, name }
  const offset = offsets(name)
  const blocks = new Map<number, ReadonlyArray<Segment>>()
  let last: Segment = { start: 0, end: 0, offset: 0, before: 0 }
  const at = (seconds: number): Segment => {
    if (seconds >= last.start && seconds < last.end) return last
    const index = Math.floor(seconds / blockSeconds)
    let segments = blocks.get(index)
    if (segments === undefined) {
      if (blocks.size >= mostBlocks) blocks.clear()
      segments = block(offset, index)
      blocks.set(index, segments)
    }
    for (const segment of segments)
      if (seconds < segment.end) {
        last = segment
        return segment
      }
    return last
  }
  return { name, at }
}

const mostZones = 1_024
const zones = new Map<string, TimeZone>()

/** @throws RangeError for a name that the platform does not know: a stored name was checked by {@link check}. */
export const of = (name: string): TimeZone => {
  const known = zones.get(name)
  if (known !== undefined) return known
  const zone = load(name)
  if (zones.size >= mostZones) zones.clear()
  zones.set(name, zone)
  return zone
}

const resolved = Option.liftThrowable(
  (name: string) => new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone
)

/**
 * A zone's name as it may be stored: an IANA name in whatever letters. One that the platform knows under another name
 * (`Asia/Kolkata`) stays as it was written.
 */
export const check = (name: string, path = "timezone"): Either.Either<string, ScheduleInvalid> => {
  const text = name.trim()
  const example = "such as Europe/Berlin or America/New_York"
  if (text === "") return Either.left(invalid(path, name, `names no time zone; write an IANA name ${example}`))
  if (/^[+-]|^(?:GMT|UTC)[+-]/i.test(text))
    return Either.left(invalid(path, name, `is an offset, which knows no summer time; write an IANA name ${example}`))
  return Option.match(resolved(text), {
    onNone: () => {
      const [close] = near(text, Intl.supportedValuesOf("timeZone"), 3)
      const hint = close === undefined ? `write an IANA name ${example}` : `did you mean ${close}?`
      return Either.left(invalid(path, name, `is no time zone that this system knows; ${hint}`))
    },
    onSome: (canonical) => Either.right(canonical.toLowerCase() === text.toLowerCase() ? canonical : text)
  })
}
