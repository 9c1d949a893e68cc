/** What a database's schema lacks beside that of a new one of its version. */
import type Sqlite from "better-sqlite3"

interface Entry {
  readonly type: string
  readonly name: string
  readonly tbl_name: string
  readonly sql: string
}

interface Column {
  readonly name: string
  readonly type: string
  readonly notnull: number
  readonly dflt_value: string | null
}

const entries = (db: Sqlite.Database): ReadonlyArray<Entry> =>
  db
    .prepare<[], Entry>(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    .all()

const columns = (db: Sqlite.Database, table: string): ReadonlyArray<Column> =>
  db.prepare<[string], Column>('SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)').all(table)

/** One thing that is missing, and the statement that adds it: nothing is ever taken away or changed. */
export interface Missing {
  readonly detail: string
  readonly sql: string
}

/** Tables first, then their columns, then what is made of them. */
export const missing = (db: Sqlite.Database, whole: Sqlite.Database): ReadonlyArray<Missing> => {
  const present = new Set(entries(db).map((entry) => `${entry.type} ${entry.name}`))
  const wanted = entries(whole)
  const absent = (types: ReadonlyArray<string>) =>
    wanted
      .filter((entry) => types.includes(entry.type) && !present.has(`${entry.type} ${entry.name}`))
      .map((entry) => ({ detail: `the ${entry.type} ${entry.name} is missing`, sql: entry.sql }))
  const added = wanted
    .filter((entry) => entry.type === "table" && present.has(`table ${entry.name}`))
    .flatMap(({ name }) => {
      const known = new Set(columns(db, name).map((column) => column.name))
      return columns(whole, name)
        .filter((column) => !known.has(column.name))
        .map((column) => ({
          detail: `the column ${name}.${column.name} is missing`,
          sql: `ALTER TABLE "${name}" ADD COLUMN "${column.name}" ${column.type}${column.notnull === 1 ? " NOT NULL" : ""}${column.dflt_value === null ? "" : ` DEFAULT ${column.dflt_value}`}`
        }))
    })
  return [...absent(["table"]), ...added, ...absent(["index", "trigger", "view"])]
}
