import { FileSystem } from "@effect/platform"
import { Effect, Layer } from "effect"
import { readdirSync, readlinkSync, realpathSync, statSync } from "node:fs"
import * as path from "node:path"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import { allow, ask, CommandJudge, never } from "../../services/approval/CommandJudge.js"
import * as CommandLine from "../../services/approval/CommandLine.js"
import * as CommandVerdict from "../../services/approval/CommandVerdict.js"
import * as ForbiddenCommand from "../../services/approval/ForbiddenCommand.js"
import { type Homes, isSecretOfHome } from "../../services/approval/ProtectedPath.js"
import { GatewayAddresses } from "../../services/operation/GatewayAddress.js"
import { Settings } from "../../services/operation/Settings.js"
import * as BashTree from "../judge/BashTree.js"
import * as Directory from "../node/process/Directory.js"
import * as RealPath from "../node/RealPath.js"

const maxLinks = 40

const linkOf = (file: string): string | null => {
  try {
    return readlinkSync(file)
  } catch {
    return null
  }
}

/** As `RealPath.follow`, at once: a judgement looks at many words, most of which are no files. */
const follow = (file: string): string => {
  let links = 0
  for (let known = file, rest = ""; ;) {
    try {
      return path.join(realpathSync.native(known), rest)
    } catch {
      const parent = path.dirname(known)
      const target = linkOf(known)
      if (target !== null && ++links <= maxLinks) {
        known = path.resolve(parent, target)
        continue
      }
      if (parent === known) return file
      rest = path.join(path.basename(known), rest)
      known = parent
    }
  }
}

/** One of the home's secrets, or its configuration, when this real file is it under another name: a hard link is told by no path. */
const secretOf = (file: string, home: string): string | null => {
  try {
    const info = statSync(file)
    if (!info.isFile() || info.nlink < 2) return null
    const same = readdirSync(home).find((name) => {
      const secret =
        isSecretOfHome(name) || name === "config.yaml"
          ? statSync(path.join(home, name), { throwIfNoEntry: false })
          : undefined
      return secret?.ino === info.ino && secret.dev === info.dev
    })
    return same === undefined ? null : path.join(home, same)
  } catch {
    return null
  }
}

/** By this name the owner allows programs for good. */
const codeRule = "execute_code"

/** From the beginning, parsing and all: a command takes a fraction of this, only a text made to take long does not. */
const decisionMillis = 15

const lateAfter = (millis: number, now: () => number): (() => boolean) => {
  const from = now()
  return () => now() - from > millis
}

/** Commands are read as a shell would read them, and judged by what they would do (decision 26). */
export const layer: Layer.Layer<CommandJudge, never, FileSystem.FileSystem | Settings | AmbientEnvironment> =
  Layer.effect(
    CommandJudge,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const settings = yield* Settings
      const person = yield* RealPath.personHome
      const real = (file: string) => Effect.provideService(RealPath.follow(file), FileSystem.FileSystem, fs)
      const homes: Homes = { agent: yield* real(settings.home), person: yield* real(person) }
      const lists: CommandVerdict.Lists = { deny: settings.approvals.deny, allow: settings.approvals.allowlist }

      /** The gateway says where it listens, which may be elsewhere than configured; without its rows that is all there is. */
      const addresses = yield* Effect.serviceOption(GatewayAddresses)
      const ownPort = Effect.gen(function* () {
        if (addresses._tag === "None") return settings.apiServer.port
        const address = yield* Effect.orElseSucceed(addresses.value.current, () => null)
        return address === null ? settings.apiServer.port : Number(new URL(address.url).port)
      })

      const unread = (
        command: string,
        around: ForbiddenCommand.Surroundings,
        text: string
      ): ReadonlyArray<CommandLine.Found> => {
        const forbidden = ForbiddenCommand.scan(command, around)
        return [
          { verdict: "ask", rule: "judge", text, command: null },
          ...forbidden.reasons.map((reason) => ({ verdict: "never" as const, ...reason, command: null }))
        ]
      }

      const look = (command: string, directory: string, cron: boolean): Effect.Effect<CommandLine.Judged> =>
        Effect.gen(function* () {
          const around = { homes, workingDirectory: directory, port: yield* ownPort, cron, pid: process.pid }
          const parse = yield* Effect.either(BashTree.parser)
          if (parse._tag === "Left")
            return { found: unread(command, around, parse.left.message), commands: [], runs: [] }
          const clock = yield* Effect.clock
          const now = () => Number(clock.unsafeCurrentTimeNanos()) / 1e6
          const named = (file: string): string => {
            const known = follow(file)
            return secretOf(known, homes.agent) ?? known
          }
          const options = { parse: parse.right(now), follow: named, late: lateAfter(decisionMillis, now) }
          return CommandLine.judge(command, { ...around, ...options })
        })

      return CommandJudge.of({
        judge: (command, { cron, unattended, workingDirectory }) =>
          Effect.gen(function* () {
            const directory = follow(workingDirectory)
            const judged = yield* look(command, directory, cron)
            const found = [...judged.found]
            if (!Directory.isUsable(directory))
              found.push({
                verdict: "ask",
                rule: "workdir",
                text: `${workingDirectory} cannot be entered, so the command would run elsewhere`,
                command: null
              })
            return CommandVerdict.of({ ...judged, source: command, found }, lists, unattended ?? cron)
          }).pipe(Effect.withSpan("CommandJudge.judge")),
        code: (source, { cron }) =>
          Effect.gen(function* () {
            // Words of a program are no paths of a directory: `key` alone is no file.
            const around = { homes, workingDirectory: "/", port: yield* ownPort, cron }
            const forbidden = ForbiddenCommand.scan(source, around)
            if (forbidden.verdict === "never") return forbidden
            const pattern = CommandVerdict.denied([source, ...source.split("\n")], lists.deny)
            if (pattern !== null) return never("deny", `the owner's list forbids \`${pattern}\``)
            return lists.allow.includes(codeRule)
              ? allow
              : ask(codeRule, "runs a program of its own, which can reach the network")
          }),
        lifecycle: (script, { workingDirectory }) =>
          Effect.map(look(script, follow(workingDirectory), true), CommandVerdict.lifecycle)
      })
    })
  )
