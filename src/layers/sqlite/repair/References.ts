/** References of rows to rows that are gone. */
import type Sqlite from "better-sqlite3"

/** The tables of rows. */
export const tables = (db: Sqlite.Database): ReadonlyArray<string> =>
  db
    .prepare<[], { name: string }>(
      `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`
    )
    .all()
    .map(({ name }) => name)

/** A message whose session is lost gets one; any other reference to what is lost is taken away. */
export const mend = (db: Sqlite.Database): number => {
  const made = db
    .prepare(
      `INSERT INTO sessions (id, source, started_at, last_activity_at, message_count)
       SELECT session_id, 'recovered', min(at), max(at), count(*) FROM messages
       WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = session_id) GROUP BY session_id`
    )
    .run().changes
  for (const table of tables(db)) {
    const keys = db
      .prepare<[string], { table: string; from: string; to: string; notnull: number }>(
        `SELECT k."table", k."from", k."to", c."notnull" FROM pragma_foreign_key_list(?) AS k
         JOIN pragma_table_info('${table}') AS c ON c.name = k."from"`
      )
      .all(table)
    for (const { from, notnull, table: parent, to } of keys) {
      const lost = `"${from}" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "${parent}" WHERE "${parent}"."${to}" = "${table}"."${from}")`
      if (notnull === 1) db.prepare(`DELETE FROM "${table}" WHERE ${lost}`).run()
      else db.prepare(`UPDATE "${table}" SET "${from}" = NULL WHERE ${lost}`).run()
    }
  }
  return made
}
