/** Random expressions, zones and instants, most of the instants about a change of clocks. */
import * as FastCheck from "effect/FastCheck"
import * as TimeZone from "../../../../src/services/schedule/TimeZone.js"

/** Zones that change at midnight, by half an hour, by a whole day, around a fast, twice in summer, or never. */
export const zones = [
  "UTC",
  "America/New_York",
  "Europe/Berlin",
  "America/Santiago",
  "America/Sao_Paulo",
  "Asia/Beirut",
  "Africa/Cairo",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Africa/Casablanca",
  "Asia/Tehran",
  "America/St_Johns",
  "Antarctica/Troll",
  "Asia/Kolkata",
  "Asia/Gaza",
  "Europe/Dublin",
  "America/Havana",
  "Pacific/Easter"
]

const year = 31_556_952
const [from, to] = [28 * year, 68 * year]

export const changes = (zone: string): ReadonlyArray<TimeZone.Segment> => {
  const found: Array<TimeZone.Segment> = []
  for (let segment = TimeZone.of(zone).at(from); segment.end < to;) {
    segment = TimeZone.of(zone).at(segment.end)
    if (segment.before !== segment.offset) found.push(segment)
  }
  return found
}

const known = new Map(zones.map((zone) => [zone, changes(zone).map((segment) => segment.start)]))

const field = (least: number, most: number, names: ReadonlyArray<string> = []): FastCheck.Arbitrary<string> => {
  const value = FastCheck.integer({ min: least, max: most })
  const range = FastCheck.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
  return FastCheck.oneof(
    { weight: 5, arbitrary: FastCheck.constant("*") },
    { weight: 2, arbitrary: FastCheck.integer({ min: 2, max: Math.min(15, most - least) }).map((by) => `*/${by}`) },
    { weight: 5, arbitrary: value.map(String) },
    { weight: 2, arbitrary: range.map(([a, b]) => `${a}-${b}`) },
    { weight: 1, arbitrary: range.map(([a, b]) => (b - a > 2 ? `${a}-${b}/2` : `${a}-${b}`)) },
    {
      weight: 2,
      arbitrary: FastCheck.uniqueArray(value, { minLength: 2, maxLength: 4 }).map((all) =>
        all.sort((a, b) => a - b).join(",")
      )
    },
    ...(names.length === 0 ? [] : [{ weight: 1, arbitrary: FastCheck.constantFrom(...names) }])
  )
}

const any = FastCheck.constant("*")
const time = FastCheck.oneof(field(0, 23), field(0, 3), FastCheck.integer({ min: 0, max: 3 }).map(String))
const day = FastCheck.oneof(
  { weight: 6, arbitrary: field(1, 31) },
  { weight: 1, arbitrary: FastCheck.constantFrom("L", "LW") },
  { weight: 1, arbitrary: FastCheck.integer({ min: 1, max: 31 }).map((date) => `${date}W`) }
)
const weekday = FastCheck.oneof(
  { weight: 6, arbitrary: field(0, 6, ["MON", "sun", "Fri"]) },
  {
    weight: 1,
    arbitrary: FastCheck.tuple(FastCheck.integer({ min: 0, max: 6 }), FastCheck.integer({ min: 1, max: 5 })).map(
      ([on, nth]) => `${on}#${nth}`
    )
  },
  { weight: 1, arbitrary: FastCheck.integer({ min: 0, max: 6 }).map((on) => `${on}L`) }
)

const expression = FastCheck.tuple(
  FastCheck.oneof({ weight: 4, arbitrary: FastCheck.constant(null) }, { weight: 1, arbitrary: field(0, 59) }),
  field(0, 59),
  time,
  FastCheck.oneof(any, day),
  FastCheck.oneof(any, field(1, 12, ["JAN", "dec"])),
  FastCheck.oneof(any, weekday)
).map((fields) => fields.filter((each) => each !== null).join(" "))

export interface Triple {
  readonly expression: string
  readonly zone: string
  /** Epoch milliseconds. */
  readonly after: number
}

const instant = (zone: string): FastCheck.Arbitrary<number> => {
  const anywhere = FastCheck.integer({ min: from, max: to })
  const at = known.get(zone) ?? []
  if (at.length === 0) return anywhere
  const about = FastCheck.tuple(FastCheck.constantFrom(...at), FastCheck.integer({ min: -50_000, max: 22_000 })).map(
    ([change, distance]) => change + distance
  )
  return FastCheck.oneof({ weight: 2, arbitrary: anywhere }, { weight: 3, arbitrary: about })
}

export const triple: FastCheck.Arbitrary<Triple> = FastCheck.constantFrom(...zones).chain((zone) =>
  FastCheck.tuple(expression, instant(zone)).map(([expression, seconds]) => ({
    expression,
    zone,
    after: seconds * 1_000
  }))
)
