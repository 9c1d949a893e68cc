/** Plain connections for the processes that look after a database file. */
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { CareFailed } from "../../../services/state/Care.js"
import { detailOf, isBusy } from "../SqliteFailure.js"

/** How long a statement waits for who holds the file. */
const patienceMillis = 20_000

/** Does something with a connection of its own, which is closed afterwards. */
export const using = <A>(file: string, options: Sqlite.Options, use: (db: Sqlite.Database) => A): A => {
  const db = new Sqlite(file, { timeout: patienceMillis, fileMustExist: true, ...options })
  try {
    return use(db)
  } finally {
    db.close()
  }
}

/** Work that throws, as an effect that fails; `work` is what a person calls it. */
export const doing = <A>(work: string, act: () => A): Effect.Effect<A, CareFailed> =>
  Effect.try({ try: act, catch: (error) => new CareFailed({ work, detail: detailOf(error) }) })

/**
 * A connection that nobody else can have beside it, as long as it is open; null when somebody else has the file open,
 * in this process or another: in WAL mode each connection holds a lock for its life.
 */
export const alone = (file: string): Sqlite.Database | null => {
  const db = new Sqlite(file, { timeout: 0, fileMustExist: true })
  try {
    db.pragma("locking_mode = EXCLUSIVE")
    db.exec("BEGIN EXCLUSIVE; COMMIT")
    return db
  } catch (error) {
    db.close()
    if (isBusy(error)) return null
    throw error
  }
}
