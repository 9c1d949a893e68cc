/**
 * What becomes of the occurrences that are due (cron-delivery.md 1.6, 2.4; decisions 14 and 15): one runs, a backlog is
 * written down, and the next one follows. Every occurrence up to now is in exactly one of the parts. Pure.
 */
import * as Schedule from "./Schedule.js"
import type { OccurrenceKind } from "./Occurrence.js"

/** Up to this a run is on its time. */
const onTimeMillis = 300_000
const leastGraceMillis = 120_000
const mostGraceMillis = 7_200_000

export interface Rules {
  /** After a backlog, one run. */
  readonly catchUp: boolean
  readonly oneShotGraceMillis: number
}

export interface Due {
  readonly schedule: Schedule.Schedule
  /** The first that is due, and not after now. */
  readonly nextAt: number
  /** Runs left; null for ever. */
  readonly remaining: number | null
  /** The run before is still claimed or under way. */
  readonly busy: boolean
  /** Its provider's limit holds it back until then. */
  readonly holdUntil: number | null
}

/** Occurrences that do not run, together. */
export interface Left extends Schedule.Occurrences {
  readonly state: "missed" | "skipped"
  readonly reason: string
}

export interface Verdict {
  readonly run: { readonly at: number; readonly kind: OccurrenceKind } | null
  readonly left: Left | null
  /** When the job is due next; null when nothing is left of it. */
  readonly next: number | null
}

/** Half of the distance of two occurrences, from 2 minutes to 2 hours: what is later than this is a backlog. */
export const graceMillis = (schedule: Schedule.Schedule, at: number): number => {
  const period = Schedule.period(schedule, at)
  return period === null ? leastGraceMillis : Math.min(mostGraceMillis, Math.max(leastGraceMillis, period / 2))
}

export const kindOf = (late: number, grace: number): OccurrenceKind =>
  late > grace ? "catch_up" : late > onTimeMillis ? "late" : "on_time"

/** Of an instant that came while no gateway ran that could have begun it. */
export const notRun = "it could not begin: the gateway was down, asleep, stopped or too busy"

/** It may have been paused. */
const notInTime = "it could not run in time, and cron.catch_up_missed is false"

const single = ({ nextAt }: Due, now: number, rules: Rules): Verdict => {
  const late = now - nextAt
  if (late <= rules.oneShotGraceMillis)
    return { run: { at: nextAt, kind: kindOf(late, rules.oneShotGraceMillis) }, left: null, next: null }
  return {
    run: null,
    left: { first: nextAt, last: nextAt, count: 1, state: "missed", reason: `${notRun} when it was due` },
    next: null
  }
}

const recurring = (due: Due, now: number, rules: Rules, last: Schedule.Occurrences | null): Omit<Verdict, "next"> => {
  const { nextAt, schedule } = due
  // Whatever the schedule, so late is no backlog: nothing has to be worked out.
  if (last === null && now - nextAt <= leastGraceMillis) return { run: { at: nextAt, kind: "on_time" }, left: null }
  const grace = graceMillis(schedule, nextAt)
  if (last === null) {
    const late = now - nextAt
    return late <= grace || rules.catchUp
      ? { run: { at: nextAt, kind: kindOf(late, grace) }, left: null }
      : {
          run: null,
          left: {
            first: nextAt,
            last: nextAt,
            count: 1,
            state: "missed",
            reason: notInTime
          }
        }
  }
  const late = now - last.last
  if (late > grace && !rules.catchUp)
    return {
      run: null,
      left: {
        first: nextAt,
        last: last.last,
        count: last.count + 1,
        state: "missed",
        reason: notInTime
      }
    }
  const before = Schedule.occurrences(schedule, nextAt, last.last - 1)
  return {
    run: { at: last.last, kind: rules.catchUp ? "catch_up" : kindOf(late, grace) },
    left: { first: nextAt, last: before?.last ?? nextAt, count: last.count, state: "missed", reason: notRun }
  }
}

/** What of a schedule is due beyond its occurrence at `nextAt`; null when that is the only one. `follows` is its first after `now`. */
export const beyond = (
  schedule: Schedule.Schedule,
  nextAt: number,
  now: number,
  follows: number | null
): Schedule.Occurrences | null =>
  Schedule.next(schedule, nextAt) === follows ? null : Schedule.occurrences(schedule, nextAt, now)

/**
 * What becomes of a job whose next occurrence is not after `now`. `follows` is its first after `now` and `more` what is due
 * {@link beyond} the next one, for whoever knows them.
 */
export const judge = (
  due: Due,
  now: number,
  rules: Rules,
  follows: number | null = Schedule.next(due.schedule, now),
  more: Schedule.Occurrences | null = beyond(due.schedule, due.nextAt, now, follows)
): Verdict => {
  const { nextAt, remaining, schedule } = due
  const skip =
    due.holdUntil !== null && due.holdUntil > now
      ? "its provider's limit holds it back"
      : due.busy
        ? "the run before was not over"
        : null
  if (skip !== null)
    return {
      run: null,
      left: {
        first: nextAt,
        last: more?.last ?? nextAt,
        count: 1 + (more?.count ?? 0),
        state: "skipped",
        reason: skip
      },
      next: follows
    }
  if (!Schedule.isRecurring(schedule)) return single(due, now, rules)
  const { left, run } = recurring(due, now, rules, more)
  return { run, left, next: run !== null && remaining !== null && remaining <= 1 ? null : follows }
}
