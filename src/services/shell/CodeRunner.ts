/** Programs that the agent writes and that call its tools: JavaScript in a process of their own (decision 31). */
import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { Authorized } from "../approval/Approval.js"

/** A call that a running program makes. */
export interface CodeCall {
  /** Counted from 1 within the program. */
  readonly number: number
  readonly tool: string
  /** JSON, as a model would write it. */
  readonly args: string
}

/** What the program is given for it: a text, or an error that it may catch. */
export interface CodeAnswer {
  readonly ok: boolean
  readonly text: string
}

export interface CodeProgram {
  /** JavaScript, an ES module. */
  readonly source: string
  /** The tools that it may call, by name. */
  readonly tools: ReadonlyArray<string>
  /** Succeeds when its time is used up. */
  readonly deadline: Effect.Effect<void>
  /** Answers a call in the turn that runs the program; what it does is gated as if the model had called it. */
  readonly serve: (call: CodeCall) => Effect.Effect<CodeAnswer, never, CurrentTurn>
}

export interface CodeOutcome {
  /** What it printed: readable, redacted, head and tail. */
  readonly output: string
  /** Null when it came to its end; else what broke it, with the line of the code. */
  readonly error: string | null
  readonly timedOut: boolean
  readonly calls: number
}

/** The program could not be started. */
export class CodeUnavailable extends Schema.TaggedError<CodeUnavailable>()("CodeUnavailable", {
  detail: Schema.String
}) {
  override get message(): string {
    return `the program could not be started: ${this.detail}`
  }
}

/** The code is none: where, and what is wrong with it. */
export class CodeInvalid extends Schema.TaggedError<CodeInvalid>()("CodeInvalid", {
  line: Schema.NullOr(Schema.Number),
  detail: Schema.String
}) {
  override get message(): string {
    return `the code cannot be read${this.line === null ? "" : ` at line ${this.line}`}: ${this.detail}`
  }
}

export class CodeRunner extends Context.Tag("hermes/shell/CodeRunner")<
  CodeRunner,
  {
    /** Takes the types out and leaves every line where it is. */
    readonly compile: (code: string) => Effect.Effect<string, CodeInvalid>
    /** Runs it to its end, its deadline or an interruption; nothing of it is left afterwards. */
    readonly run: (program: CodeProgram) => Effect.Effect<CodeOutcome, CodeUnavailable, Authorized | CurrentTurn>
  }
>() {}
