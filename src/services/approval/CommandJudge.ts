import { Context, type Effect } from "effect"

/** One thing that a judge found; `rule` is stable, `text` is for people. */
export interface Reason {
  readonly rule: string
  readonly text: string
}

/** allow: runs unasked · ask: a person decides · never: not even a yes lets the agent do it (decision 29). */
export interface Verdict {
  readonly verdict: "allow" | "ask" | "never"
  readonly reasons: ReadonlyArray<Reason>
}

export const allow: Verdict = { verdict: "allow", reasons: [] }
export const ask = (rule: string, text: string): Verdict => ({ verdict: "ask", reasons: [{ rule, text }] })
export const never = (rule: string, text: string): Verdict => ({ verdict: "never", reasons: [{ rule, text }] })

export interface Lifecycle {
  /** It would stop or restart the gateway, or the machine. */
  readonly ends: Reason | null
  /** Parts of it are not surely understood, or are code of another language. */
  readonly unclear: boolean
  /** Absolute. */
  readonly runs: ReadonlyArray<string>
}

/** Says what a command may do before anything runs. Reads files' names and kinds, runs nothing. */
export class CommandJudge extends Context.Tag("hermes/approval/CommandJudge")<
  CommandJudge,
  {
    readonly judge: (
      command: string,
      options: {
        /** Absolute: where the command would run. */
        readonly workingDirectory: string
        /** Is the asking turn a cron run's? */
        readonly cron: boolean
        /** Is nobody there to ask? As `cron` when left out. */
        readonly unattended?: boolean
      }
    ) => Effect.Effect<Verdict>
    /** A program of the agent's own that calls its tools: asked about as a whole, unless what it names is forbidden. */
    readonly code: (source: string, options: { readonly cron: boolean }) => Effect.Effect<Verdict>
    /** What a script for a shell would do to the gateway that runs it, and which other files it would run. */
    readonly lifecycle: (script: string, options: { readonly workingDirectory: string }) => Effect.Effect<Lifecycle>
  }
>() {}
