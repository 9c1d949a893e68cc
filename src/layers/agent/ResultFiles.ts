import * as CutText from "../../services/operation/CutText.js"
import { FileSystem } from "@effect/platform"
import { Clock, Effect } from "effect"
import * as path from "node:path"

/** Longest result that a model gets whole, and all results of one answer together, in UTF-16 units. */
export const maxResult = 100_000
export const maxBatch = 200_000

const shownHead = 6_000
const shownTail = 4_000
const keptMillis = 7 * 24 * 3_600_000

/** Keeps results that are too long for a conversation in the home's cache, a week long, for the owner's eyes only. */
export interface ResultFiles {
  /** The text itself when it has room in `limit`; else its beginning and end with the path of the whole. */
  readonly within: (limit: number, name: string, text: string) => Effect.Effect<string>
}

export const make = (home: string): Effect.Effect<ResultFiles, never, FileSystem.FileSystem> =>
  Effect.map(FileSystem.FileSystem, (fs): ResultFiles => {
    const directory = path.join(home, "cache", "tool-results")

    const prune = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const name of yield* fs.readDirectory(directory)) {
        const file = path.join(directory, name)
        const info = yield* Effect.option(fs.stat(file))
        if (info._tag === "None" || info.value.mtime._tag === "None") continue
        if (now - info.value.mtime.value.getTime() > keptMillis) yield* fs.remove(file, { force: true })
      }
    })

    const keep = (name: string, text: string) =>
      Effect.gen(function* () {
        yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
        yield* Effect.ignoreLogged(prune)
        const file = path.join(directory, `${name.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 150)}.txt`)
        yield* fs.writeFileString(file, text, { mode: 0o600 })
        return `The whole text is in ${file}; read_file shows any part of it.`
      }).pipe(
        Effect.catchAll((error) =>
          Effect.as(
            Effect.logWarning("a long tool result could not be kept", error),
            "The rest could not be kept: ask for less at a time."
          )
        )
      )

    return {
      within: (limit, name, text) =>
        text.length <= limit
          ? Effect.succeed(text)
          : Effect.map(keep(name, text), (where) => {
              const head = CutText.beginning(text, Math.min(shownHead, limit))
              const tail = CutText.end(text, Math.min(shownTail, limit))
              return `${head}\n\n[… this result has ${text.length} characters; here are its beginning and its end. ${where} …]\n\n${tail}`
            })
    }
  })
