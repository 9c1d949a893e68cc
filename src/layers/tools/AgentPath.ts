import { FileSystem } from "@effect/platform"
import { Effect } from "effect"
import * as path from "node:path"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as WorkingDirectory from "../../fibers/WorkingDirectory.js"
import { ToolFailure } from "../../services/agent/Tool.js"
import type { Verdict } from "../../services/approval/CommandJudge.js"
import * as ProtectedPath from "../../services/approval/ProtectedPath.js"
import { Settings } from "../../services/operation/Settings.js"
import * as RealPath from "../node/RealPath.js"

/** A path as the model wrote it, and the file that it really means. */
export interface AgentPath {
  readonly written: string
  /** Every symlink followed. */
  readonly real: string
}

/** Where the model's paths lead, and which files it may touch. */
export interface AgentPaths {
  /** The directory that relative paths of the current turn stand in. */
  readonly directory: Effect.Effect<string>
  /** `~` is the person's home; a relative path stands in the working directory. */
  readonly resolve: (written: string) => Effect.Effect<AgentPath, ToolFailure>
  /** As `resolve`, for a directory itself: not followed, so that a command starts where it was told to. */
  readonly absolute: (written: string) => Effect.Effect<string, ToolFailure>
  readonly reading: (file: AgentPath) => Effect.Effect<Verdict>
  readonly writing: (file: AgentPath) => Effect.Effect<Verdict>
  /** As `reading`, for a walk: by the path alone. */
  readonly mayRead: (real: string) => Verdict["verdict"]
}

const sameFile = (a: FileSystem.File.Info, b: FileSystem.File.Info): boolean =>
  a.dev === b.dev && a.ino._tag === "Some" && b.ino._tag === "Some" && a.ino.value === b.ino.value

export const make: Effect.Effect<AgentPaths, never, FileSystem.FileSystem | Settings | AmbientEnvironment> = Effect.gen(
  function* () {
    const fs = yield* FileSystem.FileSystem
    const settings = yield* Settings
    const environment = yield* AmbientEnvironment
    const person = yield* RealPath.personHome
    const follow = (file: string) => Effect.provideService(RealPath.follow(file), FileSystem.FileSystem, fs)
    const homes: ProtectedPath.Homes = { agent: yield* follow(settings.home), person: yield* follow(person) }
    const started = settings.terminal.workingDirectory ?? process.cwd()

    const directory = WorkingDirectory.forAgent(started).pipe(
      Effect.provideService(AmbientEnvironment, environment),
      Effect.provideService(FileSystem.FileSystem, fs)
    )

    const absolute = (written: string) =>
      Effect.gen(function* () {
        if (written.trim() === "") return yield* new ToolFailure({ text: "the path is empty" })
        if (written.includes("\u0000")) return yield* new ToolFailure({ text: "the path has a NUL in it" })
        const file = written.replace(/^~(?=\/|$)/, homes.person)
        return path.isAbsolute(file) ? path.normalize(file) : path.resolve(yield* directory, file)
      })

    /** A hard link is the file under another name, which no path tells. */
    const isLinkToSecret = (file: string) =>
      Effect.gen(function* () {
        const info = yield* Effect.option(fs.stat(file))
        if (info._tag === "None" || info.value.nlink._tag === "None" || info.value.nlink.value < 2) return false
        const names = yield* Effect.orElseSucceed(fs.readDirectory(homes.agent), () => [])
        for (const name of names.filter(ProtectedPath.isSecretOfHome)) {
          const secret = yield* Effect.option(fs.stat(path.join(homes.agent, name)))
          if (secret._tag === "Some" && sameFile(secret.value, info.value)) return true
        }
        return false
      })

    const judged = (rule: (file: string, homes: ProtectedPath.Homes) => Verdict) => (file: AgentPath) =>
      Effect.map(isLinkToSecret(file.real), (linked): Verdict =>
        linked
          ? {
              verdict: "never",
              reasons: [{ rule: "agent-secret", text: `${file.written} is the agent's own file by another name` }]
            }
          : rule(file.real, homes)
      )

    return {
      directory,
      absolute,
      resolve: (written) =>
        Effect.flatMap(absolute(written), (file) => Effect.map(follow(file), (real) => ({ written, real }))),
      reading: judged(ProtectedPath.reading),
      writing: judged(ProtectedPath.writing),
      mayRead: (real) => ProtectedPath.reading(real, homes).verdict
    }
  }
)
