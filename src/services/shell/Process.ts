import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { Authorized } from "../approval/Approval.js"
import type { StateError } from "../state/StateError.js"
import type { ShellUnavailable } from "./Shell.js"

/** running → exited, killed (by the agent or a person), or lost (it ended where nobody could see how). */
export const ProcessState = Schema.Literal("running", "exited", "killed", "lost")
export type ProcessState = typeof ProcessState.Type

/** What a process was started as; it stays so, with its turn, in the row's parcel. */
export const ProcessSpec = Schema.Struct({
  command: Schema.String,
  /** Absolute. */
  workingDirectory: Schema.String,
  /** Tell the conversation when it has ended. */
  notifyOnComplete: Schema.Boolean,
  /** Tell the conversation when a line of its output has one of these texts in it. */
  watchPatterns: Schema.Array(Schema.String),
  /** It runs at a terminal of its own. */
  terminal: Schema.Boolean
})
export type ProcessSpec = typeof ProcessSpec.Type

export interface ProcessView {
  readonly id: string
  /** Redacted. */
  readonly command: string
  readonly workingDirectory: string
  readonly pid: number
  readonly state: ProcessState
  readonly exitCode: number | null
  readonly signal: string | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly terminal: boolean
  /** Said about it when it was started or taken over. */
  readonly note: string | null
}

export interface ProcessOutput {
  readonly view: ProcessView
  /** Readable, redacted. */
  readonly text: string
  /** Bytes that were printed and are not kept. */
  readonly lost: number
}

/** What stdin was given so far, for whoever judges what comes next. */
export interface ProcessInput {
  readonly command: string
  readonly workingDirectory: string
  readonly terminal: boolean
  /** Null when it was more than is kept. */
  readonly written: string | null
}

/** It was not started, or not done, and why. */
export class ProcessRefused extends Schema.TaggedError<ProcessRefused>()("ProcessRefused", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

/** No process by that id in this conversation. */
export class ProcessUnknown extends Schema.TaggedError<ProcessUnknown>()("ProcessUnknown", { id: Schema.String }) {
  override get message(): string {
    return `there is no process ${this.id} in this conversation; \`list\` shows those that are there`
  }
}

/** Processes of one conversation: a conversation sees its own and those of its helpers, and no others. */
export class Processes extends Context.Tag("hermes/shell/Processes")<
  Processes,
  {
    /** Starts a command that outlives this turn and keeps its whole route. */
    readonly start: (
      spec: ProcessSpec
    ) => Effect.Effect<ProcessView, ProcessRefused | ShellUnavailable | StateError, Authorized | CurrentTurn>
    readonly list: Effect.Effect<ReadonlyArray<ProcessView>, never, CurrentTurn>
    /** What it printed since the last look. */
    readonly poll: (id: string) => Effect.Effect<ProcessOutput, ProcessUnknown | StateError, CurrentTurn>
    /** All that is kept of its output. */
    readonly log: (id: string) => Effect.Effect<ProcessOutput, ProcessUnknown, CurrentTurn>
    /** Waits for its end, at most so long. An end that is seen here is not announced. */
    readonly wait: (
      id: string,
      limitMillis: number
    ) => Effect.Effect<ProcessOutput, ProcessUnknown | StateError, CurrentTurn>
    /** Ends it and all that it started; not announced. */
    readonly kill: (id: string) => Effect.Effect<ProcessView, ProcessUnknown, CurrentTurn>
    readonly input: (id: string) => Effect.Effect<ProcessInput, ProcessUnknown, CurrentTurn>
    readonly write: (
      id: string,
      text: string
    ) => Effect.Effect<void, ProcessUnknown | ProcessRefused, Authorized | CurrentTurn>
    /** Ends its input. */
    readonly close: (id: string) => Effect.Effect<void, ProcessUnknown | ProcessRefused, CurrentTurn>
    /** How many run for a conversation. */
    readonly running: (sessionKey: string) => Effect.Effect<number>
    /** Ends all that run for a conversation (`/stop`, `/new`); answers how many. */
    readonly endAll: (sessionKey: string) => Effect.Effect<number>
    /** At boot: takes over what an earlier gateway started and settles what ended meanwhile; answers how many. */
    readonly recover: Effect.Effect<number, StateError>
  }
>() {}
