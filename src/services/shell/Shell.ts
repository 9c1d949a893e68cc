import { Context, type Effect, Schema } from "effect"
import type { Authorized } from "../approval/Approval.js"

export interface ShellCommand {
  readonly command: string
  /** Absolute; a missing one is recovered to its nearest usable ancestor. */
  readonly workingDirectory: string
  readonly timeoutMillis: number
}

export interface ShellOutcome {
  /** Null when the process was killed. */
  readonly exitCode: number | null
  readonly signal: string | null
  /** stdout and stderr as they came, head and tail kept, escape sequences removed, secrets redacted. */
  readonly output: string
  readonly truncatedBytes: number
  readonly timedOut: boolean
  readonly durationMillis: number
  /** Said when the command ran elsewhere than asked. */
  readonly note: string | null
}

/** The shell itself could not be started. */
export class ShellUnavailable extends Schema.TaggedError<ShellUnavailable>()("ShellUnavailable", {
  detail: Schema.String
}) {
  override get message(): string {
    return `the command could not be started: ${this.detail}`
  }
}

/** Runs commands in a process group of their own, with the environment of `ChildEnvironment`; ends the whole tree on interrupt or timeout. */
export class Shell extends Context.Tag("hermes/shell/Shell")<
  Shell,
  { readonly run: (command: ShellCommand) => Effect.Effect<ShellOutcome, ShellUnavailable, Authorized> }
>() {}
