import { Schema } from "effect"

const context = { operation: Schema.String, detail: Schema.String }

/** Somebody else held the database for longer than this write was allowed to wait. Try again; nothing was written. */
export class StateLocked extends Schema.TaggedError<StateLocked>()("StateLocked", {
  ...context,
  waitedMillis: Schema.Number
}) {
  override get message(): string {
    return `the database was locked for ${this.waitedMillis} ms (${this.operation}); nothing was written, try again`
  }
}

/** The file under the open database was replaced. This process must not write to it any more: restart it. */
export class StateDbReplaced extends Schema.TaggedError<StateDbReplaced>()("StateDbReplaced", context) {
  override get message(): string {
    return `the database file was replaced while it was open (${this.detail}); restart the gateway to use the new one`
  }
}

/** The file is damaged. Stop writing, keep the file, restore a backup or run `hermes doctor`. */
export class StateCorrupt extends Schema.TaggedError<StateCorrupt>()("StateCorrupt", context) {
  override get message(): string {
    return `the database is damaged (${this.operation}: ${this.detail}); run \`hermes doctor\``
  }
}

/** No room on the disk. Nothing of this write was kept; free some space. */
export class StateDiskFull extends Schema.TaggedError<StateDiskFull>()("StateDiskFull", context) {
  override get message(): string {
    return `no room left for the database (${this.operation}: ${this.detail}); free some disk space`
  }
}

/** The database may not be written: permissions or a read-only file system. */
export class StateReadOnly extends Schema.TaggedError<StateReadOnly>()("StateReadOnly", context) {
  override get message(): string {
    return `the database cannot be written (${this.operation}: ${this.detail}); check the permissions of the home`
  }
}

/** The search index is damaged; no message is: search falls back and the index is rebuilt. */
export class StateIndexDamaged extends Schema.TaggedError<StateIndexDamaged>()("StateIndexDamaged", context) {
  override get message(): string {
    return `the search index is damaged (${this.detail}); messages are safe, the index will be rebuilt`
  }
}

/** A row that this program cannot read: it was written by a newer program or by hand. */
export class StateRowUnreadable extends Schema.TaggedError<StateRowUnreadable>()("StateRowUnreadable", context) {
  override get message(): string {
    return `a stored row cannot be read (${this.operation}: ${this.detail}); run \`hermes doctor\``
  }
}

/** An error of the database that none of the others names; the detail is the driver's. */
export class StateUnknown extends Schema.TaggedError<StateUnknown>()("StateUnknown", context) {
  override get message(): string {
    return `the database failed (${this.operation}: ${this.detail}); whether anything of it was kept is not known, \`hermes doctor\` looks into it`
  }
}

/** Everything that can go wrong with the state, and nothing else (state-agent.md 1.8). */
export const StateError = Schema.Union(
  StateLocked,
  StateDbReplaced,
  StateCorrupt,
  StateDiskFull,
  StateReadOnly,
  StateIndexDamaged,
  StateRowUnreadable,
  StateUnknown
)
export type StateError = typeof StateError.Type

/** The database could not be opened at all; nothing was changed. `newer`: it was written by a newer program (exit code 78). */
export class StateUnopened extends Schema.TaggedError<StateUnopened>()("StateUnopened", {
  file: Schema.String,
  reason: Schema.Literal("newer", "damaged", "unreadable", "locked", "migration", "unknown"),
  detail: Schema.String
}) {
  override get message(): string {
    return `the database ${this.file} cannot be opened: ${this.detail}`
  }
}
