/** Occurrences are accounted for: what a schedule asked for is in the books once, and what was begun is never begun again. */
import { Effect } from "effect"
import { everyMinutes } from "./Model.js"
import type { Telling } from "./Telling.js"
import { each, grouped, type Wrong } from "./Wrong.js"

const minute = 60_000
/** How often a job of an order that repeats is to run. */
const times = 3

/** A run is one turn: what was begun is never begun again. */
export const runs = (turns: ReadonlyArray<{ readonly depth: number; readonly marker: string }>): Wrong =>
  each(
    grouped(
      turns.filter(({ depth, marker }) => depth === 0 && marker.includes('"Cron"')),
      ({ marker }) => marker
    ),
    ([marker, all]) => (all.length === 1 ? null : `occurrences: the run ${marker} was begun ${all.length} times`)
  )

interface OccurrenceRow {
  readonly job: number
  readonly name: string
  readonly at: number
  readonly last: number
  readonly count: number
  readonly state: string
  readonly attempts: number
}

const query = `SELECT job, name, at, coalesce(last_at, at) AS last, count, occurrences.state, attempts
  FROM occurrences JOIN jobs ON jobs.number = job WHERE count > 0 ORDER BY occurrences.id`

/** What a job's rows reach over, by the time of its schedule. */
interface Books {
  readonly interval: number
  readonly booked: ReadonlySet<number>
  readonly setBack: ReadonlyArray<number>
}

/** The instants after `from` and before `to` that are in none of the rows. */
const missing = ({ booked, interval }: Books, from: number, to: number): ReadonlyArray<number> => {
  const instants: Array<number> = []
  for (let at = to - interval; at > from; at -= interval) if (!booked.has(at)) instants.push(at)
  return instants
}

/** As time went on: a stretch that was missed is written together with the run that makes up for it, and after it. */
const inOrder = (rows: ReadonlyArray<OccurrenceRow>, books: Books): ReadonlyArray<OccurrenceRow> =>
  rows.reduce<ReadonlyArray<OccurrenceRow>>((before, row) => {
    const last = before.at(-1)
    const isMadeUpFor =
      last !== undefined &&
      row.state === "missed" &&
      row.last < last.at &&
      missing(books, row.last, last.at).length === 0
    return isMadeUpFor ? [...before.slice(0, -1), row, last] : [...before, row]
  }, [])

/** The instants that are in none of the rows although their time came between these two. */
const lost = (before: OccurrenceRow, next: OccurrenceRow, books: Books): ReadonlyArray<number> => {
  if (next.at > before.last) return missing(books, before.last, next.at)
  // Where the clock was set back, what comes next is the first that was free then; it is seen at the tick after.
  const since = books.setBack.filter((at) => at < next.at).map((at) => missing(books, at + minute, next.at))
  return since.toSorted((one, other) => one.length - other.length)[0] ?? [next.at]
}

const ofRepeating = (rows: ReadonlyArray<OccurrenceRow>, interval: number, setBack: ReadonlyArray<number>): Wrong => {
  const booked = new Set<number>()
  const twice: Array<number> = []
  for (const { at, last } of rows)
    for (let instant = at; instant <= last; instant += interval) {
      // A stretch that was missed goes round what ran in it before the clock was set back.
      if (at === last && booked.has(instant)) twice.push(instant)
      booked.add(instant)
    }
  const name = rows[0]?.name ?? ""
  const counted = rows.reduce((sum, { count }) => sum + count, 0)
  // What was claimed is one of its runs, also where two deaths kept it from starting: a crash loses a run, it never adds one.
  const ran = rows.filter(({ attempts }) => attempts > 0).length
  const books = { interval, booked, setBack }
  const ordered = inOrder(rows, books)
  return [
    ...twice.map((at) => `occurrences: ${name} has ${new Date(at).toISOString()} twice`),
    ...(booked.size === counted
      ? []
      : [`occurrences: the rows of ${name} reach over ${booked.size} instants and count ${counted}`]),
    ...(ran === times ? [] : [`occurrences: ${name} was claimed ${ran} times, not ${times}`]),
    ...ordered.flatMap((next, index) => {
      const before = ordered[index - 1]
      const gone = before === undefined ? [] : lost(before, next, books)
      return gone.length === 0
        ? []
        : [`occurrences: ${name} has no row for ${gone.map((at) => new Date(at).toISOString()).join(", ")}`]
    })
  ]
}

/** Every instant that a schedule asked for is in exactly one row; of those as many ran as were to run. */
export const accounted = ({ orders, world }: Telling): Effect.Effect<Wrong> =>
  Effect.map(world.rows<OccurrenceRow>(query), (all) =>
    [...grouped(all, ({ job }) => job).values()].flatMap((rows) => {
      // A second one of the same name, by `/retry`, is `job 17 (2)`.
      const order = orders.get(Number(/\d+/.exec(rows[0]?.name ?? "")?.[0]))
      if (order === undefined) return []
      if (order.verb !== "once") return ofRepeating(rows, everyMinutes(order.argument) * minute, world.setBack)
      const counted = rows.reduce((sum, { count }) => sum + count, 0)
      return counted === 1 ? [] : [`occurrences: ${rows[0]?.name} is due once and has ${counted} in its books`]
    })
  )
