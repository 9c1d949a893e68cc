/**
 * Work on a database file that takes long: SQLite blocks the one event loop while it works, so each piece is done in a
 * process of its own. A piece is a request with its answer, as it travels there and back.
 */
import { Context, type Effect, Schema } from "effect"

/** It could not be done. What it would have changed is as it was. */
export class CareFailed extends Schema.TaggedError<CareFailed>()("CareFailed", {
  work: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.work} failed: ${this.detail}`
  }
}

/** Something that is wrong with a database, and whether `hermes doctor --fix` puts it right. */
export const Fault = Schema.Struct({
  part: Schema.Literal("log", "pages", "schema", "references", "rows", "index"),
  detail: Schema.String
})
export type Fault = typeof Fault.Type

export const Examination = Schema.Struct({
  faults: Schema.Array(Fault),
  version: Schema.Int,
  /** A newer program wrote it: nothing of it is changed by this one. */
  newer: Schema.Boolean,
  /** Bytes of the file, of its log, and of pages in it that are free. */
  bytes: Schema.Int,
  logBytes: Schema.Int,
  freeBytes: Schema.Int,
  sessions: Schema.Int,
  messages: Schema.Int,
  /** The jobs that are not removed and not done. */
  jobs: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      state: Schema.String,
      lastStatus: Schema.NullOr(Schema.String),
      reason: Schema.NullOr(Schema.String),
      streak: Schema.Int,
      nextAt: Schema.NullOr(Schema.Number),
      lastAt: Schema.NullOr(Schema.Number)
    })
  )
})
export type Examination = typeof Examination.Type

/** Reads every page of the database and of its search index, beside whoever uses them, and changes nothing. */
export class Examine extends Schema.TaggedRequest<Examine>()("Examine", {
  failure: CareFailed,
  success: Examination,
  payload: { file: Schema.String, index: Schema.String }
}) {}

export const TableReport = Schema.Struct({
  table: Schema.String,
  rows: Schema.Int,
  unreadable: Schema.Int,
  refused: Schema.Int
})

/** What a repair found and did. */
export const RepairReport = Schema.Struct({
  /** Where the damaged files are kept. */
  kept: Schema.String,
  rows: Schema.Int,
  /** Stretches of rows of which nothing could be read. */
  unreadable: Schema.Int,
  /** Rows that were read and make no sense. */
  refused: Schema.Int,
  /** Sessions made anew for messages whose session row was lost. */
  sessionsMade: Schema.Int,
  /** Frames of the write-ahead log that are as they were written again, and those nobody can tell of. */
  log: Schema.Struct({ corrected: Schema.Int, doubtful: Schema.Int }),
  /** Tables of which something was lost. */
  tables: Schema.Array(TableReport)
})
export type RepairReport = typeof RepairReport.Type

/** Makes a sound database of what can be read; the damaged files go into `kept`. Nobody else may have it open. */
export class Repair extends Schema.TaggedRequest<Repair>()("Repair", {
  failure: CareFailed,
  success: RepairReport,
  payload: { file: Schema.String, kept: Schema.String }
}) {}

/** Puts right what is not the pages' own damage: missing parts of the schema, references to nothing, the index, a long log. */
export class Mend extends Schema.TaggedRequest<Mend>()("Mend", {
  failure: CareFailed,
  success: Schema.Array(Schema.String),
  payload: { file: Schema.String, index: Schema.String }
}) {}

export const Copied = Schema.Struct({
  file: Schema.String,
  bytes: Schema.Int,
  sessions: Schema.Int,
  messages: Schema.Int
})
export type Copied = typeof Copied.Type

/** One moment of the database as a file of its own, read through again when it is there. Others go on writing. */
export class Backup extends Schema.TaggedRequest<Backup>()("Backup", {
  failure: CareFailed,
  success: Copied,
  payload: { file: Schema.String, to: Schema.String }
}) {}

/** Puts a backup in the place of the database, whose own files go into `kept`. Nobody may have it open. */
export class Restore extends Schema.TaggedRequest<Restore>()("Restore", {
  failure: CareFailed,
  success: Copied,
  payload: { file: Schema.String, from: Schema.String, kept: Schema.String }
}) {}

/** Gives free pages back to the disk, when nobody else has the database open; answers how many bytes, null when somebody had. */
export class Vacuum extends Schema.TaggedRequest<Vacuum>()("Vacuum", {
  failure: CareFailed,
  success: Schema.NullOr(Schema.Int),
  payload: { file: Schema.String }
}) {}

export const CareRequest = Schema.Union(Examine, Repair, Mend, Backup, Restore, Vacuum)
export type CareRequest = typeof CareRequest.Type

export class Care extends Context.Tag("hermes/state/Care")<
  Care,
  {
    /** Has a piece of work done, and ends its process when the caller is interrupted. */
    readonly run: <Request extends CareRequest>(
      request: Request
    ) => Effect.Effect<Schema.WithResult.Success<Request>, CareFailed>
  }
>() {}
