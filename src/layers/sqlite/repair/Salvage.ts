/**
 * Brings every row of a damaged table that a key still leads to into a sound one. The driver reads no pages, only rows:
 * so the table is read from both ends, then from places in between, and at last by the keys that its indexes name.
 */
import type Sqlite from "better-sqlite3"
import { between, compare, type Key } from "./Keys.js"

export interface TableReport {
  readonly table: string
  readonly rows: number
  /** Stretches of rows of which nothing could be read, and rows that only an index still knows of. */
  readonly unreadable: number
  /** Rows that could be read and that the sound table does not take: what they say is damaged. */
  readonly refused: number
}

/** Places that are looked at inside unreadable stretches of one table, at most. */
const mostProbes = 4_000

/** Keys of a stretch of numbered rows that are asked for one by one, at most. */
const mostKeys = 200_000n

interface Shape {
  readonly table: string
  readonly columns: ReadonlyArray<string>
  readonly keys: ReadonlyArray<string>
  /** Which of the key columns are texts; the others are whole numbers. */
  readonly texts: ReadonlyArray<boolean>
  /** Numbered rows; else a table without row numbers. */
  readonly numbered: boolean
}

interface Stretch {
  readonly low: Key | null
  readonly high: Key | null
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const columnsOf = (db: Sqlite.Database, table: string): ReadonlyArray<{ name: string; type: string; pk: number }> =>
  db
    .prepare<[string], { name: string; type: string; pk: number }>("SELECT name, type, pk FROM pragma_table_info(?)")
    .all(table)

const shapeOf = (damaged: Sqlite.Database, sound: Sqlite.Database, table: string): Shape => {
  const known = new Set(columnsOf(damaged, table).map((column) => column.name))
  const columns = columnsOf(sound, table)
  const withoutRowid = sound
    .prepare<[string], { wr: number }>("SELECT wr FROM pragma_table_list WHERE name = ?")
    .all(table)
    .some(({ wr }) => wr === 1)
  const keys = columns.filter((column) => column.pk > 0).toSorted((a, b) => a.pk - b.pk)
  return {
    table,
    columns: columns.filter((column) => known.size === 0 || known.has(column.name)).map((column) => column.name),
    keys: withoutRowid ? keys.map((column) => column.name) : ["rowid"],
    texts: withoutRowid ? keys.map((column) => column.type !== "INTEGER") : [false],
    numbered: !withoutRowid
  }
}

/** Copies what can be read of `table`, and says how much that was. Both databases stay as open as they were. */
export const salvage = (damaged: Sqlite.Database, sound: Sqlite.Database, table: string): TableReport => {
  const shape = shapeOf(damaged, sound, table)
  const keyList = shape.keys.map((name) => (name === "rowid" ? "rowid" : quoted(name))).join(", ")
  const columnList = shape.columns.map(quoted).join(", ")
  const insert = sound.prepare(
    `INSERT OR IGNORE INTO ${quoted(table)} (${shape.numbered ? "rowid, " : ""}${columnList})
     VALUES (${[...(shape.numbered ? ["?"] : []), ...shape.columns.map(() => "?")].join(", ")})`
  )
  const isThere = sound.prepare(
    `SELECT 1 FROM ${quoted(table)} WHERE (${keyList}) = (${shape.keys.map(() => "?").join(", ")})`
  )
  let rows = 0
  let refused = 0

  const keep = (row: ReadonlyArray<unknown>, key: Key): void => {
    const values = row.slice(shape.keys.length)
    const taken = insert.run(...(shape.numbered ? [key[0], ...values] : values)).changes === 1
    if (taken) rows += 1
    else if (isThere.get(...key) === undefined) refused += 1
  }

  /**
   * Reads in one direction from a place, keeps what comes, and answers the last key before something is wrong. Where
   * `until` is a row that was read from the other side it `meets` that very row, or there is one between them that is
   * not what it was. Of two keys that do not follow one another either may be the wrong one: neither counts as reached.
   */
  const read = (
    where: string,
    params: ReadonlyArray<unknown>,
    direction: "ASC" | "DESC",
    from: Key | null,
    until: Key | null,
    meets = false
  ): { readonly last: Key | null; readonly whole: boolean } => {
    let last = from
    let before = from
    let beyond: Key | null = null
    const forward = direction === "ASC" ? 1 : -1
    try {
      const order = shape.keys.map((name) => `${name === "rowid" ? "rowid" : quoted(name)} ${direction}`).join(", ")
      const statement = damaged
        .prepare<Array<unknown>>(
          `SELECT ${keyList}, ${columnList} FROM ${quoted(table)} NOT INDEXED ${where === "" ? "" : `WHERE ${where}`} ORDER BY ${order}`
        )
        .raw()
        .safeIntegers()
      for (const row of statement.iterate(...params)) {
        if (!Array.isArray(row)) return { last, whole: false }
        const key: Key = row.slice(0, shape.keys.length)
        if (beyond !== null) return { last, whole: compare(key, beyond) * forward > 0 }
        const past = until === null ? -1 : compare(key, until) * forward
        if (past === 0 || (past > 0 && meets)) return { last, whole: past === 0 }
        if (past > 0) {
          // The end, or a wrong key before it: what comes next tells.
          beyond = key
          continue
        }
        if (last !== null && compare(key, last) * forward <= 0) return { last: before, whole: false }
        keep(row, key)
        before = last
        last = key
      }
      return { last, whole: true }
    } catch {
      return { last, whole: false }
    }
  }
  const marks = `(${shape.keys.map(() => "?").join(", ")})`
  const upFrom = (low: Key | null, high: Key | null) =>
    read(low === null ? "" : `(${keyList}) > ${marks}`, low ?? [], "ASC", low, high)
  const downFrom = (high: Key | null, low: Key | null) =>
    read(high === null ? "" : `(${keyList}) < ${marks}`, high ?? [], "DESC", high, low, low !== null)
  /** A comparison with a place that may be the first columns of a key only. */
  const against = (operator: ">=" | "<", place: Key): string => {
    const names = shape.keys.slice(0, place.length).map((name) => (name === "rowid" ? "rowid" : quoted(name)))
    return `(${names.join(", ")}) ${operator} (${names.map(() => "?").join(", ")})`
  }

  const unread = (low: Key | null, high: Key | null): ReadonlyArray<Stretch> => {
    const up = upFrom(low, high)
    if (up.whole) return []
    const down = downFrom(high, up.last)
    return down.whole ? [] : [{ low: up.last, high: down.last }]
  }

  const probe = ({ high, low }: Stretch): ReadonlyArray<Stretch> | null => {
    const middle = between(low, high, shape.texts)
    if (middle === null) return null
    const up = read(against(">=", middle), middle, "ASC", null, high)
    const down = read(against("<", middle), middle, "DESC", null, low)
    return [
      ...(down.whole ? [] : [{ low, high: down.last ?? middle }]),
      ...(up.whole ? [] : [{ low: up.last ?? middle, high }])
    ]
  }

  let waiting = unread(null, null)
  const left: Array<Stretch> = []
  // The widest first: with a bound on the places, none is left out altogether.
  for (let probes = 0; waiting.length > 0;) {
    const next: Array<Stretch> = []
    for (const stretch of waiting) {
      const parts = probes < mostProbes ? probe(stretch) : null
      probes += 1
      if (parts === null) left.push(stretch)
      else next.push(...parts)
    }
    waiting = next
  }

  const lookUp = lookup(
    damaged,
    `SELECT ${keyList}, ${columnList} FROM ${quoted(table)} NOT INDEXED WHERE (${keyList}) = ${marks}`
  )
  const ask = (key: Key): void => {
    if (isThere.get(...key) !== undefined) return
    const row = lookUp(key)
    if (row !== null) keep(row, key)
  }
  if (shape.numbered)
    for (const { high, low } of left) {
      const [from, to] = [low?.[0], high?.[0]]
      if (typeof from !== "bigint" || typeof to !== "bigint" || to - from > mostKeys) continue
      for (let key = from + 1n; key < to; key++) ask([key])
    }
  // A page may have lost rows and still read well: what its indexes know of them is asked for too.
  const missing = new Map<string, Key>()
  for (const { fetch, key } of namedByIndexes(damaged, sound, table, keyList, columnList, marks)) {
    ask(key)
    // A row between two pages without numbers lies above them: a search by key alone goes past it, into a damaged page.
    if (!shape.numbered && isThere.get(...key) === undefined) {
      const row = fetch()
      if (row !== null) keep(row, key)
    }
    if (isThere.get(...key) === undefined) missing.set(key.map(String).join("\u0000"), key)
  }
  const within = ({ high, low }: Stretch, key: Key): boolean =>
    (low === null || compare(key, low) > 0) && (high === null || compare(key, high) < 0)
  const elsewhere = [...missing.values()].filter((key) => !left.some((stretch) => within(stretch, key)))
  return { table, rows, unreadable: joined(left) + elsewhere.length, refused }
}

/** How many stretches there are when those that touch count as one. */
const joined = (stretches: ReadonlyArray<Stretch>): number => {
  const sorted = stretches.toSorted((a, b) => (a.low === null ? -1 : b.low === null ? 1 : compare(a.low, b.low)))
  return sorted.filter(({ low }, index) => {
    const before = sorted[index - 1]?.high
    return before === undefined || before === null || low === null || compare(low, before) !== 0
  }).length
}

/** The row that `query` finds, null where there is none or it cannot be read. */
const lookup = (db: Sqlite.Database, query: string) => {
  let statement: Sqlite.Statement | null = null
  return (params: ReadonlyArray<unknown>): ReadonlyArray<unknown> | null => {
    try {
      statement ??= db.prepare(query).raw().safeIntegers()
      const row: unknown = statement.get(...params)
      return Array.isArray(row) ? row : null
    } catch {
      return null
    }
  }
}

/** A row that an index knows of, and its way through that index. */
interface Named {
  readonly key: Key
  readonly fetch: () => ReadonlyArray<unknown> | null
}

/** The keys that a table's indexes have, as far as they can be read from either end. */
const namedByIndexes = (
  damaged: Sqlite.Database,
  sound: Sqlite.Database,
  table: string,
  keyList: string,
  columnList: string,
  marks: string
): ReadonlyArray<Named> => {
  const indexes = sound
    .prepare<[string], { name: string; sql: string | null }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
    )
    .all(table)
  const found: Array<Named> = []
  for (const { name, sql } of indexes) {
    const condition = /\sWHERE\s([\s\S]*)$/i.exec(sql ?? "")?.[1]
    const columns = /\(([\s\S]*?)\)(?:\s+WHERE|\s*$)/i.exec(sql ?? "")?.[1] ?? keyList
    const first = columns.split(",")[0]?.trim() ?? keyList
    const source = `FROM ${quoted(table)} INDEXED BY ${quoted(name)} WHERE ${condition ?? "TRUE"}`
    const through = lookup(
      damaged,
      `SELECT ${keyList}, ${columnList} ${source} AND ${first} = ? AND (${keyList}) = ${marks}`
    )
    for (const direction of ["ASC", "DESC"])
      try {
        const rows = damaged
          .prepare(`SELECT ${first}, ${keyList} ${source} ORDER BY ${first} ${direction}`)
          .raw()
          .safeIntegers()
        for (const row of rows.iterate())
          if (Array.isArray(row)) found.push({ key: row.slice(1), fetch: () => through(row) })
      } catch {
        // It is damaged from here on; what it named so far counts.
      }
  }
  return found
}
