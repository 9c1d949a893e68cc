/** A failed run in one line, and the nudge after several (cron-delivery.md 3.11, seed: streak nudge). Pure. */

export type FailureKind =
  | "script"
  | "script_timeout"
  | "monitor"
  | "limit"
  | "inactivity"
  | "timeout"
  | "auth"
  | "unreachable"
  | "interrupted"
  | "injection"
  | "delivery"
  | "other"

export interface Failure {
  readonly kind: FailureKind
  /** Redacted; of a model's failure the cause in the words of `ModelProblem`. */
  readonly detail: string
  /** What its owner can change. */
  readonly remedy?: string | null
}

const longest = 180

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

/** Null where the detail is a sentence of its own: a model's failure, a limit that was set here. */
const said: { readonly [kind in FailureKind]: string | null } = {
  script: "its script failed",
  script_timeout: "its script took too long and was ended",
  monitor: null,
  limit: null,
  inactivity: "it made no progress and was stopped",
  timeout: null,
  auth: null,
  unreachable: null,
  interrupted: "the gateway stopped while it ran",
  injection: "its text holds orders that may not be followed",
  delivery: "its result could not be delivered",
  other: null
}

/** What the person is told: the job, what went wrong, and what can be changed about it. */
export const summary = (name: string, failure: Failure, fallbacks: boolean): string => {
  const kind = said[failure.kind]
  const detail = oneLine(failure.detail)
  const remedy = failure.remedy === undefined || failure.remedy === null ? "" : ` ${oneLine(failure.remedy)}`
  const others =
    (failure.kind === "limit" || failure.kind === "auth" || failure.kind === "unreachable") && !fallbacks
      ? " No fallback is set (fallback_providers)."
      : ""
  return `⚠ Job "${oneLine(name)}" failed: ${[kind, detail].filter((part) => part !== null && part !== "").join(": ")}.${remedy}${others}`.replace(
    /([.!?]"?)\.(?= |$)/,
    "$1"
  )
}

/** Appended once a recurring job has failed so often in a row; null before that. */
export const nudge = (options: {
  readonly id: string
  readonly recurring: boolean
  /** This failure counted. */
  readonly streak: number
  readonly threshold: number
}): string | null =>
  options.recurring && options.threshold > 0 && options.streak >= options.threshold
    ? `It has failed ${options.streak} times in a row. Look at it with \`hermes cron runs ${options.id}\`, stop it for now with \`hermes cron pause ${options.id}\`, or for good with \`hermes cron remove ${options.id}\`.`
    : null
