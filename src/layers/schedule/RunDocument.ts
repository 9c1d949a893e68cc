/** One Markdown document a run under `cron/output/<job>/`, the newest kept (cron-delivery.md 3.10). */
import { FileSystem, Path, type Error as PlatformError } from "@effect/platform"
import { Effect, Option } from "effect"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Job } from "../../services/schedule/Job.js"
import { localTime } from "../../services/schedule/LocalTime.js"

const ownerOnlyDirectory = 0o700
const ownerOnlyFile = 0o600

export interface Document {
  readonly job: Job
  readonly runId: string
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly failed: boolean
  readonly prompt: string | null
  readonly text: string
}

const body = (document: Document, time: string): string =>
  [
    `# ${document.job.name}${document.failed ? " (FAILED)" : ""}`,
    "",
    `- Job: ${document.job.id}`,
    `- Run: ${document.runId}`,
    `- Time: ${time}`,
    `- Schedule: ${document.job.schedule}`,
    ...(document.prompt === null ? [] : ["", "## Prompt", "", document.prompt]),
    "",
    document.failed ? "## Error" : "## Response",
    "",
    document.text,
    ""
  ].join("\n")

export const make = Effect.gen(function* () {
  const settings = yield* Settings
  const redactor = yield* Redactor
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path

  /** Relative to the home. */
  const folderOf = (job: Job): string => path.join("cron", "output", job.id)

  const prune = (folder: string) =>
    Effect.gen(function* () {
      const keep = settings.cron.outputRetention
      if (keep === 0) return
      const names = (yield* fs.readDirectory(folder)).filter((name) => name.endsWith(".md"))
      if (names.length <= keep) return
      // Names are of the wall clock, which goes back in autumn and where the zone is another.
      const written = yield* Effect.forEach(names, (name) =>
        Effect.map(fs.stat(path.join(folder, name)), ({ mtime }) => ({
          name,
          at: Option.match(mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
        }))
      )
      const oldest = written.sort((one, other) => one.at - other.at || (one.name < other.name ? -1 : 1))
      yield* Effect.forEach(oldest.slice(0, names.length - keep), ({ name }) =>
        fs.remove(path.join(folder, name), { force: true })
      )
    })

  return {
    /** Those of a job that was removed while it ran. */
    discard: (job: Job): Effect.Effect<void, PlatformError.PlatformError> =>
      fs.remove(path.join(settings.home, folderOf(job)), { recursive: true, force: true }),
    /** Writes it whole or not at all; answers its path relative to the home. */
    save: (document: Document): Effect.Effect<string, PlatformError.PlatformError> =>
      Effect.gen(function* () {
        const time = `${localTime(document.startedAt, settings.timezone)}`
        const seconds = String(Math.floor(document.startedAt / 1_000) % 60).padStart(2, "0")
        const stamp = `${time.replace(" ", "_").replace(/:/g, "-")}${/:\d\d:/.test(time) ? "" : `-${seconds}`}`
        const relative = folderOf(document.job)
        const folder = path.join(settings.home, relative)
        yield* fs.makeDirectory(folder, { recursive: true, mode: ownerOnlyDirectory })
        const taken = yield* fs.exists(path.join(folder, `${stamp}.md`))
        const name = taken ? `${stamp}-${document.runId}.md` : `${stamp}.md`
        const temporary = path.join(folder, `.${document.runId}.new`)
        yield* fs.writeFileString(temporary, redactor.text(body(document, time)), { mode: ownerOnlyFile })
        yield* fs.rename(temporary, path.join(folder, name))
        yield* prune(folder).pipe(
          Effect.catchAll((error) => Effect.logWarning("old documents of a job could not be deleted", error))
        )
        return path.join(relative, name)
      })
  }
})

export type RunDocument = Effect.Effect.Success<typeof make>
