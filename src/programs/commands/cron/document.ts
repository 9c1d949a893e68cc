/** `hermes cron export|import`: jobs as YAML, for people to keep, compare and edit. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, Schema } from "effect"
import process from "node:process"
import { JobView } from "../../../services/api/Jobs.js"
import { Desk, type DeskError } from "../../../services/operation/Desk.js"
import * as Misfit from "../../../services/operation/Misfit.js"
import { isTerminal } from "../../../services/schedule/Job.js"
import * as JobExport from "../../../services/schedule/JobExport.js"
import { desk } from "../desk.js"
import { failed, unreadable } from "../failure.js"
import { json } from "../invocation.js"
import { answer, note, plain, say } from "../output.js"
import { notInCron } from "./notInCron.js"

const yaml = Effect.promise(() => import("yaml"))

export const exported = Command.make(
  "export",
  { jobs: Args.text({ name: "JOB" }).pipe(Args.withDescription("Ids or names; all when left out."), Args.repeated) },
  ({ jobs }) =>
    Effect.gen(function* () {
      const { jobs: known } = yield* Desk
      const all = yield* known.all
      const wanted = jobs.length === 0 ? all.filter((job) => !isTerminal(job)) : yield* Effect.forEach(jobs, known.get)
      if (jobs.length === 0 && wanted.length < all.length)
        yield* note(`${all.length - wanted.length} jobs that are over are left out; name them to have them too`)
      const names = JobExport.of(all)
      const ids = new Set<string>(wanted.map((job) => job.id))
      const document = { ...names, jobs: names.jobs.filter((_, index) => ids.has(all[index]?.id ?? "")) }
      if (yield* json) return yield* answer(JobExport.JobDocument, document, () => [])
      const { stringify } = yield* yaml
      yield* say(stringify(document, { lineWidth: 0 }).trimEnd())
    })
).pipe(Command.withDescription("Writes jobs as YAML to stdout."), Command.provide(desk))

const longest = 10_000_000
/** What has no end of its own, such as `/dev/zero`; a pipe has. */
const endless: ReadonlySet<FileSystem.File.Type> = new Set<FileSystem.File.Type>(["CharacterDevice", "BlockDevice"])

const read = (file: string) =>
  file === "-"
    ? NodeStream.toString(() => process.stdin, {
        onFailure: (error) => failed(`stdin cannot be read: ${error instanceof Error ? error.message : String(error)}`),
        maxBytes: longest
      })
    : Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const { size, type } = yield* fs.stat(file)
        if (endless.has(type)) return yield* failed(`${file} is a device, and no file with jobs`)
        if (size > longest) return yield* failed(`${file} is longer than ${longest / 1e6} MB`)
        return yield* fs.readFileString(file)
      }).pipe(
        Effect.catchTags({
          BadArgument: (error) => unreadable(file, error),
          SystemError: (error) => unreadable(file, error)
        })
      )

const parsed = (file: string, text: string) =>
  Effect.gen(function* () {
    const { parseAllDocuments } = yield* yaml
    const value = yield* Effect.try({
      try: (): unknown => {
        const [document, another] = [...parseAllDocuments(text)]
        if (another !== undefined)
          throw new Error("it holds more than one document (parted by ---); one file is one list")
        const [error] = document?.errors ?? []
        // What follows shows the place as a drawing.
        if (error !== undefined) throw new Error(error.message.split("\n")[0]?.replace(/:$/, ""))
        return document?.toJS()
      },
      // The parser calls itself for each level, and its stack ends.
      catch: (error) =>
        failed(
          `${file}: ${error instanceof RangeError ? "it is nested too deeply to be read" : error instanceof Error ? error.message : String(error)}`
        )
    })
    if (typeof value !== "object" || value === null || !("jobs" in value) || !Array.isArray(value.jobs))
      return yield* failed(
        `${file}: it has to be a mapping with a list of jobs under \`jobs\`, as \`hermes cron export\` writes it`
      )
    return yield* Misfit.decoder(JobExport.JobDocument)(value).pipe(
      Effect.mapError((error) =>
        failed(
          Misfit.issues(error)
            .map((issue) => `${file}: ${Misfit.line(issue)}`)
            .join("\n")
        )
      )
    )
  })

const Imported = Schema.Array(
  Schema.Struct({
    name: Schema.NullOr(Schema.String),
    outcome: Schema.Literal("created", "updated", "refused"),
    job: Schema.NullOr(JobView),
    problem: Schema.NullOr(Schema.String)
  })
)

type Row = (typeof Imported.Type)[number]
const rowOf = (row: Row): Row => row

/** Each note once, with the jobs that it is about where it is not about all: a file of fifty says nothing fifty times. */
const notesOf = (rows: typeof Imported.Type): ReadonlyArray<string> => {
  const taken = rows.filter(({ job }) => job !== null).length
  const about = new Map<string, Array<string>>()
  for (const { job } of rows)
    for (const note of job?.notes ?? []) about.set(note, [...(about.get(note) ?? []), job?.name ?? ""])
  return [...about].map(([note, names]) =>
    plain(names.length === taken ? `note: ${note}` : `note: ${names.join(", ")}: ${note}`)
  )
}

export const imported = Command.make(
  "import",
  {
    update: Options.boolean("update").pipe(Options.withDescription("Changes a job that has the name already.")),
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("What `export` wrote; - reads stdin."))
  },
  ({ file, update }) =>
    Effect.zipRight(
      notInCron("a job"),
      Effect.gen(function* () {
        const { jobs } = yield* Desk
        const document = yield* parsed(file, yield* read(file))
        const entries = JobExport.inOrder(document.jobs)
        const made = yield* Effect.forEach(entries, (entry, index) => {
          const startable = JobExport.startable(entry, entries.slice(index + 1))
          const { paused, pausedReason, ...draft } = JobExport.draft(startable)
          const edit = (name: string) =>
            Effect.gen(function* () {
              const there = yield* jobs.get(name)
              const changed = yield* jobs.edit(there.id, JobExport.change(startable, there))
              const isPaused = changed.state === "paused"
              const job =
                paused === true && !isPaused
                  ? yield* jobs.pause(there.id, pausedReason ?? null)
                  : paused !== true && isPaused
                    ? yield* jobs.resume(there.id, null)
                    : changed
              return { outcome: "updated" as const, job }
            })
          const create = Effect.map(
            jobs.create(paused === true ? { ...draft, paused, pausedReason } : draft),
            (job) => ({
              outcome: "created" as const,
              job
            })
          )
          const name = entry.name ?? null
          const isTaken = (error: DeskError) => error._tag === "Refused" && error.code === "job_name_taken"
          return create.pipe(
            Effect.catchIf(
              (error) => isTaken(error) && update && name !== null,
              () => edit(name ?? "")
            ),
            Effect.map(({ job, outcome }) => ({
              row: rowOf({ name: job.name, outcome, job, problem: null }),
              waits: startable === entry ? null : (entry.contextFrom ?? null)
            })),
            // One that cannot be taken leaves the others in peace; anything else ends the command.
            Effect.catchIf(
              (error) => error._tag === "Refused",
              (error) => {
                const problem = isTaken(error)
                  ? `${error.message}, or give \`--update\` to have it changed to what this file says`
                  : error.message
                return Effect.succeed({ row: rowOf({ name, outcome: "refused", job: null, problem }), waits: null })
              }
            )
          )
        })
        // Jobs that are given each other's answers: all of them are there now.
        const outcomes = yield* Effect.forEach(made, ({ row, waits }) =>
          waits === null || row.job === null
            ? Effect.succeed(row)
            : jobs.edit(row.job.id, { contextFrom: waits }).pipe(
                Effect.map((job): Row => ({ ...row, job })),
                Effect.catchIf(
                  (error) => error._tag === "Refused",
                  (error) => Effect.succeed<Row>({ ...row, outcome: "refused", problem: error.message })
                )
              )
        )
        yield* answer(Imported, outcomes, (rows) => [
          ...rows.map(({ name, outcome, problem }) =>
            plain(`${outcome}: ${name ?? "a job without a name"}${problem === null ? "" : `: ${problem}`}`)
          ),
          ...notesOf(rows)
        ])
        const refused = outcomes.filter(({ outcome }) => outcome === "refused").length
        if (refused > 0) return yield* failed(`${refused} of ${outcomes.length} jobs were not taken`)
      }).pipe(Effect.provide(desk))
    )
).pipe(Command.withDescription("Makes the jobs of a YAML file."))
