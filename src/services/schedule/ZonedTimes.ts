/**
 * Occurrences on a wall clock as instants of a zone, through its changes of clocks (decision 12). All in seconds. Pure.
 *
 * Meant for a time of day (`fixed`): wall times that a change skips happen together, once, at its end, unless their whole
 * date was skipped; of those that come twice only the first counts. Otherwise instants come as the clock shows them.
 */
import type { Segment, TimeZone } from "./TimeZone.js"

/** What happens on a clock without zone. */
export interface WallTimes {
  readonly fixed: boolean
  /** The first occurrence ≥ `wall`; null when there is none. */
  readonly next: (wall: number) => number | null
  /** How many there are from `from` to before `to`. */
  readonly count: (from: number, to: number) => number
}

/** No two offsets of a zone are further apart: the date line moved by a day. */
const mostOffset = 2 * 86_400

/** Where the wall clock of a segment begins to count. */
const firstWall = (segment: Segment, from: number, fixed: boolean): number => {
  const wall = Math.max(from, segment.start) + segment.offset
  return fixed && segment.before > segment.offset ? Math.max(wall, segment.start + segment.before) : wall
}

/** The wall times that the beginning of a segment skipped, less those of dates that never were; null when it skipped none. */
const skipped = (segment: Segment): { readonly from: number; readonly to: number } | null => {
  if (segment.before >= segment.offset) return null
  const from = segment.start + segment.before
  const to = segment.start + segment.offset
  const wholeFrom = Math.ceil(from / 86_400) * 86_400
  const wholeTo = Math.floor(to / 86_400) * 86_400
  if (wholeFrom >= wholeTo) return { from, to }
  return wholeFrom > from ? { from, to: wholeFrom } : { from: wholeTo, to }
}

const fallsIn = (times: WallTimes, gap: { readonly from: number; readonly to: number } | null): boolean => {
  if (gap === null || gap.from >= gap.to) return false
  const found = times.next(gap.from)
  return found !== null && found < gap.to
}

/** The first instant ≥ `from`; null when there is none. */
export const next = (times: WallTimes, zone: TimeZone, from: number): number | null => {
  for (let at = from; ;) {
    const segment = zone.at(at)
    if (times.fixed && at <= segment.start && fallsIn(times, skipped(segment))) return segment.start
    const wall = times.next(firstWall(segment, at, times.fixed))
    if (wall === null) return null
    const found = wall - segment.offset
    if (found < segment.end) return found
    // What lies further off than offsets can differ need not be walked to, unless the clock goes back first.
    const following = zone.at(segment.end)
    at = following.before > following.offset ? segment.end : Math.max(segment.end, found - mostOffset)
  }
}

/** How many instants there are from `from` to before `to`, a segment at a time. */
export const count = (times: WallTimes, zone: TimeZone, from: number, to: number): number => {
  let total = 0
  for (let at = from; at < to;) {
    const segment = zone.at(at)
    const end = Math.min(segment.end, to)
    const wall = firstWall(segment, at, times.fixed)
    total += times.count(wall, end + segment.offset)
    if (times.fixed && at <= segment.start) {
      const onTheDot = times.count(segment.start + segment.offset, segment.start + segment.offset + 1)
      if (onTheDot === 0 && fallsIn(times, skipped(segment))) total += 1
    }
    at = end
  }
  return total
}
