import { FileSystem } from "@effect/platform"
import { Effect } from "effect"
import * as path from "node:path"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"

/** The person's home directory, what `~` stands for: `HOME` as it was at start; without one the root, which protects most. */
export const personHome: Effect.Effect<string, never, AmbientEnvironment> = Effect.map(
  AmbientEnvironment,
  (environment) => environment["HOME"] || "/"
)

const maxLinks = 40

/**
 * Where an absolute path really leads: every symlink followed, also a dangling one, and what does not exist yet kept
 * as the rest of its nearest existing directory.
 */
export const follow = (file: string): Effect.Effect<string, never, FileSystem.FileSystem> => walk(path.resolve(file), 0)

const walk = (file: string, links: number): Effect.Effect<string, never, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const known = yield* Effect.option(fs.realPath(file))
    if (known._tag === "Some") return known.value
    const parent = path.dirname(file)
    if (parent === file) return file
    const target = yield* Effect.option(fs.readLink(file))
    const at = path.join(yield* walk(parent, links), path.basename(file))
    return target._tag === "Some" && links < maxLinks
      ? yield* walk(path.resolve(path.dirname(at), target.value), links + 1)
      : at
  })
