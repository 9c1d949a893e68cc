import { FileSystem } from "@effect/platform"
import { Effect, Either, Layer } from "effect"
import * as path from "node:path"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import { allow, ask, CommandJudge, type Verdict } from "../../services/approval/CommandJudge.js"
import * as ForbiddenCommand from "../../services/approval/ForbiddenCommand.js"
import { type Homes, holdsProtected, reading } from "../../services/approval/ProtectedPath.js"
import * as ReadOnlyCommand from "../../services/approval/ReadOnlyCommand.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Directory from "../node/process/Directory.js"
import * as RealPath from "../node/RealPath.js"

/** The owner's configuration of a work tree counts; one that a directory brings along as a bare repository does not. */
const inWorkTree = (directory: string): Effect.Effect<boolean, never, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const has = (name: string) => Effect.orElseSucceed(fs.exists(path.join(directory, name)), () => false)
    if (yield* has(".git")) return true
    if ((yield* has("HEAD")) && (yield* has("objects"))) return false
    const parent = path.dirname(directory)
    return parent === directory ? true : yield* inWorkTree(parent)
  })

/** The judge of this version: what is forbidden is found by its words, what is read-only by a list, everything else asks. */
export const layer: Layer.Layer<CommandJudge, never, FileSystem.FileSystem | Settings | AmbientEnvironment> =
  Layer.effect(
    CommandJudge,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const settings = yield* Settings
      const person = yield* RealPath.personHome
      const real = (file: string) => Effect.provideService(RealPath.follow(file), FileSystem.FileSystem, fs)
      const homes: Homes = { agent: yield* real(settings.home), person: yield* real(person) }

      const judgePath = (command: ReadOnlyCommand.ReadOnlyCommand, directory: string, written: string) =>
        Effect.gen(function* () {
          const file = yield* real(path.resolve(directory, written))
          if (!ReadOnlyCommand.isInside(directory, file))
            return ask("path", `\`${written}\` leads outside of the working directory`)
          const verdict = command.reads ? reading(file, homes) : allow
          if (verdict.verdict !== "allow") return verdict
          if (command.reads && command.descends && holdsProtected(file, homes))
            return ask("protected", `\`${written}\` holds files that are not the agent's`)
          if (command.filesOnly) {
            const kind = yield* Effect.option(fs.stat(file))
            if (kind._tag === "Some" && kind.value.type === "Directory")
              return ask("path", `\`${written}\` is a directory, whose links would be followed`)
          }
          return allow
        })

      const judgeReadOnly = (command: ReadOnlyCommand.ReadOnlyCommand, directory: string): Effect.Effect<Verdict> =>
        Effect.gen(function* () {
          if (command.name.startsWith("git ") && !(yield* inWorkTree(directory)))
            return ask(
              "git-bare",
              "the directory is a repository without a work tree, whose configuration can run commands"
            )
          if (directory === path.parse(directory).root && command.paths.length > 0)
            return ask("path", "the working directory is the whole disk")
          for (const written of command.paths) {
            const verdict = yield* judgePath(command, directory, written)
            if (verdict.verdict !== "allow") return verdict
          }
          return allow
        }).pipe(Effect.provideService(FileSystem.FileSystem, fs))

      return CommandJudge.of({
        judge: (command, { cron, workingDirectory }) =>
          Effect.gen(function* () {
            const directory = yield* real(workingDirectory)
            const forbidden = ForbiddenCommand.scan(command, {
              homes,
              workingDirectory: directory,
              port: settings.apiServer.port,
              cron
            })
            if (forbidden.verdict === "never") return forbidden
            if (!Directory.isUsable(directory))
              return ask("workdir", `${workingDirectory} cannot be entered, so the command would run elsewhere`)
            const parsed = ReadOnlyCommand.parse(command, workingDirectory)
            if (Either.isLeft(parsed)) return { verdict: "ask", reasons: [parsed.left] } satisfies Verdict
            return yield* judgeReadOnly(parsed.right, directory)
          }).pipe(Effect.withSpan("CommandJudge.judge"))
      })
    })
  )
