import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { Via } from "../delivery/Outbox.js"
import type { Routed } from "../delivery/Deliver.js"
import { Instant } from "../operation/Instant.js"
import * as Job from "../schedule/Job.js"
import * as Jobs from "../schedule/Jobs.js"
import { type Incident, IncidentState } from "../schedule/Incident.js"
import type { Note } from "../schedule/Notepad.js"
import { type Occurrence, OccurrenceKind, runId } from "../schedule/Occurrence.js"
import { Conflict, NotFound } from "./ApiError.js"
import { Authentication } from "./Caller.js"
import { Limit, PathText } from "./Parameters.js"

const text = Schema.NullOr(Schema.String)
const instant = Schema.NullOr(Instant)

/** Where a job's output goes, as its targets lead today. */
export const TargetPlace = Schema.Struct({ platform: Schema.String, chatId: Schema.String, threadId: text, via: Via })

/** A job with its life so far, its schedule in words and its next three instants (contract §2). */
export const JobView = Schema.Struct({
  id: Job.JobId,
  name: Schema.String,
  schedule: Schema.String,
  timezone: Schema.String,
  /** The job's own zone; null follows the configured one. */
  ownTimezone: text,
  words: Schema.String,
  next: Schema.Array(Instant),
  state: Job.JobState,
  stateReason: text,
  nextRunAt: instant,
  lastRunAt: instant,
  lastStatus: Schema.NullOr(Job.RunStatus),
  lastError: text,
  lastDeliveryError: text,
  failureStreak: Schema.Int,
  deliver: Schema.String,
  failureDeliver: text,
  targets: Schema.Array(TargetPlace),
  repeat: Schema.Struct({ times: Schema.NullOr(Schema.Int), completed: Schema.Int }),
  prompt: Schema.String,
  skills: Schema.Array(Schema.String),
  model: text,
  provider: text,
  baseUrl: text,
  reasoningEffort: text,
  script: text,
  noAgent: Schema.Boolean,
  monitor: Schema.NullOr(Job.Monitor),
  contextFrom: Schema.Array(Schema.String),
  enabledToolsets: Schema.NullOr(Schema.Array(Schema.String)),
  workdir: text,
  attachToSession: Schema.NullOr(Schema.Boolean),
  origin: Schema.NullOr(Schema.Struct({ platform: Schema.String, chatId: Schema.String, threadId: text })),
  createdAt: Instant,
  updatedAt: Instant,
  pausedAt: instant,
  /** What whoever asked should know: where results go, what was settled for them. */
  notes: Schema.Array(Schema.String)
}).annotations({ identifier: "Job" })
export type JobView = typeof JobView.Type

export const jobView = (view: Jobs.JobView, routed: ReadonlyArray<Routed>): JobView => {
  const { job } = view
  return {
    id: job.id,
    name: job.name,
    schedule: job.schedule,
    timezone: view.timezone,
    ownTimezone: job.timezone,
    words: view.words,
    next: view.next,
    state: job.state,
    stateReason: job.stateReason,
    nextRunAt: job.nextRunAt,
    lastRunAt: job.lastRunAt,
    lastStatus: job.lastStatus,
    lastError: job.lastError,
    lastDeliveryError: job.lastDeliveryError,
    failureStreak: job.failureStreak,
    deliver: job.deliver,
    failureDeliver: job.failureDeliver,
    targets: routed.map(({ address, via }) => ({
      platform: address.platform,
      chatId: address.chatId,
      threadId: address.threadId,
      via
    })),
    repeat: { times: job.times, completed: job.completed },
    prompt: job.prompt,
    skills: job.skills,
    model: job.model,
    provider: job.provider,
    baseUrl: job.baseUrl,
    reasoningEffort: job.reasoningEffort,
    script: job.script,
    noAgent: job.noAgent,
    monitor: job.monitor,
    contextFrom: job.contextFrom,
    enabledToolsets: job.enabledToolsets,
    workdir: job.workdir,
    attachToSession: job.attachToSession,
    origin:
      job.origin === null
        ? null
        : { platform: job.origin.platform, chatId: job.origin.chatId, threadId: job.origin.threadId },
    createdAt: job.createdAt,
    updatedAt: job.updatedAt,
    pausedAt: job.pausedAt,
    notes: view.notes
  }
}

/** What a list shows of a job (contract §2). */
export const JobBrief = JobView.pipe(
  Schema.pick(
    "id",
    "name",
    "schedule",
    "timezone",
    "words",
    "state",
    "stateReason",
    "nextRunAt",
    "lastRunAt",
    "lastStatus",
    "failureStreak",
    "deliver",
    "targets",
    "repeat"
  )
).annotations({ identifier: "JobBrief" })
export type JobBrief = typeof JobBrief.Type

/** One instant of a job's schedule, or a range of missed ones, and what became of it (contract §2). */
export const RunView = Schema.Struct({
  id: Schema.String,
  jobId: Job.JobId,
  /** Also of a job that was removed. */
  jobName: Schema.String,
  scheduledAt: Instant,
  lastAt: Instant,
  kind: OccurrenceKind,
  status: Job.RunStatus,
  claimedAt: instant,
  startedAt: instant,
  finishedAt: instant,
  reason: text,
  sessionId: text,
  /** Its document, relative to the home. */
  output: text,
  deliveries: Schema.Array(Schema.String),
  count: Schema.Int
}).annotations({ identifier: "Run" })
export type RunView = typeof RunView.Type

export const runView = (run: Occurrence, deliveries: ReadonlyArray<string>): RunView => ({
  id: runId(run.id),
  jobId: run.jobId,
  jobName: run.jobName,
  scheduledAt: run.scheduledAt,
  lastAt: run.lastAt,
  kind: run.kind,
  status: run.status,
  claimedAt: run.claimedAt,
  startedAt: run.startedAt,
  finishedAt: run.finishedAt,
  reason: run.reason,
  sessionId: run.sessionId,
  output: run.output,
  deliveries,
  count: run.count
})

/** What a run left: its document. */
export const RunDocument = Schema.Struct({ run: RunView, text })

/** One way in which a job fails, however often. */
export const IncidentView = Schema.Struct({
  id: Schema.String,
  jobId: Job.JobId,
  jobName: Schema.String,
  kind: Schema.String,
  error: Schema.String,
  state: IncidentState,
  count: Schema.Int,
  firstAt: Instant,
  lastAt: Instant,
  alertedAt: instant,
  closedAt: instant
}).annotations({ identifier: "Incident" })
export type IncidentView = typeof IncidentView.Type

export const incidentView = (incident: Incident): IncidentView => ({
  id: incident.id,
  jobId: incident.jobId,
  jobName: incident.jobName,
  kind: incident.kind,
  error: incident.error,
  state: incident.state,
  count: incident.count,
  firstAt: incident.firstAt,
  lastAt: incident.lastAt,
  alertedAt: incident.alertedAt,
  closedAt: incident.closedAt
})

/** What a job remembers from run to run. */
export const NoteView = Schema.Struct({
  key: Schema.String,
  value: Schema.String,
  updatedAt: Instant
}).annotations({ identifier: "Note" })
export type NoteView = typeof NoteView.Type

export const noteView = ({ key, updatedAt, value }: Note): NoteView => ({ key, value, updatedAt })

/** When a schedule would be due, without storing anything. */
export const Preview = Schema.Struct({
  schedule: Schema.String,
  timezone: Schema.String,
  words: Schema.String,
  next: Schema.Array(Instant)
})
export type Preview = typeof Preview.Type

/** A word that is not of a job is refused: nothing that somebody meant is left out in silence. */
const strict = { parseOptions: { onExcessProperty: "error" } } as const

export const NewJobBody = Schema.Struct({
  ...Jobs.JobDraft.fields,
  /** The conversation of the page that `origin` means. */
  sessionId: Schema.optional(text)
}).annotations({ identifier: "NewJob", ...strict })

export const JobPatchBody = Schema.Struct(Jobs.JobPatch.fields).annotations({ identifier: "JobPatch", ...strict })

const Reason = Schema.Struct({ reason: Schema.optionalWith(text, { default: () => null }) }).annotations(strict)
/** `at` gives a single run another time. */
const Resumed = Schema.Struct({ at: Schema.optionalWith(text, { default: () => null }) }).annotations(strict)
/** `prompt` is said to this run and not kept. */
const RunBody = Schema.Struct({ prompt: Schema.optionalWith(text, { default: () => null }) }).annotations(strict)

/** A job by its id or its exact name. */
const byReference = Schema.Struct({ id: PathText })

const ofNote = Schema.Struct({ id: PathText, key: PathText })

/** Scheduled jobs and their runs. */
export const ScheduledJobs = HttpApiGroup.make("jobs")
  .add(
    HttpApiEndpoint.get("list", "/api/jobs")
      .setUrlParams(Schema.Struct({ all: Schema.optional(Schema.Literal("true", "false")) }))
      .addSuccess(Schema.Array(JobView))
      .annotate(OpenApi.Summary, "Jobs, next to run first; with `all=true` the finished ones too")
  )
  .add(
    HttpApiEndpoint.post("create", "/api/jobs")
      .setPayload(NewJobBody)
      .addSuccess(JobView, { status: 201 })
      .addError(NotFound)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Makes a job; answers with its next three instants")
  )
  .add(
    HttpApiEndpoint.get("brief", "/api/schedules")
      .setUrlParams(Schema.Struct({ all: Schema.optional(Schema.Literal("true", "false")) }))
      .addSuccess(Schema.Array(JobBrief))
      .annotate(OpenApi.Summary, "The same list without what the jobs are to do: for tables of many")
  )
  .add(
    HttpApiEndpoint.get("preview", "/api/schedules/next")
      .setUrlParams(
        Schema.Struct({
          schedule: Schema.String,
          timezone: Schema.optional(Schema.String),
          from: Schema.optional(Schema.String),
          count: Limit(5, 1_000)
        })
      )
      .addSuccess(Preview)
      .annotate(OpenApi.Summary, "When a schedule would be due; stores nothing")
  )
  .add(
    HttpApiEndpoint.get("recent", "/api/runs")
      .setUrlParams(Schema.Struct({ limit: Limit(20, 500) }))
      .addSuccess(Schema.Array(RunView))
      .annotate(OpenApi.Summary, "Runs of all jobs, newest first")
  )
  .add(
    HttpApiEndpoint.get("run", "/api/runs/:id")
      .setPath(byReference)
      .addSuccess(RunDocument)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "A run with its document")
  )
  .add(
    HttpApiEndpoint.get("get", "/api/jobs/:id")
      .annotate(OpenApi.Summary, "One job")
      .setPath(byReference)
      .addSuccess(JobView)
      .addError(NotFound)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.patch("update", "/api/jobs/:id")
      .setPath(byReference)
      .setPayload(JobPatchBody)
      .addSuccess(JobView)
      .addError(NotFound)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Changes what is named; null clears what may be empty")
  )
  .add(
    HttpApiEndpoint.del("remove", "/api/jobs/:id")
      .annotate(OpenApi.Summary, "Removes a job; what runs of it ends by itself")
      .setPath(byReference)
      .addSuccess(JobView)
      .addError(NotFound)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.post("pause", "/api/jobs/:id/pause")
      .annotate(OpenApi.Summary, "It is not due any more until it is resumed")
      .setPath(byReference)
      .setPayload(Reason)
      .addSuccess(JobView)
      .addError(NotFound)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.post("resume", "/api/jobs/:id/resume")
      .annotate(OpenApi.Summary, "It is due again by its schedule")
      .setPath(byReference)
      .setPayload(Resumed)
      .addSuccess(JobView)
      .addError(NotFound)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.post("start", "/api/jobs/:id/run")
      .setPath(byReference)
      .setPayload(RunBody)
      .addSuccess(JobView)
      .addError(NotFound)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Runs it as soon as possible, beside its schedule")
  )
  .add(
    HttpApiEndpoint.get("runs", "/api/jobs/:id/runs")
      .setPath(byReference)
      .setUrlParams(Schema.Struct({ limit: Limit(20, 500) }))
      .addSuccess(Schema.Array(RunView))
      .addError(NotFound)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "A job's runs, newest first")
  )
  .add(
    HttpApiEndpoint.get("incidents", "/api/incidents")
      .setUrlParams(Schema.Struct({ state: Schema.optional(IncidentState), limit: Limit(50, 500) }))
      .addSuccess(Schema.Array(IncidentView))
      .annotate(OpenApi.Summary, "How jobs fail, newest first")
  )
  .add(
    HttpApiEndpoint.post("acknowledge", "/api/incidents/:id/ack")
      .setPath(byReference)
      .addSuccess(IncidentView)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "No more notices of it")
  )
  .add(
    HttpApiEndpoint.get("notes", "/api/jobs/:id/notepad")
      .annotate(OpenApi.Summary, "What its runs noted for the next ones")
      .setPath(byReference)
      .addSuccess(Schema.Array(NoteView))
      .addError(NotFound)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.put("setNote", "/api/jobs/:id/notepad/:key")
      .annotate(OpenApi.Summary, "Writes one note")
      .setPath(ofNote)
      .setPayload(Schema.Struct({ value: Schema.String }).annotations(strict))
      .addSuccess(Schema.Array(NoteView))
      .addError(NotFound)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.del("removeNote", "/api/jobs/:id/notepad/:key")
      .annotate(OpenApi.Summary, "Takes one note away")
      .setPath(ofNote)
      .addSuccess(Schema.Struct({ removed: Schema.Boolean }))
      .addError(NotFound)
      .addError(Conflict)
  )
  .middleware(Authentication)
