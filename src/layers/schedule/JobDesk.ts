import { FileSystem, Path } from "@effect/platform"
import { Clock, Effect, Layer, Schema } from "effect"
import { incidentView, jobView, noteView, runView } from "../../services/api/Jobs.js"
import type { Routed } from "../../services/delivery/Deliver.js"
import { Outbox } from "../../services/delivery/Outbox.js"
import { TargetResolver } from "../../services/delivery/TargetResolver.js"
import { GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { Settings } from "../../services/operation/Settings.js"
import { Incidents } from "../../services/schedule/Incident.js"
import { typed } from "../../services/operation/OwnCommand.js"
import { type Job, JobId } from "../../services/schedule/Job.js"
import { JobDesk, type PreviewOptions } from "../../services/schedule/JobDesk.js"
import { JobNotFound } from "../../services/schedule/JobError.js"
import * as JobFields from "../../services/schedule/JobFields.js"
import { type JobDraft, type JobMaker, type JobPatch, Jobs, type JobView } from "../../services/schedule/Jobs.js"
import { JobStore, type StoredJob } from "../../services/schedule/JobStore.js"
import { Notepad } from "../../services/schedule/Notepad.js"
import { type Occurrence, Occurrences, ofRunId, runId } from "../../services/schedule/Occurrence.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import * as ScheduleText from "../../services/schedule/ScheduleText.js"
import * as ScheduleWords from "../../services/schedule/ScheduleWords.js"
import { addressOf } from "./JobDefinitions.js"

const isJobId = Schema.is(JobId)

const make = Effect.gen(function* () {
  const jobs = yield* Jobs
  const store = yield* JobStore
  const occurrences = yield* Occurrences
  const incidents = yield* Incidents
  const notepad = yield* Notepad
  const resolver = yield* TargetResolver
  const outbox = yield* Outbox
  const addresses = yield* GatewayAddresses
  const settings = yield* Settings
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path

  /** Many jobs share a target: each is looked up once for a list. */
  const routes = () => {
    const known = new Map<string, ReadonlyArray<Routed>>()
    return (job: Job) =>
      Effect.gen(function* () {
        const key = JSON.stringify([job.deliver, job.origin])
        const found = known.get(key) ?? (yield* resolver.route(job.deliver, addressOf(job.origin))).targets
        known.set(key, found)
        return found
      })
  }

  const shown = (view: JobView, notes: ReadonlyArray<string> = []) =>
    Effect.map(routes()(view.job), (routed) => jobView({ ...view, notes: [...view.notes, ...notes] }, routed))

  const isAnybodyThere = Effect.map(addresses.current, (address) => address !== null)

  /** Where the output of a job is that goes nowhere although nobody said `local`. */
  const keptNotes = ({ job }: JobView, asked: JobPatch["deliver"]): ReadonlyArray<string> =>
    job.deliver === "local" && !JobFields.list(asked).some((word) => word.toLowerCase() === "local")
      ? [
          `its output is kept in this home (cron/output/${job.id}) and sent nowhere; give it a target to have it sent: \`${typed(settings.command, `cron edit ${job.id} --deliver TARGET`)}\`, of those that \`${typed(settings.command, "send --list")}\` shows`
        ]
      : []

  /** What the maker of a job has to be told beside that: somebody has to run it. */
  const gatewayNotes = Effect.map(isAnybodyThere, (there) =>
    there ? [] : ["no gateway runs: jobs run while `hermes gateway` does"]
  )

  const withDeliveries = (run: Occurrence) =>
    Effect.map(
      Effect.all([outbox.ofCause("cron", runId(run.id)), outbox.ofCause("cron", `${runId(run.id)}:notice`)]),
      (rows) =>
        runView(
          run,
          rows.flat().map((row) => row.id)
        )
    )

  /** Runs stay when their job goes: its id still finds them. */
  const runsOf = (reference: string, limit: number) =>
    jobs.find(reference).pipe(
      Effect.flatMap(({ job }) => occurrences.list({ job: job.id, limit })),
      Effect.catchTag("JobNotFound", (missing) =>
        Effect.gen(function* () {
          const runs = isJobId(reference) ? yield* occurrences.list({ job: reference, limit }) : []
          return runs.length > 0 ? runs : yield* missing
        })
      )
    )

  const notesOfJob = ({ number }: StoredJob) => Effect.map(notepad.list(number), (notes) => notes.map(noteView))

  const create = (draft: JobDraft, maker: JobMaker) =>
    Effect.gen(function* () {
      const view = yield* jobs.create(draft, maker)
      return yield* shown(view, [...keptNotes(view, draft.deliver), ...(yield* gatewayNotes)])
    })

  /** A document that was cleared away, or never written, is null. */
  const documentOf = (output: string | null) => {
    if (output === null) return Effect.succeed(null)
    const folder = path.join(settings.home, "cron", "output")
    const file = path.resolve(settings.home, output)
    return file.startsWith(folder + path.sep)
      ? Effect.orElseSucceed(fs.readFileString(file), () => null)
      : Effect.succeed(null)
  }

  const preview = ({ count, from, schedule, timezone }: PreviewOptions) =>
    Effect.gen(function* () {
      const zone = timezone ?? settings.timezone
      const now = from === null ? yield* Clock.currentTimeMillis : yield* ScheduleText.instant(from, zone)
      const parsed = yield* ScheduleText.parse(schedule, { now, zone: settings.timezone, timezone, wakesAgent: false })
      return {
        schedule: ScheduleText.format(parsed),
        timezone: parsed.timezone,
        words: ScheduleWords.words(parsed),
        next: Schedule.upcoming(parsed, now, count)
      }
    })

  return JobDesk.of({
    list: (options) =>
      Effect.flatMap(jobs.list(options), (views) => {
        const routed = routes()
        return Effect.forEach(views, (view) => Effect.map(routed(view.job), (targets) => jobView(view, targets)))
      }),
    find: (reference) => Effect.flatMap(jobs.find(reference), (view) => shown(view)),
    create: Effect.fn("JobDesk.create")(create),
    edit: (reference, patch) =>
      Effect.flatMap(jobs.edit(reference, patch), (view) =>
        shown(view, patch.deliver === undefined ? [] : keptNotes(view, patch.deliver))
      ),
    pause: (reference, reason) => Effect.flatMap(jobs.pause(reference, reason), (view) => shown(view)),
    resume: (reference, at) => Effect.flatMap(jobs.resume(reference, at === null ? {} : { at }), (view) => shown(view)),
    runNow: (reference, context) => Effect.flatMap(jobs.runNow(reference, context), (view) => shown(view)),
    remove: (reference) => Effect.flatMap(jobs.remove(reference), (view) => shown(view)),
    resnap: (reference) => Effect.flatMap(jobs.resnap(reference), (view) => shown(view)),
    runs: (reference, limit) =>
      Effect.gen(function* () {
        const runs = yield* reference === null ? occurrences.list({ job: null, limit }) : runsOf(reference, limit)
        return yield* Effect.forEach(runs, withDeliveries)
      }),
    run: (id) =>
      Effect.gen(function* () {
        const number = ofRunId(id)
        const run = number === null ? null : yield* occurrences.get(number)
        if (run === null) return yield* new JobNotFound({ reference: id })
        return { run: yield* withDeliveries(run), text: yield* documentOf(run.output) }
      }),
    incidents: (options) => Effect.map(incidents.list(options), (all) => all.map(incidentView)),
    acknowledge: (id) => Effect.map(incidents.acknowledge(id), incidentView),
    notes: (reference) => Effect.flatMap(store.find(reference), notesOfJob),
    setNote: (reference, key, value) =>
      Effect.gen(function* () {
        const job = yield* store.find(reference)
        yield* notepad.set(job.number, key, value)
        return yield* notesOfJob(job)
      }),
    removeNote: (reference, key) => Effect.flatMap(store.find(reference), ({ number }) => notepad.remove(number, key)),
    preview
  })
})

export const layer: Layer.Layer<
  JobDesk,
  never,
  | Jobs
  | JobStore
  | Occurrences
  | Incidents
  | Notepad
  | TargetResolver
  | Outbox
  | GatewayAddresses
  | Settings
  | FileSystem.FileSystem
  | Path.Path
> = Layer.effect(JobDesk, make)
