import { Context, type Effect, Schema } from "effect"

export type WorkKind = "turn" | "cron" | "api" | "delegate" | "process"

/** The gateway is shutting down or restarting: this piece of work was not begun. */
export class Draining extends Schema.TaggedError<Draining>()("Draining", { restart: Schema.Boolean }) {
  override get message(): string {
    return this.restart ? "the gateway is restarting; send it again in a moment" : "the gateway is shutting down"
  }
}

export interface WorkItem {
  readonly kind: WorkKind
  readonly label: string
  readonly startedAt: number
}

/** Counts work so that no drain can miss it, and ends the gateway in order (gateway.md 3.9). */
export class Drain extends Context.Tag("hermes/operation/Drain")<
  Drain,
  {
    /** Counts `self` before its first suspension, until it ends. Refuses new work once draining. */
    readonly work: (
      kind: WorkKind,
      label: string
    ) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Draining, R>
    /** Counts from now until the answered effect is run: for work that is forked, so that it is counted before its fiber starts. */
    readonly open: (kind: WorkKind, label: string) => Effect.Effect<Effect.Effect<void>, Draining>
    readonly items: Effect.Effect<ReadonlyArray<WorkItem>>
    /** Null while work is taken. */
    readonly draining: Effect.Effect<{ readonly restart: boolean } | null>
    /** Refuses new work from now on; returns at once. */
    readonly begin: (options: { readonly restart: boolean }) => Effect.Effect<void>
    /** Succeeds when no work of these kinds is left. */
    readonly idle: (kinds: ReadonlyArray<WorkKind>) => Effect.Effect<void>
    /** Was work cut by the deadline, or a restart asked for? Decides the exit code: 0, 1 or 75. */
    readonly outcome: Effect.Effect<{ readonly restart: boolean; readonly cut: boolean }>
    readonly markCut: Effect.Effect<void>
  }
>() {}
