/**
 * Forgets files that came in with messages: those that are older than the settings keep them, and the oldest of what is
 * too much in all. What a message that waits, an event that is not answered or a turn that runs may still open stays.
 */
import { FileSystem } from "@effect/platform"
import { Clock, Effect, Layer, Option, Schema } from "effect"
import * as path from "node:path"
import * as Turn from "../../fibers/Turn.js"
import { Settings } from "../../services/operation/Settings.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Rows from "./Rows.js"
import * as Daily from "../operation/Daily.js"

const hourMillis = 3_600_000
const dayMillis = 24 * hourMillis

/** What came in so lately may not be named by a row yet. */
const leastAgeMillis = hourMillis

/** A start is no time for it: people wait. */
const firstAfter = "15 minutes"

interface Kept {
  readonly file: string
  readonly bytes: number
  /** When it came in last, epoch milliseconds. */
  readonly at: number
}

/** What one run has removed, and what is there still. */
export interface Forgotten {
  readonly files: number
  readonly bytes: number
  readonly left: number
}

/** A file is named `<digest>-<name>`; the digest is in no other text by chance. */
const digestOf = (file: string): string => path.basename(file).split("-", 1)[0] ?? file

const Text = Rows.whole(Schema.Struct({ text: Schema.String }))

/** Whatever may name a file that is still to be opened. */
const inUse: Effect.Effect<string, StateError, Database> = Effect.flatMap(Database, (database) =>
  database.read("media.in_use", (sql) =>
    Effect.map(
      Text(sql`SELECT media AS text FROM deliveries WHERE state IN ('pending', 'sending') AND media IS NOT NULL
        UNION ALL SELECT event FROM inbound_events WHERE state = 'accepted'
        UNION ALL SELECT event FROM inbound_events WHERE id IN (SELECT inbox_id FROM turns WHERE ended_at IS NULL)
        UNION ALL SELECT coalesce(media, '') || text FROM messages WHERE active = 1 AND role = 'user'
          AND session_id IN (SELECT identity ->> '$.sessionId' FROM turns WHERE ended_at IS NULL)`),
      (rows) => rows.map(({ text }) => text).join("\n")
    )
  )
)

const list = (folder: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const names = yield* Effect.orElseSucceed(fs.readDirectory(folder, { recursive: true }), () => [])
    const found = yield* Effect.forEach(names, (name) =>
      Effect.map(Effect.option(fs.stat(path.join(folder, name))), (info): ReadonlyArray<Kept> =>
        Option.isSome(info) && info.value.type === "File" && Option.isSome(info.value.mtime)
          ? [{ file: path.join(folder, name), bytes: Number(info.value.size), at: info.value.mtime.value.getTime() }]
          : []
      )
    )
    return found.flat().toSorted((a, b) => a.at - b.at)
  })

/** Which of the files go, oldest first. Pure. */
export const due = (
  files: ReadonlyArray<Kept>,
  named: (file: string) => boolean,
  limits: { readonly now: number; readonly days: number; readonly totalBytes: number }
): ReadonlyArray<Kept> => {
  let left = files.reduce((sum, { bytes }) => sum + bytes, 0)
  return files.filter(({ at, bytes, file }) => {
    const age = limits.now - at
    if (age < leastAgeMillis || (age <= limits.days * dayMillis && left <= limits.totalBytes) || named(file))
      return false
    left -= bytes
    return true
  })
}

/** Looks through the home's `media` folder once. What cannot be removed is looked at again the next time. */
export const forget = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const { home, media } = yield* Settings
  const files = yield* list(path.join(home, "media"))
  if (files.length === 0) return { files: 0, bytes: 0, left: 0 } satisfies Forgotten
  const texts = yield* inUse
  const gone = yield* Effect.filter(
    due(files, (file) => texts.includes(digestOf(file)), {
      now: yield* Clock.currentTimeMillis,
      days: media.retentionDays,
      totalBytes: media.maxTotalBytes
    }),
    ({ file }) =>
      fs.remove(file).pipe(
        Effect.as(true),
        Effect.catchAll((error) => Effect.as(Effect.logWarning("an old file could not be removed", error), false))
      )
  )
  const bytes = gone.reduce((sum, one) => sum + one.bytes, 0)
  if (gone.length > 0)
    yield* Effect.logInfo(`removed ${gone.length} files that came in with messages, ${Math.ceil(bytes / 1_048_576)} MB`)
  return { files: gone.length, bytes, left: files.length - gone.length } satisfies Forgotten
})

/** Once a day, as long as the gateway lives. */
export const layer: Layer.Layer<never, never, Database | FileSystem.FileSystem | Settings> = Layer.scopedDiscard(
  Turn.forkWorker(Daily.repeated(forget, { firstAfter, trouble: "files that came in could not be looked through" }))
)
