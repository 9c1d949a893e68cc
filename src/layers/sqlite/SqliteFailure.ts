import { SqlError } from "@effect/sql"
import { ParseResult, Schema } from "effect"
import * as Misfit from "../../services/operation/Misfit.js"
import {
  StateCorrupt,
  StateDbReplaced,
  StateDiskFull,
  type StateError,
  StateIndexDamaged,
  StateLocked,
  StateReadOnly,
  StateRowUnreadable,
  StateUnknown
} from "../../services/state/StateError.js"

const Driver = Schema.Struct({ code: Schema.String, message: Schema.String })
const isDriver = Schema.is(Driver)

/** SQLite's extended result code of an error, `SQLITE_BUSY` or `SQLITE_CONSTRAINT_TRIGGER`; null when it has none. */
export const codeOf = (error: unknown): string | null => {
  const cause = error instanceof SqlError.SqlError ? error.cause : error
  return isDriver(cause) && cause.code.startsWith("SQLITE_") ? cause.code : null
}

/** What the driver says, without a stack. */
export const detailOf = (error: unknown): string => {
  const cause = error instanceof SqlError.SqlError ? (error.cause ?? error) : error
  if (isDriver(cause)) return `${cause.code}: ${cause.message}`
  return cause instanceof Error ? cause.message : String(cause)
}

const busy = ["SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_DONE"]
const startsWithOneOf = (code: string, prefixes: ReadonlyArray<string>): boolean =>
  prefixes.some((prefix) => code === prefix || code.startsWith(`${prefix}_`))

/** Somebody else holds the database. Known by its code; the text is only asked when there is none (state-agent.md 1.5). */
export const isBusy = (error: unknown): boolean => {
  const code = codeOf(error)
  return code === null
    ? /database is (locked|busy)|no more rows available/i.test(detailOf(error))
    : startsWithOneOf(code, busy)
}

/** The failed statement may have ended the whole transaction, not only itself. */
export const isFatal = (error: unknown): boolean => {
  const code = codeOf(error)
  return (
    code !== null &&
    startsWithOneOf(code, ["SQLITE_FULL", "SQLITE_IOERR", "SQLITE_NOMEM", "SQLITE_CORRUPT", "SQLITE_NOTADB"])
  )
}

/** The bucket of an error by its result code (state-agent.md 1.8); the index's damage before the file's. */
export const stateError = (operation: string, error: unknown, waitedMillis = 0): StateError => {
  if (ParseResult.isParseError(error)) return new StateRowUnreadable({ operation, detail: Misfit.text(error) })
  const context = { operation, detail: detailOf(error) }
  const code = codeOf(error)
  if (isBusy(error)) return new StateLocked({ ...context, waitedMillis })
  if (code === null) return new StateUnknown(context)
  if (code === "SQLITE_CORRUPT_VTAB") return new StateIndexDamaged(context)
  // A read beyond the file's end: it was cut off.
  if (startsWithOneOf(code, ["SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS"]))
    return new StateCorrupt(context)
  if (startsWithOneOf(code, ["SQLITE_FULL"])) return new StateDiskFull(context)
  if (code === "SQLITE_READONLY_DBMOVED") return new StateDbReplaced(context)
  if (startsWithOneOf(code, ["SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH"]))
    return new StateReadOnly(context)
  return new StateUnknown(context)
}

/** The driver's and the decoder's errors of a statement as a {@link StateError}; the caller's own pass. */
export const translated =
  (operation: string) =>
  <E>(error: E): StateError | Exclude<E, SqlError.SqlError | ParseResult.ParseError> =>
    error instanceof SqlError.SqlError || ParseResult.isParseError(error)
      ? stateError(operation, error)
      : (error as Exclude<E, SqlError.SqlError | ParseResult.ParseError>)
