import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Clock, Effect, Option, Schema } from "effect"
import { JobView, RunDocument, RunView } from "../../services/api/Jobs.js"
import { Instant } from "../../services/operation/Instant.js"
import { Desk } from "../../services/operation/Desk.js"
import { localTime } from "../../services/schedule/LocalTime.js"
import * as StuckJob from "../../services/schedule/StuckJob.js"
import { exported, imported } from "./cron/document.js"
import { incidents, notepad } from "./cron/memory.js"
import { next } from "./cron/next.js"
import { notInCron } from "./cron/notInCron.js"
import { fields, patchOf } from "./cron/options.js"
import * as Words from "./cron/words.js"
import { configuredZone, systemZone } from "./cron/zone.js"
import { desk } from "./desk.js"
import { usage } from "./failure.js"
import * as Listed from "./listed.js"
import { json } from "./invocation.js"
import { limit } from "./options.js"
import { answer, plain, table } from "./output.js"
import { running } from "./owner.js"
import { named } from "./named.js"

const reference = named("JOB").pipe(Args.withDescription("Its id, or its exact name."))
const all = Options.boolean("all").pipe(Options.withDescription("The finished ones too."))

const list = Command.make("list", { all }, (options) =>
  Effect.gen(function* () {
    const { jobs } = yield* Desk
    const now = yield* Clock.currentTimeMillis
    yield* answer(Schema.Array(JobView.pipe(Schema.pick(...Listed.job))), yield* jobs.list(options), (rows) =>
      table(
        Words.columns,
        rows.map((job) => Words.row(job, now)),
        options.all
          ? "No jobs. `hermes cron create 'weekdays at 9am' 'Plan my day'` makes one."
          : "No jobs are to come; `--all` shows those that are done. `hermes cron create 'weekdays at 9am' 'Plan my day'` makes one."
      )
    )
  })
).pipe(Command.withDescription("The jobs, next to run first."), Command.provide(desk))

const create = Command.make(
  "create",
  {
    ...fields,
    paused: Options.boolean("paused").pipe(Options.withDescription("Not scheduled before somebody resumes it.")),
    pausedReason: Options.text("paused-reason").pipe(Options.withDescription("Why it is paused."), Options.optional),
    schedule: Args.text({ name: "SCHEDULE" }).pipe(
      Args.withDescription(
        "30m (once), every 30m, every 1d at 09:00, weekdays at 9am, '0 9 * * 1-5', 2027-01-31T09:00."
      )
    ),
    prompt: Args.text({ name: "PROMPT" }).pipe(Args.withDescription("What is to be done then."), Args.optional)
  },
  ({ paused, pausedReason, prompt, schedule, ...asked }) =>
    Effect.zipRight(
      notInCron("a job"),
      Effect.gen(function* () {
        const { jobs } = yield* Desk
        const job = yield* jobs.create({
          ...patchOf(asked),
          schedule,
          ...(Option.isNone(prompt) ? {} : { prompt: prompt.value }),
          ...(paused ? { paused } : {}),
          ...(Option.isNone(pausedReason) ? {} : { pausedReason: pausedReason.value })
        })
        yield* answer(JobView, job, (made) => Words.changed("Made", made))
      }).pipe(Effect.provide(desk))
    )
).pipe(Command.withDescription("Makes a job."))

const edit = Command.make(
  "edit",
  {
    ...fields,
    schedule: Options.text("schedule").pipe(Options.withDescription("Another schedule."), Options.optional),
    prompt: Options.text("prompt").pipe(Options.withDescription("Another prompt."), Options.optional),
    agent: Options.boolean("agent").pipe(Options.withDescription("Asks a model again.")),
    noAttach: Options.boolean("no-attach").pipe(Options.withDescription("Its answers stand alone.")),
    reference
  },
  ({ agent, noAttach, prompt, reference, schedule, ...asked }) =>
    Effect.zipRight(
      notInCron("a job"),
      Effect.gen(function* () {
        const { jobs } = yield* Desk
        const patch = {
          ...patchOf(asked),
          ...(Option.isNone(schedule) ? {} : { schedule: schedule.value }),
          ...(Option.isNone(prompt) ? {} : { prompt: prompt.value }),
          ...(agent ? { noAgent: false } : {}),
          ...(noAttach ? { attachToSession: false } : {})
        }
        if (Object.keys(patch).length === 0)
          return yield* usage("nothing of it is to be changed; `hermes cron edit --help` shows what can be")
        const job = yield* jobs.edit(reference, patch)
        yield* answer(JobView, job, (changed) => Words.changed("Changed", changed))
      }).pipe(Effect.provide(desk))
    )
).pipe(Command.withDescription("Changes what is named; an empty text clears it."))

const show = Command.make("show", { reference }, ({ reference }) =>
  Effect.gen(function* () {
    const { jobs } = yield* Desk
    const now = yield* Clock.currentTimeMillis
    yield* answer(JobView, yield* jobs.get(reference), (job) => Words.inFull(job, now))
  })
).pipe(Command.withDescription("One job in full."), Command.provide(desk))

const pause = Command.make(
  "pause",
  {
    reason: Options.text("reason").pipe(Options.withDescription("Why, for whoever reads the list."), Options.optional),
    reference
  },
  ({ reason, reference }) =>
    Effect.gen(function* () {
      const { jobs } = yield* Desk
      yield* answer(JobView, yield* jobs.pause(reference, Option.getOrNull(reason)), (job) =>
        Words.changed("Paused", job)
      )
    })
).pipe(Command.withDescription("Puts a job aside; what runs goes on."), Command.provide(desk))

const resume = Command.make(
  "resume",
  {
    at: Options.text("at").pipe(
      Options.withPseudoName("TIME"),
      Options.withDescription("Another time for a single run: 30m, or 2027-01-31T09:00."),
      Options.optional
    ),
    reference
  },
  ({ at, reference }) =>
    Effect.gen(function* () {
      const { jobs } = yield* Desk
      yield* answer(JobView, yield* jobs.resume(reference, Option.getOrNull(at)), (job) =>
        Words.changed("Scheduled again", job)
      )
    })
).pipe(
  Command.withDescription("Takes a paused job up again, or a finished single one at a new time."),
  Command.provide(desk)
)

const run = Command.make(
  "run",
  {
    reference,
    prompt: Args.text({ name: "PROMPT" }).pipe(Args.withDescription("Said to this run and not kept."), Args.optional)
  },
  ({ prompt, reference }) =>
    Effect.gen(function* () {
      const { jobs } = yield* Desk
      yield* answer(JobView, yield* jobs.runNow(reference, Option.getOrNull(prompt)), (job) =>
        Words.changed("Asked to run", job)
      )
    })
).pipe(Command.withDescription("Runs a job now, beside its schedule."), Command.provide(desk))

const remove = Command.make("remove", { reference }, ({ reference }) =>
  Effect.gen(function* () {
    const { jobs } = yield* Desk
    yield* answer(JobView, yield* jobs.remove(reference), (job) => [`Removed: ${plain(job.name)} (${job.id})`])
  })
).pipe(Command.withDescription("Removes a job; a run that is under way ends and is delivered."), Command.provide(desk))

/** Each on the clock of its job, as long as that is there. With `--json` no job is asked for. */
const rowOfRun = Effect.gen(function* () {
  const { jobs } = yield* Desk
  const known = (yield* json) ? [] : yield* jobs.list({ all: true })
  const zones = new Map<string, string>(known.map((job) => [job.id, job.timezone]))
  // A gateway that runs shows its runs also while the settings are being edited and cannot be read.
  const timezone = yield* Effect.orElse(configuredZone, () => systemZone)
  return (run: RunView) => Words.runRow(run, zones.get(run.jobId) ?? timezone)
})

const runs = Command.make(
  "runs",
  {
    limit: limit(20, 500),
    reference: named("JOB|RUN").pipe(
      Args.withDescription(
        "Of this job, also of a removed one by its id; of all when left out. The id of a run shows its document."
      ),
      Args.optional
    )
  },
  ({ limit, reference }) =>
    Effect.gen(function* () {
      const { jobs } = yield* Desk
      const wanted = Option.getOrNull(reference)
      const row = yield* rowOfRun
      if (wanted !== null && /^run_\d+$/.test(wanted))
        return yield* answer(RunDocument, yield* jobs.run(wanted), ({ run, text }) => [
          ...table(Words.runColumns, [row(run)], ""),
          "",
          text === null ? "It left no document." : plain(text)
        ])
      yield* answer(Schema.Array(RunView.pipe(Schema.pick(...Listed.run))), yield* jobs.runs(wanted, limit), (rows) =>
        table(Words.runColumns, rows.map(row), "No runs yet.")
      )
    })
).pipe(Command.withDescription("What came of the runs, newest first."), Command.provide(desk))

const Status = Schema.Struct({
  gateway: Schema.Struct({ running: Schema.Boolean, url: Schema.NullOr(Schema.String) }),
  scheduled: Schema.Int,
  paused: Schema.Int,
  failing: Schema.Int,
  next: Schema.NullOr(Instant),
  overdue: Schema.Array(Schema.String),
  /** Jobs whose last run is still to come by the clock: it was ahead. */
  ahead: Schema.Array(Schema.String)
})

const status = Command.make("status", {}, () =>
  Effect.gen(function* () {
    const { jobs } = yield* Desk
    const gateway = yield* running
    const now = yield* Clock.currentTimeMillis
    const all = yield* jobs.list({ all: false })
    const scheduled = all.filter((job) => job.state === "scheduled")
    const due = scheduled.flatMap(({ nextRunAt: at, timezone }) => (at === null ? [] : [{ at, timezone }]))
    const soonest = due.reduce<(typeof due)[number] | null>((a, b) => (a === null || b.at < a.at ? b : a), null)
    const found = {
      gateway: { running: gateway !== null, url: gateway?.address.url ?? null },
      scheduled: scheduled.length,
      paused: all.filter((job) => job.state === "paused").length,
      failing: all.filter((job) => job.failureStreak > 0).length,
      next: soonest?.at ?? null,
      overdue: scheduled.filter((job) => Words.isOverdue(job, now)).map((job) => job.id),
      ahead: StuckJob.ahead(
        all.map((job) => ({ id: job.id, lastAt: job.lastRunAt })),
        now
      ).map(({ id }) => id)
    }
    yield* answer(Status, found, (seen) => [
      seen.gateway.running
        ? `A gateway runs at ${seen.gateway.url ?? "?"} and starts jobs.`
        : "No gateway runs: jobs wait until `hermes gateway` does.",
      `${seen.scheduled} scheduled, ${seen.paused} paused, ${seen.failing} failing`,
      `next: ${soonest === null ? "none" : localTime(soonest.at, soonest.timezone)}`,
      ...(seen.overdue.length === 0 ? [] : [`overdue: ${seen.overdue.join(", ")}`]),
      ...(seen.ahead.length === 0
        ? []
        : [`ran while the clock was ahead, and not again when that time comes: ${seen.ahead.join(", ")}`])
    ])
  })
).pipe(Command.withDescription("Who runs the jobs, and whether they are on time."), Command.provide(desk))

export const command = Command.make("cron").pipe(
  Command.withDescription("Scheduled jobs: when the agent works by itself, and what came of it."),
  Command.withSubcommands([
    list,
    create,
    edit,
    show,
    pause,
    resume,
    run,
    remove,
    runs,
    status,
    next,
    incidents,
    notepad,
    exported,
    imported
  ])
)
