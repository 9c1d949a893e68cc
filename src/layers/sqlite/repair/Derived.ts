/** What is made from other rows: a repair does not copy it, it is made anew from what was saved. */
import type Sqlite from "better-sqlite3"

/** Virtual tables and the tables behind them. */
export const tables = (db: Sqlite.Database): ReadonlySet<string> =>
  new Set(
    db
      .prepare<[], { name: string }>("SELECT name FROM pragma_table_list WHERE type IN ('virtual', 'shadow')")
      .all()
      .map(({ name }) => name)
  )
