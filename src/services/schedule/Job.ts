import { Schema } from "effect"
import { ReasoningEffort } from "../agent/ModelRoute.js"
import { Millis } from "../operation/Instant.js"

/** Twelve hexadecimal digits, so that an id is one safe part of a path and of a session's id. */
export const JobId = Schema.String.pipe(Schema.pattern(/^[0-9a-f]{12}$/), Schema.brand("hermes/JobId"))
export type JobId = typeof JobId.Type

/** How rows refer to a job: small, never used twice, and still there when the job is removed. */
export const JobNumber = Schema.Int.pipe(Schema.positive(), Schema.brand("hermes/JobNumber"))
export type JobNumber = typeof JobNumber.Type

const text = Schema.NullOr(Schema.String)
const instant = Schema.NullOr(Millis)

/** Where a job was made: what `origin` in its targets means. It says where results go and is never a live sender. */
export class JobOrigin extends Schema.Class<JobOrigin>("hermes/schedule/JobOrigin")({
  platform: Schema.String,
  chatId: Schema.String,
  chatName: text,
  chatType: text,
  threadId: text,
  userId: text,
  scopeId: text
}) {}

/** A change detector in front of the agent (cron-delivery.md 3.8). */
export const Monitor = Schema.Struct({ kind: Schema.Literal("script", "url"), target: Schema.String })
export type Monitor = typeof Monitor.Type

/** The backend that an unpinned job ran on when it was made: a new default model does not change what it costs. */
export const ModelSnapshot = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  /** Where that provider was reached; null is its own address, absent in a job that was made before this was kept. */
  baseUrl: Schema.optional(Schema.NullOr(Schema.String))
})
export type ModelSnapshot = typeof ModelSnapshot.Type

/** What its owner wrote; times of its life are in {@link Job}. */
export const definition = {
  name: Schema.NonEmptyString,
  /** Empty where a script or a skill is the work. */
  prompt: Schema.String,
  skills: Schema.Array(Schema.String),
  model: text,
  provider: text,
  baseUrl: text,
  modelSnapshot: Schema.NullOr(ModelSnapshot),
  reasoningEffort: Schema.NullOr(ReasoningEffort),
  /** Relative to the home's `scripts` folder. */
  script: text,
  /** The script is the work: no model is asked. */
  noAgent: Schema.Boolean,
  monitor: Schema.NullOr(Monitor),
  /** Ids of jobs whose last answer is put before the prompt; `self` is this one. */
  contextFrom: Schema.Array(Schema.String),
  /** As it was written. */
  schedule: Schema.String,
  /** IANA; null takes the owner's setting. */
  timezone: text,
  /** Runs in all; null for ever. */
  times: Schema.NullOr(Schema.Int),
  /** Comma-separated targets, settled when the job was made. */
  deliver: Schema.String,
  /** Replaces `deliver` for notices of failure. */
  failureDeliver: text,
  origin: Schema.NullOr(JobOrigin),
  createdBy: Schema.NullOr(Schema.Struct({ platform: Schema.String, userId: Schema.String })),
  /** Null follows `cron.mirror_delivery`. */
  attachToSession: Schema.NullOr(Schema.Boolean),
  /** Null takes what a scheduled run gets by default. */
  enabledToolsets: Schema.NullOr(Schema.Array(Schema.String)),
  workdir: text
} as const

export const JobDefinition = Schema.Struct(definition)
export type JobDefinition = typeof JobDefinition.Type

/** `missed`: a single run whose time passed while nobody could run it. It and `completed` may be armed again. */
export const JobState = Schema.Literal("scheduled", "paused", "completed", "error", "missed")
export type JobState = typeof JobState.Type

/** A value for each truth about a run (decision 16); `claimed` and `running` are not yet over. */
export const RunStatus = Schema.Literal(
  "claimed",
  "running",
  "ok",
  "error",
  "delivery_failed",
  "delivery_queued",
  "blocked_config",
  "interrupted",
  "missed",
  "skipped",
  "unknown"
)
export type RunStatus = typeof RunStatus.Type

/** A job and its life so far. Times are epoch milliseconds. */
export const Job = Schema.Struct({
  id: JobId,
  ...definition,
  state: JobState,
  /** Why it is in `error` or `paused`. */
  stateReason: text,
  pausedAt: instant,
  createdAt: Millis,
  updatedAt: Millis,
  nextRunAt: instant,
  /** When the last run ended. */
  lastRunAt: instant,
  lastStatus: Schema.NullOr(RunStatus),
  lastError: text,
  lastDeliveryError: text,
  /** Runs counted against `times`. */
  completed: Schema.Int,
  /** Failures in a row. */
  failureStreak: Schema.Int
})
export type Job = typeof Job.Type

/** What a job comes to when nothing is left to run: an edit does not bring it back, arming does. */
export const isTerminal = (job: Pick<Job, "state">): boolean => job.state === "completed" || job.state === "missed"
