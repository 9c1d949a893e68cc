/** Jobs that do not do what they were made for, and what their owner can do about it. Pure. */

export interface JobState {
  readonly name: string
  readonly state: string
  readonly lastStatus: string | null
  readonly reason: string | null
  readonly streak: number
  /** Epoch milliseconds; null where it is not due again. */
  readonly nextAt: number | null
  /** When its last run ended; null before the first. */
  readonly lastAt: number | null
}

/** A due job of a running gateway begins within this. */
const lateMillis = 10 * 60_000
/** A run that ended so far in the future is no rounding. */
const aheadMillis = 120_000
const manyFailures = 3

/** Jobs that ran while the clock was ahead: their last run is still to come. */
export const ahead = <A extends { readonly lastAt: number | null }>(jobs: ReadonlyArray<A>, now: number) =>
  jobs.filter(({ lastAt }) => lastAt !== null && lastAt > now + aheadMillis)

export interface Problem {
  readonly detail: string
  readonly remedy: string
}

export const problems = (jobs: ReadonlyArray<JobState>, now: number, gatewayRuns: boolean): ReadonlyArray<Problem> => {
  const overdue = jobs.filter(({ nextAt }) => nextAt !== null && nextAt < now - lateMillis).map(({ name }) => name)
  const early = ahead(jobs, now).map(({ name }) => name)
  return [
    ...(early.length === 0
      ? []
      : [
          {
            detail: `ran while the clock was ahead: ${early.join(", ")}; what ran then does not run again when its time comes`,
            remedy: gatewayRuns
              ? "see that the clock is right now (NTP); they are due at their own times again (hermes cron list)"
              : "see that the clock is right now (NTP); the next start of the gateway puts their times right"
          }
        ]),
    ...(overdue.length === 0
      ? []
      : [
          {
            detail: `overdue: ${overdue.join(", ")}`,
            remedy: gatewayRuns
              ? "restart the gateway (hermes gateway restart), and look at hermes logs"
              : "no gateway runs, so no job does: start it, or `hermes gateway install` has it run always"
          }
        ]),
    ...jobs.flatMap(({ lastStatus, name, reason, state, streak }) => {
      const why = reason === null ? "" : `: ${reason}`
      if (lastStatus === "blocked_config")
        return [
          {
            detail: `${name} is kept from running by its configuration${why}`,
            remedy: `put that right, then \`hermes cron run "${name}"\``
          }
        ]
      if (streak >= manyFailures || state === "error")
        return [
          {
            detail: `${name} has failed ${streak} times in a row${why}`,
            remedy: `\`hermes cron runs "${name}"\` shows what happened; \`hermes cron edit\` or \`pause\` it`
          }
        ]
      return []
    })
  ]
}
