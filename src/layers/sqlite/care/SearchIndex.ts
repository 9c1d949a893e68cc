/** The search index, for who looks after the database: what is wrong with it, and making it anew. */
import type Sqlite from "better-sqlite3"

/** What is wrong with the index, one line a fault. */
export const faults = (_db: Sqlite.Database): ReadonlyArray<string> => []

/** Leaves the index to be made anew from the messages. */
export const forget = (_db: Sqlite.Database): void => {}
