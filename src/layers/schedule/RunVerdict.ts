/** What is recorded of a run for what its work came to, and what people are told of it (cron-delivery.md 3.3, 3.6). */
import type { SettingsShape } from "../../services/operation/Settings.js"
import * as FailureText from "../../services/schedule/FailureText.js"
import type { FireClaim, RunEnding } from "../../services/schedule/FireClaim.js"
import type { StoredJob } from "../../services/schedule/JobStore.js"
import type { OccurrenceKind } from "../../services/schedule/Occurrence.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import * as Wrapper from "../../services/schedule/Wrapper.js"
import type * as RunRetry from "./RunRetry.js"
import type * as RunWork from "./RunWork.js"

/** What is recorded of a run, without how its delivery went. */
export type Verdict = Pick<RunEnding, "error" | "reason" | "status" | "streak">

/** A failure's text is recorded without the secrets that `redact` takes out of it. */
export const of = (done: RunWork.Work, redact: (text: string) => string): Verdict => {
  switch (done._tag) {
    case "Said":
      return { status: "ok", reason: done.silent ? "it had nothing to report" : null, error: null, streak: "success" }
    case "Quiet":
      return { status: "ok", reason: done.reason, error: null, streak: "success" }
    case "Blocked":
      return { status: "blocked_config", reason: done.reason, error: done.reason, streak: "same" }
    case "Empty":
      return { status: "error", reason: "it has nothing to do any more", error: "the job is empty", streak: "failure" }
    case "Failed": {
      const error = redact(done.failure.detail)
      return { status: "error", reason: error, error, streak: "failure" }
    }
  }
}

/** The instants of a schedule; the others are runs that somebody or something asked for beside it. */
const ofSchedule: ReadonlySet<OccurrenceKind> = new Set<OccurrenceKind>(["on_time", "late", "catch_up"])

const changed = ({ kind, scheduledAt }: FireClaim, { job, removed, schedule }: StoredJob): string | null => {
  if (removed) return "removed"
  if (job.state === "paused") return "paused"
  const moved = ofSchedule.has(kind) && schedule?.kind === "once" && schedule.at !== scheduledAt
  return moved ? "put off to another time" : null
}

/**
 * A claim waits for its instant, and for `cron.jitter`: a job that was paused, removed or put off in the meantime does not
 * run. What somebody asked for by hand does.
 */
export const unwanted = (claim: FireClaim, stored: StoredJob): RunEnding | null => {
  const what = claim.kind === "manual" ? null : changed(claim, stored)
  return what === null
    ? null
    : {
        status: "skipped",
        reason: `the job was ${what} before it began`,
        error: null,
        deliveryError: null,
        streak: "same",
        sessionId: null,
        output: null
      }
}

const failureText = (
  settings: SettingsShape,
  { job, schedule }: StoredJob,
  failure: FailureText.Failure,
  verdict: Verdict,
  note: string | null
): string => {
  const nudge = FailureText.nudge({
    id: job.id,
    recurring: schedule !== null && Schedule.isRecurring(schedule),
    streak: verdict.streak === "failure" ? job.failureStreak + 1 : 0,
    threshold: settings.cron.failureNudgeThreshold
  })
  return [FailureText.summary(job.name, failure, settings.fallbacks.length > 0), note, nudge]
    .filter((text) => text !== null)
    .join("\n")
}

export type Words =
  | {
      readonly lane: "result"
      readonly text: string
      /** Without what the wrapper adds: what a conversation goes on from. */
      readonly clean: string
      readonly directory: string | null
    }
  | { readonly lane: "failure"; readonly text: string }

/** What people are told, and in which lane; null when nobody has to hear. */
export const words = (
  settings: SettingsShape,
  stored: StoredJob,
  done: RunWork.Work,
  verdict: Verdict,
  plan: RunRetry.Plan
): Words | null => {
  const { job } = stored
  switch (done._tag) {
    case "Said": {
      if (done.silent) return null
      const text = [done.text, done.warning].filter((part) => part !== null).join("\n\n")
      const wraps = settings.cron.wrapResponse && !done.verbatim
      const continuable = job.attachToSession ?? settings.cron.mirrorDelivery
      const over = stored.schedule === null && job.nextRunAt === null
      return {
        lane: "result",
        text: wraps ? Wrapper.wrapped(job, text, { continuable, over }) : text,
        clean: text,
        directory: done.directory
      }
    }
    case "Quiet":
      return null
    case "Blocked":
      return stored.preflightAlerted
        ? null
        : {
            lane: "failure",
            text: `⚠ Job "${job.name}" cannot run: ${done.reason} It is not told again until it has run well.`
          }
    case "Empty":
      return { lane: "failure", text: `⚠ Job "${job.name}" has nothing to do any more and is paused.` }
    case "Failed":
      return plan.quiet || done.mute
        ? null
        : { lane: "failure", text: failureText(settings, stored, done.failure, verdict, plan.note) }
  }
}
