/** A failed run in one line, and the nudge after several (cron-delivery.md 3.11, seed: streak nudge). Pure. */

export type FailureKind =
  | "script"
  | "script_timeout"
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
  /** Redacted. */
  readonly detail: string
}

const longest = 180

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

const said: { readonly [kind in FailureKind]: string | null } = {
  script: "its script failed",
  script_timeout: "its script took too long and was ended",
  limit: "the provider's limit is reached",
  inactivity: "it made no progress and was stopped",
  timeout: "the model took too long to answer",
  auth: "the provider did not accept the key",
  unreachable: "no model could be reached",
  interrupted: "the gateway stopped while it ran",
  injection: "its text holds orders that may not be followed",
  delivery: "its result could not be delivered",
  other: null
}

/** What the person is told: the job, what kind of failure, and the error's own words. */
export const summary = (name: string, failure: Failure, fallbacks: boolean): string => {
  const kind = said[failure.kind]
  const detail = oneLine(failure.detail)
  const others =
    (failure.kind === "limit" || failure.kind === "auth" || failure.kind === "unreachable") && !fallbacks
      ? " No fallback is set (fallback_providers)."
      : ""
  return `⚠ Job "${oneLine(name)}" failed: ${[kind, detail].filter((part) => part !== null && part !== "").join(": ")}.${others}`.replace(
    /\.\.(?= |$)/,
    "."
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

/** Kind of an error whose words are all that is known. */
export const kindOf = (text: string): FailureKind => {
  if (/\b429\b|rate.?limit|usage limit|quota|credit balance|insufficient_quota/i.test(text)) return "limit"
  if (/\b(?:401|403)\b|unauthori[sz]ed|forbidden|invalid.{0,12}key|authentication/i.test(text)) return "auth"
  if (/timed? ?out|timeout/i.test(text)) return "timeout"
  return "other"
}
