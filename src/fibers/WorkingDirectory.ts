/** The logical working directory: pinned by the turn, never the process's (gateway.md 1.6). */
import { FileSystem } from "@effect/platform"
import { Effect, FiberRef, Option } from "effect"
import { AmbientEnvironment } from "./AmbientEnvironment.js"
import * as Field from "./Field.js"
import * as facts from "./internal/facts.js"

const configuredName = "TERMINAL_CWD"

/** Looks up the directory's own dot: the system answers only when the directory may be entered, which reading its names does not prove. */
const isDirectory = (path: string): Effect.Effect<boolean, never, FileSystem.FileSystem> =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.stat(`${path}/.`)).pipe(
    Effect.match({ onFailure: () => false, onSuccess: (info) => info.type === "Directory" })
  )

/** The directory that this turn is pinned to. */
export const pinned: Effect.Effect<Option.Option<string>> = Effect.map(
  FiberRef.get(facts.workingDirectoryRef),
  (field) => Option.fromNullable(Field.valueOrNull(field))
)

/**
 * Where the agent works: the pinned directory, else `TERMINAL_CWD`, else `processDirectory`. One that cannot be
 * entered is skipped with a warning.
 */
export const forAgent = (
  processDirectory: string
): Effect.Effect<string, never, AmbientEnvironment | FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const environment = yield* AmbientEnvironment
    const candidates = [Option.getOrUndefined(yield* pinned), environment[configuredName]]
    for (const candidate of candidates) {
      if (candidate === undefined || candidate === "") continue
      if (yield* isDirectory(candidate)) return candidate
      yield* Effect.logWarning("working directory cannot be entered, trying the next").pipe(
        Effect.annotateLogs({ directory: candidate })
      )
    }
    return processDirectory
  })

/**
 * Whose project instructions to load: the pinned directory, and none at all when it cannot be entered — never another
 * project's; without a pin `TERMINAL_CWD`.
 */
export const forInstructions: Effect.Effect<
  Option.Option<string>,
  never,
  AmbientEnvironment | FileSystem.FileSystem
> = Effect.gen(function* () {
  const own = yield* pinned
  if (Option.isSome(own)) return (yield* isDirectory(own.value)) ? own : Option.none()
  const environment = yield* AmbientEnvironment
  const configured = environment[configuredName]
  return configured !== undefined && configured !== "" && (yield* isDirectory(configured))
    ? Option.some(configured)
    : Option.none()
})
