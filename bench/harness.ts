/** What a family of rows gives back, and how it is shown: one line on the terminal, one row of BENCHMARKS.md. */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Something measured beside ours, in the same run: a raw limit or a peer. */
export interface Beside {
  readonly name: string
  readonly value: number
}

export interface Row {
  readonly what: string
  readonly unit: string
  readonly ours: number
  /** The first is the one that the target speaks of. */
  readonly beside: ReadonlyArray<Beside>
  /** Resident memory of our process, in MB; null where it says nothing. */
  readonly memory: number | null
  /** What was to be reached, in words, and whether it was. */
  readonly target: { readonly words: string; readonly met: boolean | null }
  readonly note?: string
}

export interface Context {
  /** Shorter everywhere, for a look while working; BENCHMARKS.md is not written. */
  readonly quick: boolean
  /** A folder that is removed in the end. */
  readonly folder: string
  readonly log: (text: string) => void
}

/** A family of rows: the default export of a module in `bench/rows`, found by its file's name. */
export interface Family {
  readonly title: string
  readonly run: (context: Context) => Promise<ReadonlyArray<Row>>
}

/** What came of a family. */
export interface Section {
  readonly name: string
  readonly title: string
  readonly rows: ReadonlyArray<Row>
  readonly problem: string | null
}

export const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

export const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)

/** As the program runs, without spans (`launch`). */
export const asLaunched = Effect.withTracerEnabled(false)

/** MB of the heap that something still holds. */
export const collect = (): number => {
  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc") as () => void
  gc()
  gc()
  return process.memoryUsage().heapUsed / 2 ** 20
}

/** Three digits that say something. */
export const shown = (value: number): string =>
  Number.isFinite(value)
    ? value >= 100
      ? Math.round(value).toLocaleString("en")
      : value >= 10
        ? value.toFixed(1)
        : value >= 1
          ? value.toFixed(2)
          : value.toFixed(3)
    : "–"

const beside = (row: Row): string =>
  row.beside.length === 0 ? "–" : row.beside.map(({ name, value }) => `${name} ${shown(value)}`).join(", ")

const ratio = (row: Row): string =>
  row.beside.length === 0 ? "–" : row.beside.map(({ value }) => `${shown(row.ours / value)} ×`).join(", ")

const verdict = ({ target: { met } }: Row): string => (met === null ? "shown" : met ? "yes" : "**no**")

/** The cells of a row, in the order of {@link columns}. */
const cells = (row: Row): ReadonlyArray<string> => [
  row.note === undefined ? row.what : `${row.what} (${row.note})`,
  `${shown(row.ours)} ${row.unit}`,
  beside(row),
  ratio(row),
  row.memory === null ? "–" : `${Math.round(row.memory)} MB`,
  row.target.words,
  verdict(row)
]

const columns = ["what", "ours", "beside, same run", "ours / beside", "memory", "to reach", "reached"]

export const line = (row: Row): string => {
  const [what, ours, others, times, memory, words, reached] = cells(row)
  return `${what}: ${ours}; beside ${others} (${times}); memory ${memory}; to reach ${words}: ${reached?.replaceAll("*", "")}`
}

export const table = (rows: ReadonlyArray<Row>): string =>
  [columns, columns.map(() => "---"), ...rows.map(cells)].map((row) => `| ${row.join(" | ")} |`).join("\n")
