import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"

/** The path names no script that a job may run: it must be a file inside the home's `scripts` folder, links followed. */
export class ScriptRefused extends Schema.TaggedError<ScriptRefused>()("ScriptRefused", {
  path: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `script ${JSON.stringify(this.path)}: ${this.detail}`
  }
}

/** The script ended badly; its output is redacted. */
export class ScriptFailed extends Schema.TaggedError<ScriptFailed>()("ScriptFailed", {
  path: Schema.String,
  reason: Schema.Literal("exit", "signal", "timeout", "spawn"),
  exitCode: Schema.NullOr(Schema.Number),
  stdout: Schema.String,
  stderr: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

export interface ScriptRequest {
  /** Relative to the home's `scripts` folder. */
  readonly path: string
  /** Null runs it in the `scripts` folder. */
  readonly workdir: string | null
}

/** What a script that ended well printed: its texts are trimmed, bounded and redacted. */
export interface ScriptOutput {
  readonly stdout: string
  readonly stderr: string
  /** SHA-256 of every byte that it printed, hexadecimal: the text leaves out the middle of what is long. */
  readonly hash: string
  /** False when its last line that is not empty is a JSON object whose `wakeAgent` is exactly false. */
  readonly wakeAgent: boolean
}

/** Scripts of jobs: contained, in a process group of their own, ended as a whole tree (cron-delivery.md 3.7). */
export class Scripts extends Context.Tag("hermes/schedule/Scripts")<
  Scripts,
  {
    /** Where they lie, and work when their job has no directory. */
    readonly folder: string
    /** The file that a path names, links followed. Relative paths only. */
    readonly locate: (path: string) => Effect.Effect<string, ScriptRefused>
    /** Runs it under the current turn, whose marker its environment carries. Interrupted, its whole tree is ended. */
    readonly run: (request: ScriptRequest) => Effect.Effect<ScriptOutput, ScriptRefused | ScriptFailed, CurrentTurn>
  }
>() {}
