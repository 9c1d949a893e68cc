/** `cronjob` (cron-delivery.md 5.1): reminders and scheduled jobs, through the same door as every other surface. */
import { Effect, Layer, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { JobView, RunView } from "../../services/api/Jobs.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { JobDesk } from "../../services/schedule/JobDesk.js"
import type { JobError } from "../../services/schedule/JobError.js"
import * as JobFields from "../../services/schedule/JobFields.js"
import type { JobDraft, JobPatch } from "../../services/schedule/Jobs.js"
import { localTime } from "../../services/schedule/LocalTime.js"
import * as JobMakers from "../schedule/JobMakers.js"

const said = <A, I, R>(schema: Schema.Schema<A, I, R>, description: string) =>
  Schema.optional(schema.annotations({ description }))
const list = Schema.Union(Schema.String, Schema.Array(Schema.String))

const Parameters = Schema.Struct({
  action: Schema.Literal(
    "create",
    "list",
    "show",
    "update",
    "pause",
    "resume",
    "remove",
    "run",
    "run_now",
    "trigger",
    "runs",
    "resnap"
  ).annotations({ description: "`run` starts a job now, beside its schedule; `runs` shows what came of its runs." }),
  job_id: said(Schema.String, "Which job: its id or its exact name. For everything but `create` and `list`."),
  schedule: said(
    Schema.String,
    "`30m` (once, in 30 minutes), `every 30m`, `every 1d at 09:00`, `weekdays at 9am`, `0 9 * * 1-5`, `2027-01-31T09:00` (once). For `resume`: the new time of a single run."
  ),
  prompt: said(
    Schema.String,
    "What is to be done then, complete in itself: the run knows nothing of this conversation. For `run`: said to that run only."
  ),
  name: said(Schema.String, "A short name."),
  repeat: said(Schema.Union(Schema.Number, Schema.String), "How many runs in all; `forever` for no end."),
  deliver: said(
    list,
    "Where the answer goes: `origin` (this chat, default), `local` (kept, not sent), `telegram`, `telegram:-100123:7`, `all`; several with commas."
  ),
  failure_deliver: said(list, "Where notices of failure go instead."),
  skills: said(list, "Skills that the run is given."),
  skill: said(Schema.String, "One skill."),
  script: said(Schema.String, "A file of the home's scripts folder that runs first; its output is given to the run."),
  no_agent: said(Schema.Boolean, "The script is the whole job: no model is asked."),
  monitor: said(
    Schema.String,
    "An address or a script that is looked at first; the agent wakes on change only. Empty clears it."
  ),
  context_from: said(list, "Jobs whose last answer is given to the run."),
  continuity: said(Schema.Boolean, "The run is given its own last answer."),
  enabled_toolsets: said(list, "The only toolsets that the run gets."),
  workdir: said(Schema.String, "The directory that it works in, absolute."),
  timezone: said(Schema.String, "An IANA zone for the schedule, if not the configured one."),
  attach_to_session: said(Schema.Boolean, "Its answers join the conversation they are sent to."),
  paused: said(Schema.Boolean, "Made, but not scheduled before somebody resumes it."),
  reason: said(Schema.String, "Why it is paused."),
  paused_reason: said(Schema.String, "Why it is paused."),
  all: said(Schema.Boolean, "`list` shows finished jobs too.")
})
type Parameters = typeof Parameters.Type

/** What a model has to know of a job; the fields behind `deliver` stand where there is something to say. */
const Told = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  schedule: Schema.String,
  words: Schema.String,
  timezone: Schema.String,
  next: Schema.Array(Schema.NullOr(Schema.String)),
  state: Schema.String,
  state_reason: Schema.optional(Schema.String),
  deliver: Schema.String,
  repeat: Schema.String,
  last_run: Schema.NullOr(Schema.String),
  last_status: Schema.NullOr(Schema.String),
  last_error: Schema.optional(Schema.String),
  failures_in_a_row: Schema.optional(Schema.Int)
})

const InFull = Schema.Struct({
  ...Told.fields,
  prompt: Schema.String,
  skills: Schema.optional(Schema.Array(Schema.String)),
  script: Schema.optional(Schema.String),
  no_agent: Schema.optional(Schema.Boolean),
  monitor: Schema.optional(Schema.String),
  context_from: Schema.optional(Schema.Array(Schema.String)),
  enabled_toolsets: Schema.optional(Schema.Array(Schema.String)),
  workdir: Schema.optional(Schema.String)
})

const Ran = Schema.Struct({
  id: Schema.String,
  scheduled: Schema.String,
  kind: Schema.String,
  status: Schema.String,
  reason: Schema.NullOr(Schema.String),
  count: Schema.Int,
  output: Schema.NullOr(Schema.String)
})

const done = { success: Schema.Literal(true) }
const Result = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ ...done, action: Schema.Literal("list"), jobs: Schema.Array(Told) }),
    Schema.Struct({ ...done, action: Schema.Literal("runs"), runs: Schema.Array(Ran) }),
    Schema.Struct({ ...done, action: Schema.Literal("show"), job: InFull }),
    Schema.Struct({
      ...done,
      action: Schema.Literal("create", "update", "pause", "resume", "remove", "run", "resnap"),
      job: Told,
      notes: Schema.optional(Schema.Array(Schema.String))
    })
  )
)
type Result = typeof Result.Type
type Change = Extract<Result, { readonly notes?: unknown }>["action"]

const description =
  "Reminders and scheduled jobs: work that is to be done later or again and again. A job runs by itself, without this " +
  "conversation, and its final answer is delivered to where the job says; so write in `prompt` everything it has to know. " +
  "Call `list` before you change or remove a job whose id you do not know, and never guess one."

const at = (millis: number | null, { timezone }: JobView): string | null =>
  millis === null ? null : localTime(millis, timezone)

const told = (job: JobView): typeof Told.Type => ({
  id: job.id,
  name: job.name,
  schedule: job.schedule,
  words: job.words,
  timezone: job.timezone,
  next: job.next.map((millis) => at(millis, job)),
  state: job.state,
  ...(job.stateReason === null ? {} : { state_reason: job.stateReason }),
  deliver: job.deliver,
  repeat: job.repeat.times === null ? "forever" : `${job.repeat.completed}/${job.repeat.times}`,
  last_run: at(job.lastRunAt, job),
  last_status: job.lastStatus,
  ...(job.lastError === null ? {} : { last_error: job.lastError }),
  ...(job.failureStreak > 1 ? { failures_in_a_row: job.failureStreak } : {})
})

const inFull = (job: JobView): typeof InFull.Type => ({
  ...told(job),
  prompt: job.prompt,
  ...(job.skills.length === 0 ? {} : { skills: job.skills }),
  ...(job.script === null ? {} : { script: job.script, no_agent: job.noAgent }),
  ...(job.monitor === null ? {} : { monitor: job.monitor.target }),
  ...(job.contextFrom.length === 0 ? {} : { context_from: job.contextFrom }),
  ...(job.enabledToolsets === null ? {} : { enabled_toolsets: job.enabledToolsets }),
  ...(job.workdir === null ? {} : { workdir: job.workdir })
})

const ran = (run: RunView): typeof Ran.Type => ({
  id: run.id,
  scheduled: new Date(run.scheduledAt).toISOString(),
  kind: run.kind,
  status: run.status,
  reason: run.reason,
  count: run.count,
  output: run.output
})

/** The fields that creating and changing share. `monitor` is one word for two. */
const fieldsOf = (args: Parameters): JobPatch => ({
  ...(args.name === undefined ? {} : { name: args.name }),
  ...(args.prompt === undefined ? {} : { prompt: args.prompt }),
  ...(args.repeat === undefined ? {} : { repeat: args.repeat }),
  ...(args.deliver === undefined ? {} : { deliver: args.deliver }),
  ...(args.failure_deliver === undefined ? {} : { failureDeliver: args.failure_deliver }),
  ...(args.skills === undefined && args.skill === undefined
    ? {}
    : { skills: [...JobFields.list(args.skills), ...JobFields.list(args.skill)] }),
  ...(args.script === undefined ? {} : { script: args.script }),
  ...(args.no_agent === undefined ? {} : { noAgent: args.no_agent }),
  ...(args.monitor === undefined
    ? {}
    : /^https?:/i.test(args.monitor.trim())
      ? { monitorUrl: args.monitor, monitorScript: null }
      : { monitorScript: args.monitor, monitorUrl: null }),
  ...(args.enabled_toolsets === undefined ? {} : { enabledToolsets: args.enabled_toolsets }),
  ...(args.workdir === undefined ? {} : { workdir: args.workdir }),
  ...(args.timezone === undefined ? {} : { timezone: args.timezone }),
  ...(args.attach_to_session === undefined ? {} : { attachToSession: args.attach_to_session })
})

/** `continuity` puts the job itself among what it is given, or takes it out. */
const contextOf = (args: Parameters, before: ReadonlyArray<string>): Pick<JobPatch, "contextFrom"> => {
  if (args.context_from === undefined && args.continuity === undefined) return {}
  const others = args.context_from === undefined ? before : JobFields.list(args.context_from)
  if (args.continuity === undefined) return { contextFrom: others }
  const without = others.filter((reference) => reference.toLowerCase() !== "self")
  return { contextFrom: args.continuity ? [...without, "self"] : without }
}

/** As many tries for a name that is free: somebody who is reminded of the same thing twice means two reminders. */
const mostNames = 50

const make = Effect.gen(function* () {
  const desk = yield* JobDesk
  const redactor = yield* Redactor

  const failure = (code: string, error: string) =>
    new Tool.ToolFailure({ text: JSON.stringify({ success: false, code, error: redactor.text(error) }) })

  const answer = (action: Change, job: JobView): Result => ({
    success: true,
    action,
    job: told(job),
    ...(job.notes.length === 0 ? {} : { notes: job.notes })
  })

  const create = (args: Parameters) =>
    Effect.gen(function* () {
      const maker = yield* JobMakers.ofTurn
      const draft: JobDraft = {
        ...fieldsOf(args),
        ...contextOf(args, []),
        schedule: args.schedule ?? "",
        ...(args.paused === undefined ? {} : { paused: args.paused }),
        ...(args.paused_reason === undefined && args.reason === undefined
          ? {}
          : { pausedReason: args.paused_reason ?? args.reason ?? null })
      }
      const attempt = (number: number): Effect.Effect<JobView, JobError> =>
        desk
          .create(
            number === 1 || args.name === undefined
              ? draft
              : { ...draft, name: JobFields.numbered(args.name.trim(), number) },
            maker
          )
          .pipe(
            Effect.catchIf(
              (error) => error._tag === "JobNameTaken" && args.name !== undefined && number < mostNames,
              () => attempt(number + 1)
            )
          )
      const job = yield* attempt(1)
      return answer("create", job)
    })

  const named = (args: Parameters) =>
    (args.job_id ?? "").trim() === ""
      ? Effect.fail(failure("job_missing", "say which job: `job_id`; `list` shows the jobs"))
      : Effect.succeed((args.job_id ?? "").trim())

  const update = (args: Parameters) =>
    Effect.gen(function* () {
      const reference = yield* named(args)
      const before = yield* desk.find(reference)
      const fields = fieldsOf(args)
      const job = yield* desk.edit(before.id, {
        ...fields,
        // A blank name changes nothing.
        ...(fields.name?.trim() === "" ? { name: null } : {}),
        ...contextOf(args, before.contextFrom),
        ...(args.schedule === undefined ? {} : { schedule: args.schedule })
      })
      return answer("update", job)
    })

  const listed = (args: Parameters) =>
    Effect.map(desk.list({ all: args.all ?? false }), (jobs): Result => ({
      success: true,
      action: "list",
      jobs: jobs.map(told)
    }))

  const changed = (args: Parameters, action: Change, change: (reference: string) => Effect.Effect<JobView, JobError>) =>
    Effect.gen(function* () {
      const job = yield* change(yield* named(args))
      return answer(action, job)
    })

  const act = (args: Parameters): Effect.Effect<Result, JobError | Tool.ToolFailure, CurrentTurn> => {
    const text = (value: string | undefined): string | null => (value === undefined ? null : JobFields.text(value))
    switch (args.action) {
      case "create":
        return create(args)
      case "list":
        return listed(args)
      case "update":
        return update(args)
      case "show":
        return Effect.gen(function* () {
          return { success: true, action: "show", job: inFull(yield* desk.find(yield* named(args))) } as const
        })
      case "pause":
        return changed(args, "pause", (job) => desk.pause(job, text(args.reason ?? args.paused_reason)))
      case "resume":
        return changed(args, "resume", (job) => desk.resume(job, text(args.schedule)))
      case "remove":
        return changed(args, "remove", desk.remove)
      case "run":
      case "run_now":
      case "trigger":
        return changed(args, "run", (job) => desk.runNow(job, text(args.prompt)))
      case "resnap":
        return changed(args, "resnap", desk.resnap)
      case "runs":
        return Effect.gen(function* () {
          const runs = yield* desk.runs(yield* named(args), 20)
          return { success: true, action: "runs", runs: runs.map(ran) } as const
        })
    }
  }

  return Tool.make({
    name: "cronjob",
    toolset: "cronjob",
    description,
    parameters: Parameters,
    result: Result,
    preview: (args) => [args.action, args.job_id ?? args.name ?? args.schedule ?? ""].join(" ").trim(),
    handler: (args) =>
      Effect.catchAll(act(args), (error) =>
        error._tag === "ToolFailure" ? Effect.fail(error) : Effect.fail(failure(error._tag, error.message))
      )
  })
})

/** Adds the tool to the registry. */
export const layer: Layer.Layer<never, never, JobDesk | Redactor | ToolRegistry> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    yield* registry.add([yield* make])
  })
)
