/** Jobs as a document that people read, keep and edit (`hermes cron export|import`). What is as usual is left out. Pure. */
import { Schema } from "effect"
import type { JobView } from "../api/Jobs.js"
import * as JobFields from "./JobFields.js"
import type { JobDraft, JobPatch } from "./Jobs.js"

const text = Schema.optional(Schema.String)
const list = Schema.optional(Schema.Union(Schema.String, Schema.Array(Schema.String)))
const flag = Schema.optional(Schema.Boolean)

export const ExportedJob = Schema.Struct({
  name: text,
  schedule: Schema.String,
  timezone: text,
  prompt: text,
  repeat: Schema.optional(Schema.Union(Schema.Number, Schema.String)),
  deliver: list,
  failureDeliver: list,
  skills: list,
  script: text,
  noAgent: flag,
  monitorScript: text,
  monitorUrl: text,
  /** Names of jobs, here or in this document; `self` is the job's own last answer. */
  contextFrom: list,
  toolsets: list,
  workdir: text,
  model: text,
  provider: text,
  baseUrl: text,
  reasoningEffort: text,
  attachToSession: flag,
  paused: flag,
  pausedReason: text
})
export type ExportedJob = typeof ExportedJob.Type

/** A word that is not of a job is refused: nothing that somebody wrote is left out in silence. */
export const JobDocument = Schema.Struct({
  version: Schema.Literal(1),
  jobs: Schema.Array(ExportedJob)
}).annotations({ identifier: "Jobs", parseOptions: { onExcessProperty: "error", errors: "all" } })
export type JobDocument = typeof JobDocument.Type

type Mutable = { -readonly [Field in keyof ExportedJob]: ExportedJob[Field] }

/**
 * `nameOf` gives the name of a job that another one refers to: ids are made anew where a document is read. One that is
 * gone is left out.
 */
const exported = (job: JobView, nameOf: (id: string) => string | undefined): ExportedJob => {
  const entry: Mutable = { name: job.name, schedule: job.schedule }
  if (job.ownTimezone !== null) entry.timezone = job.ownTimezone
  if (job.prompt !== "") entry.prompt = job.prompt
  if (job.repeat.times !== null) entry.repeat = job.repeat.times
  entry.deliver = job.deliver
  if (job.failureDeliver !== null) entry.failureDeliver = job.failureDeliver
  if (job.skills.length > 0) entry.skills = job.skills
  if (job.script !== null) entry.script = job.script
  if (job.noAgent) entry.noAgent = true
  if (job.monitor?.kind === "script") entry.monitorScript = job.monitor.target
  if (job.monitor?.kind === "url") entry.monitorUrl = job.monitor.target
  const sources = job.contextFrom.flatMap((id) => (id === "self" || id === job.id ? "self" : (nameOf(id) ?? [])))
  if (sources.length > 0) entry.contextFrom = sources
  if (job.enabledToolsets !== null) entry.toolsets = job.enabledToolsets
  if (job.workdir !== null) entry.workdir = job.workdir
  if (job.model !== null) entry.model = job.model
  if (job.provider !== null) entry.provider = job.provider
  if (job.baseUrl !== null) entry.baseUrl = job.baseUrl
  if (job.reasoningEffort !== null) entry.reasoningEffort = job.reasoningEffort
  if (job.attachToSession !== null) entry.attachToSession = job.attachToSession
  if (job.state === "paused") entry.paused = true
  if (job.state === "paused" && job.stateReason !== null) entry.pausedReason = job.stateReason
  return entry
}

/** A single run is written with its time, so it is the same wherever the document is read. */
export const of = (jobs: ReadonlyArray<JobView>): JobDocument => {
  const names = new Map(jobs.map((job) => [String(job.id), job.name]))
  return { version: 1, jobs: jobs.map((job) => exported(job, (id) => names.get(id))) }
}

export const draft = ({ toolsets, ...job }: ExportedJob): JobDraft => ({
  ...job,
  ...(toolsets === undefined ? {} : { enabledToolsets: toolsets })
})

const absent: JobPatch = {
  timezone: null,
  prompt: null,
  repeat: null,
  failureDeliver: null,
  skills: null,
  script: null,
  noAgent: false,
  monitorScript: null,
  monitorUrl: null,
  contextFrom: null,
  enabledToolsets: null,
  workdir: null,
  model: null,
  provider: null,
  baseUrl: null,
  reasoningEffort: null,
  attachToSession: null
}

/**
 * What makes a job there is into the one that a document says: what it leaves out is as usual, but for where answers go.
 * A schedule that says the same goes on from where it is.
 */
export const change = (job: ExportedJob, there: JobView): JobPatch => {
  const { name: _, paused: __, pausedReason: ___, schedule, ...rest } = draft(job)
  const same = schedule === there.schedule && (job.timezone ?? null) === there.ownTimezone
  return { ...absent, ...rest, ...(same ? {} : { schedule }) }
}

const named = (value: ExportedJob["contextFrom"]): ReadonlyArray<string> => JobFields.list(value)

/** Without the answers of jobs that are made after it: two may be given each other's. */
export const startable = (job: ExportedJob, later: ReadonlyArray<ExportedJob>): ExportedJob => {
  const waited = named(job.contextFrom).filter((name) => later.some((other) => other.name === name))
  return waited.length === 0
    ? job
    : { ...job, contextFrom: named(job.contextFrom).filter((name) => !waited.includes(name)) }
}

/** Jobs in an order in which each comes after those whose answers it is given, as far as there is one. */
export const inOrder = (jobs: ReadonlyArray<ExportedJob>): ReadonlyArray<ExportedJob> => {
  const left = [...jobs]
  const ordered: Array<ExportedJob> = []
  const waits = (job: ExportedJob): boolean => {
    const wanted = named(job.contextFrom)
    return left.some((other) => other !== job && other.name !== undefined && wanted.includes(other.name))
  }
  while (left.length > 0) {
    const at = Math.max(
      0,
      left.findIndex((job) => !waits(job))
    )
    ordered.push(...left.splice(at, 1))
  }
  return ordered
}
