import { FileSystem, Path } from "@effect/platform"
import { Clock, Data, Effect, Layer, Random, Schema } from "effect"
import { AmbientEnvironment, isCron } from "../../fibers/AmbientEnvironment.js"
import type { ModelRoute } from "../../services/agent/ModelRoute.js"
import type { Skills } from "../../services/agent/Skills.js"
import type { TargetResolver } from "../../services/delivery/TargetResolver.js"
import { Settings } from "../../services/operation/Settings.js"
import { Bell } from "../../services/schedule/Bell.js"
import { isTerminal, JobId, type JobNumber } from "../../services/schedule/Job.js"
import { type JobError, JobNotReady, JobRefused } from "../../services/schedule/JobError.js"
import * as JobFields from "../../services/schedule/JobFields.js"
import { JobDraft, type JobMaker, JobPatch, Jobs, type JobView } from "../../services/schedule/Jobs.js"
import { type Appointment, JobStore, type StoredJob } from "../../services/schedule/JobStore.js"
import type { LifecycleGuard } from "../../services/schedule/LifecycleGuard.js"
import type { Monitors } from "../../services/schedule/Monitor.js"
import { localTime } from "../../services/schedule/LocalTime.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import * as ScheduleText from "../../services/schedule/ScheduleText.js"
import * as ScheduleWords from "../../services/schedule/ScheduleWords.js"
import type { Scripts } from "../../services/schedule/Script.js"
import { Database, type Step, Transaction } from "../../services/state/Database.js"
import * as JobDefinitions from "./JobDefinitions.js"

const shown = 3
const editedBefore = "the schedule was edited before it ran"
const pausedReason = "it waits for its owner's word"

/** Runs left of a job that is to run so often in all. */
const remainingOf = (times: number | null, completed: number): number | null =>
  times === null ? null : Math.max(0, times - completed)

/** How often a job runs in all that is given another schedule: a single time is one more, and what was single repeats for ever. */
const timesAgain = (
  times: number | null,
  had: number,
  before: Schedule.Schedule | null,
  after: Schedule.Schedule
): number | null => {
  if (times === null) return null
  if (!Schedule.isRecurring(after)) return had < times ? times : had + 1
  return before?.kind === "once" && times <= had + 1 ? null : times
}

/** Not every surface reads what it is given by the schema: a chat and a command line write it themselves. */
const wellFormedDraft = Schema.decodeSync(JobDraft)
const wellFormedPatch = Schema.decodeSync(JobPatch)

/** Something has happened to a job between what was read of it and what was to be written. */
class JobMoved extends Data.TaggedError("JobMoved") {}

type Refusal = JobError | JobMoved

/** So often a change is decided anew. */
const mostDecisions = 10

/** All of a job by which a change of it is decided. */
const standingOf = ({ asked, begun, job, open, remaining, removed }: StoredJob): string =>
  JSON.stringify([removed, job.state, job.updatedAt, job.nextRunAt, job.completed, remaining, begun, open, asked])

const make = Effect.gen(function* () {
  const store = yield* JobStore
  const database = yield* Database
  const settings = yield* Settings
  const bell = yield* Bell
  const environment = yield* AmbientEnvironment
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const definitions = yield* JobDefinitions.make

  const newId = Effect.map(
    Effect.all([Random.nextIntBetween(0, 2 ** 24), Random.nextIntBetween(0, 2 ** 24)]),
    (halves) => JobId.make(halves.map((half) => half.toString(16).padStart(6, "0")).join(""))
  )

  const view = (stored: StoredJob, notes: ReadonlyArray<string> = []): JobView => {
    const { holdUntil, job, remaining, retryAt, schedule } = stored
    const timezone = schedule?.timezone ?? job.timezone ?? settings.timezone
    const meant = schedule ?? ScheduleText.reread(job.schedule, timezone)
    const held = holdUntil !== null && job.nextRunAt !== null && holdUntil > job.nextRunAt ? holdUntil : null
    const nextRunAt = held === null || schedule === null ? job.nextRunAt : Schedule.next(schedule, held - 1)
    const coming =
      schedule === null || nextRunAt === null ? [] : [nextRunAt, ...Schedule.upcoming(schedule, nextRunAt, shown - 1)]
    return {
      job: held === null ? job : { ...job, nextRunAt },
      words: meant === null ? "" : ScheduleWords.words(meant),
      next: coming.slice(0, remaining ?? shown),
      timezone,
      notes: [
        ...notes,
        ...(held === null ? [] : [`its provider's limit holds it back until ${localTime(held, timezone)}`]),
        ...(retryAt === null || job.state === "paused"
          ? []
          : [`its last run reached no model and is tried again at ${localTime(retryAt, timezone)}`])
      ]
    }
  }

  const shownOf = (number: JobNumber, stored: StoredJob | null, notes: ReadonlyArray<string>): Effect.Effect<JobView> =>
    stored === null ? Effect.dieMessage(`job ${number} is gone after its change`) : Effect.succeed(view(stored, notes))

  const shownAgain = (number: JobNumber, notes: ReadonlyArray<string>): Effect.Effect<JobView, JobError> =>
    Effect.flatMap(store.ofRun(number), (stored) => shownOf(number, stored, notes))

  /** Decision 29: a scheduled run makes and changes no jobs, unless its owner says so. */
  const allowed: Effect.Effect<void, JobRefused> = Effect.flatMap(
    Effect.provideService(isCron, AmbientEnvironment, environment),
    (cron) =>
      cron && !settings.cron.allowAgentScheduling
        ? new JobRefused({
            reason: "cron",
            detail:
              "a scheduled run does not make or change jobs (cron.allow_agent_scheduling is false); say in your answer what you would have scheduled"
          })
        : Effect.void
  )

  /** Writes a change that was decided by what was read: only if the job is still that. */
  const writing = <A>(operation: string, read: StoredJob, step: Step<A, JobError>): Effect.Effect<A, Refusal> =>
    database.write(
      operation,
      Effect.flatMap(store.load(read.number), (found): Step<A, Refusal> =>
        found !== null && standingOf(found) === standingOf(read) ? step : Effect.fail(new JobMoved())
      )
    )

  /** A claim, the end of a run or somebody else's change may come in between: then it is decided by what there is now. */
  const decided = <A>(reference: string, change: Effect.Effect<A, Refusal>): Effect.Effect<A, JobError> =>
    Effect.retry(change, { times: mostDecisions - 1, while: (refusal) => refusal._tag === "JobMoved" }).pipe(
      Effect.catchTag("JobMoved", () =>
        Effect.fail(new JobNotReady({ job: reference, detail: "it changes all the time just now; try again" }))
      )
    )

  /** Writes, tells the scheduler and answers with the job as it now stands. */
  const changing = <A>(
    operation: string,
    read: StoredJob,
    step: Step<A, JobError>,
    notes: ReadonlyArray<string> = []
  ): Effect.Effect<JobView, Refusal> =>
    Effect.zipRight(writing(operation, read, step), Effect.zipRight(bell.ring, shownAgain(read.number, notes)))

  const appointmentOf = (
    schedule: Schedule.Schedule,
    remaining: number | null,
    job: string
  ): Effect.Effect<Appointment, JobNotReady> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const nextAt = Schedule.first(schedule, now)
      return nextAt === null
        ? new JobNotReady({ job, detail: "its schedule has no time to come; give it another one" })
        : Effect.succeed({ schedule, nextAt, remaining })
    })

  const create = (draft: JobDraft, maker: JobMaker): Effect.Effect<JobView, JobError> =>
    Effect.gen(function* () {
      yield* allowed
      const { paused, pausedReason: reason, ...patch } = wellFormedDraft(draft)
      const { definition, isNamed, notes, schedule } = yield* definitions.read(patch, null, maker)
      if (paused !== true && JobFields.text(reason) !== null)
        return yield* new JobNotReady({ job: definition.name, detail: "a reason to pause needs paused: true" })
      const appointment = yield* appointmentOf(schedule, definition.times, definition.name)
      const id = yield* newId
      const { kept, value: number } = yield* database.writeAhead(
        "job.create",
        // Of several that are made at once each sees the names of those before only here.
        Effect.flatMap(isNamed ? Effect.succeed(definition.name) : store.freeName(definition.name), (name) =>
          store.insert({
            id,
            definition: { ...definition, name },
            appointment,
            paused: paused === true ? { reason: JobFields.text(reason) ?? pausedReason } : null
          })
        )
      )
      // Read while the disk takes it, by the connection that has just written it.
      const made = yield* database.glance("job.made", (sql) =>
        Effect.provideService(store.load(number), Transaction, sql)
      )
      yield* kept
      if (paused !== true) yield* bell.ringFor(appointment.nextAt)
      return yield* shownOf(number, made, notes)
    })

  const edit = (reference: string, asked: JobPatch): Effect.Effect<JobView, Refusal> =>
    Effect.gen(function* () {
      yield* allowed
      const patch = wellFormedPatch(asked)
      const stored = yield* store.find(reference)
      const { job, number } = stored
      if (isTerminal(job) && patch.schedule !== undefined)
        return yield* new JobNotReady({
          job: job.name,
          detail: `it is ${job.state}; \`hermes cron resume\` with a new time brings it back`
        })
      const meant = stored.schedule ?? ScheduleText.reread(job.schedule, job.timezone ?? settings.timezone)
      /** Its last run is over or under way: what is edited says nothing about when. */
      const spent = isTerminal(job) || (stored.schedule === null && stored.begun > 0 && patch.schedule === undefined)
      const before = {
        id: job.id,
        definition: job,
        schedule: spent ? meant : stored.schedule
      }
      const { moved, notes, schedule, ...read } = yield* definitions.read(
        spent ? { ...patch, schedule: undefined } : patch,
        before,
        null
      )
      const had = job.completed + stored.begun
      const times =
        moved && patch.repeat === undefined
          ? timesAgain(read.definition.times, had, meant, schedule)
          : read.definition.times
      const definition = { ...read.definition, times }
      const remaining = remainingOf(definition.times, had)
      const changed = !spent && (moved || remaining !== stored.remaining)
      const appointment = changed && remaining !== 0 ? yield* appointmentOf(schedule, remaining, job.name) : null
      return yield* changing(
        "job.edit",
        stored,
        Effect.gen(function* () {
          yield* store.define(number, definition)
          // Another provider's limit is none of its own.
          if (
            definition.provider !== job.provider ||
            definition.model !== job.model ||
            definition.baseUrl !== job.baseUrl
          ) {
            yield* store.hold(number, null)
            yield* store.dropRetries(number)
          }
          if (!changed) return
          const kept =
            appointment !== null && !moved && job.nextRunAt !== null
              ? { ...appointment, nextAt: job.nextRunAt }
              : appointment
          yield* store.reschedule(number, kept, editedBefore)
          if (moved) {
            yield* store.dropRetries(number)
            yield* store.recall(number, kept?.nextAt ?? null, editedBefore)
          }
          if (remaining === 0) yield* store.setState(number, "completed", null)
          else if (job.state === "error") yield* store.setState(number, "scheduled", null)
        }),
        notes
      )
    })

  const pause = (reference: string, reason?: string | null): Effect.Effect<JobView, Refusal> =>
    Effect.gen(function* () {
      yield* allowed
      const stored = yield* store.find(reference)
      const { job, number } = stored
      if (isTerminal(job)) return yield* new JobNotReady({ job: job.name, detail: `it is ${job.state} already` })
      return yield* changing(
        "job.pause",
        stored,
        store.setPaused(number, { reason: JobFields.text(reason) ?? "by its owner" })
      )
    })

  const single = (stored: StoredJob, text: string): Effect.Effect<Schedule.Schedule, JobError> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const schedule = yield* ScheduleText.parse(text, {
        now,
        zone: settings.timezone,
        timezone: stored.job.timezone,
        wakesAgent: !stored.job.noAgent
      })
      return schedule.kind === "once"
        ? schedule
        : yield* new JobNotReady({
            job: stored.job.name,
            detail: `"${text}" is no single time; edit its schedule instead`
          })
    })

  const rearm = (reference: string, text: string): Effect.Effect<JobView, Refusal> =>
    Effect.gen(function* () {
      yield* allowed
      const stored = yield* store.find(reference)
      const { job, number } = stored
      if (!isTerminal(job))
        return yield* new JobNotReady({
          job: job.name,
          detail: `it is ${job.state}; only a finished job is armed again`
        })
      if (stored.open) return yield* new JobNotReady({ job: job.name, detail: "it still runs; wait for its end" })
      const schedule = yield* single(stored, text)
      const appointment = yield* appointmentOf(schedule, 1, job.name)
      const definition = { ...job, schedule: ScheduleText.format(schedule), times: 1 }
      return yield* changing(
        "job.rearm",
        stored,
        store
          .define(number, definition)
          .pipe(
            Effect.zipRight(store.setState(number, "scheduled", null)),
            Effect.zipRight(store.resetCompleted(number)),
            Effect.zipRight(store.reschedule(number, appointment, "it was armed again"))
          )
      )
    })

  const resume = (reference: string, options: { readonly at?: string } = {}): Effect.Effect<JobView, Refusal> =>
    Effect.gen(function* () {
      yield* allowed
      const stored = yield* store.find(reference)
      const { job, number, schedule } = stored
      if (isTerminal(job)) {
        if (options.at !== undefined) return yield* rearm(reference, options.at)
        return yield* new JobNotReady({ job: job.name, detail: `it is ${job.state}; say when it is to run (--at)` })
      }
      if (job.state === "scheduled" && options.at === undefined)
        return yield* new JobNotReady({ job: job.name, detail: "it is not paused" })
      // Paused during its last run: that is all there is to take back.
      if (schedule === null && stored.begun > 0 && options.at === undefined)
        return yield* changing("job.resume", stored, store.setPaused(number, null))
      if (schedule === null)
        return yield* new JobNotReady({ job: job.name, detail: "nothing is scheduled any more; edit its schedule" })
      const now = yield* Clock.currentTimeMillis
      const at = options.at === undefined ? null : yield* single(stored, options.at)
      if (at !== null && Schedule.isRecurring(schedule))
        return yield* new JobNotReady({ job: job.name, detail: "it repeats; edit its schedule to give it other times" })
      if (at === null && schedule.kind === "once" && schedule.at < now - ScheduleText.oncePastMillis)
        return yield* new JobNotReady({ job: job.name, detail: "its time has passed; say when it is to run (--at)" })
      const appointment = at === null ? null : yield* appointmentOf(at, stored.remaining ?? 1, job.name)
      return yield* changing(
        "job.resume",
        stored,
        Effect.gen(function* () {
          yield* store.setPaused(number, null)
          if (appointment === null) return
          yield* store.define(number, { ...job, schedule: ScheduleText.format(appointment.schedule) })
          yield* store.reschedule(number, appointment, "it was given another time")
        })
      )
    })

  const runNow = (reference: string, context?: string | null): Effect.Effect<JobView, Refusal> =>
    Effect.gen(function* () {
      const stored = yield* store.find(reference)
      const { asked, job, number, open } = stored
      const said = JobFields.text(context)
      if (said !== null) yield* definitions.said(said)
      if (open) return yield* new JobNotReady({ job: job.name, detail: "it runs already" })
      if (asked)
        return yield* new JobNotReady({ job: job.name, detail: "a run was asked for already and is about to begin" })
      const at = yield* Clock.currentTimeMillis
      return yield* changing(
        "job.run",
        stored,
        store.wake({ job: number, at, kind: "manual", attempt: 0, context: said }),
        [
          `it runs${job.state === "paused" ? ", although it is paused," : ""} as soon as a gateway can: \`hermes cron runs\` shows it`
        ]
      )
    })

  const remove = (reference: string) =>
    Effect.gen(function* () {
      yield* allowed
      const stored = yield* store.findSpoilt(reference)
      const { job, number } = stored
      yield* writing("job.remove", stored, store.remove(number))
      yield* bell.ring
      yield* fs
        .remove(path.join(settings.home, "cron", "output", job.id), { recursive: true, force: true })
        .pipe(
          Effect.catchAll((error) => Effect.logWarning("the documents of a removed job could not be deleted", error))
        )
      return view(stored)
    })

  return Jobs.of({
    create: Effect.fn("Jobs.create")(create),
    edit: Effect.fn("Jobs.edit")((reference, patch) => decided(reference, edit(reference, patch))),
    pause: Effect.fn("Jobs.pause")((reference, reason) => decided(reference, pause(reference, reason))),
    resume: Effect.fn("Jobs.resume")((reference, options) => decided(reference, resume(reference, options))),
    runNow: Effect.fn("Jobs.runNow")((reference, context) => decided(reference, runNow(reference, context))),
    rearm: Effect.fn("Jobs.rearm")((reference, schedule) => decided(reference, rearm(reference, schedule))),
    remove: Effect.fn("Jobs.remove")((reference) => decided(reference, remove(reference))),
    find: (reference) => Effect.map(store.find(reference), (stored) => view(stored)),
    get: (id) => Effect.map(store.get(id), (stored) => stored?.job ?? null),
    ofRun: (number) => Effect.map(store.ofRun(number), (stored) => stored?.job ?? null),
    list: (options) => Effect.map(store.list(options), (all) => all.map((stored) => view(stored))),
    summary: store.summary,
    resnap: Effect.fn("Jobs.resnap")((reference) =>
      Effect.gen(function* () {
        yield* allowed
        const stored = yield* store.find(reference)
        const { job, number } = stored
        const pinned = job.noAgent || job.model !== null || job.provider !== null
        const definition = { ...job, modelSnapshot: pinned ? null : definitions.snapshot() }
        return yield* changing("job.resnap", stored, store.define(number, definition))
      }).pipe((change) => decided(reference, change))
    )
  })
})

/** Jobs over their rows: what every surface uses. */
export const layer: Layer.Layer<
  Jobs,
  never,
  | JobStore
  | Database
  | Settings
  | Bell
  | AmbientEnvironment
  | TargetResolver
  | Skills
  | Scripts
  | Monitors
  | LifecycleGuard
  | ModelRoute
  | FileSystem.FileSystem
  | Path.Path
> = Layer.effect(Jobs, make)
