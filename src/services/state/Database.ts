import type { SqlClient, SqlError } from "@effect/sql"
import { Context, type Effect, type ParseResult } from "effect"
import type { StateCorrupt, StateDbReplaced, StateError } from "./StateError.js"

/** The open write transaction. Whoever needs it can only run inside `Database.write`; its value is the writer's client. */
export class Transaction extends Context.Tag("hermes/state/Transaction")<Transaction, SqlClient.SqlClient>() {}

/** A step of a transaction: statements only. It ends without suspending, so no model call, sleep or fork fits into one. */
export type Step<A, E = never> = Effect.Effect<A, E | SqlError.SqlError | ParseResult.ParseError, Transaction>

/** How long a write may wait for the database: ordinary 20 s, transcript rows and new sessions 60 s, activity stamps 0.5 s. */
export type Patience = "ordinary" | "transcript" | "stamp"

/**
 * How a write is committed. `now`: onto the disk and without delay. `soon`: onto the disk, and it may wait some milliseconds
 * for another to share a commit with: for what nobody waits for. `soft`: kept by kill -9, and it may be lost with the
 * machine's power until a later commit takes it to the disk: for what nothing has been done about before such a commit.
 */
export type Commit = "now" | "soon" | "soft"

/** What a write has made, while the disk takes it. */
export interface Ahead<A> {
  readonly value: A
  /** Succeeds once it is on the disk. Before that nobody may be told of it and nothing may come of it. */
  readonly kept: Effect.Effect<void, StateError>
}

/** What a write or a read fails with: the driver's errors are the database's own by then. */
export type Failure<E> = StateError | Exclude<E, SqlError.SqlError | ParseResult.ParseError>

/** Runs statements that only look. */
export type Read = <A, E = never>(
  operation: string,
  query: (sql: SqlClient.SqlClient) => Effect.Effect<A, E | SqlError.SqlError | ParseResult.ParseError>
) => Effect.Effect<A, Failure<E>>

export class Database extends Context.Tag("hermes/state/Database")<
  Database,
  {
    /** Damage, or another file in its place, that was found since it was opened; null while nothing is known to be wrong. */
    readonly wrong: Effect.Effect<StateCorrupt | StateDbReplaced | null>
    /**
     * The one write door. Steps that arrive together share one durable commit, each undone alone where it fails; the effect
     * succeeds after that commit is on the disk and fails without having written anything. A step that fails takes no
     * other with it. Once begun it is not interrupted: who asked learns the outcome. `commit` is "now" where nothing is
     * said, and for all steps of a commit where one of them says so.
     */
    readonly write: <A, E = never>(
      operation: string,
      step: Step<A, E>,
      patience?: Patience,
      commit?: Commit
    ) => Effect.Effect<A, Failure<E>>
    /**
     * As `write`, for whoever has something to prepare meanwhile: succeeds when the commit is made and can be read, before it
     * is on the disk. Once it is made, an interruption takes nothing back.
     */
    readonly writeAhead: <A, E = never>(
      operation: string,
      step: Step<A, E>,
      patience?: Patience
    ) => Effect.Effect<Ahead<A>, Failure<E>>
    /** Runs statements on the read-only connection: what is committed, beside any writer. */
    readonly read: Read
    /**
     * As `read`, through the connection that writes, which has in memory what it wrote last; the other reads it anew after
     * each commit. For the few statements of every turn. A statement that would write is a defect.
     */
    readonly glance: Read
  }
>() {}
