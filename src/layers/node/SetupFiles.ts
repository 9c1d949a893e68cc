/** Changes `config.yaml` and `.env` together, or neither, by one writer at a time. */
import { FileSystem } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Effect, Redacted } from "effect"
import path from "node:path"
import { ConfigUnavailable, type UnknownKey, type ValueRefused } from "../../services/operation/Config.js"
import type { SettingsUnusable } from "../../services/operation/Settings.js"
import type { Changes } from "../../services/operation/Setup.js"
import * as ConfigText from "./ConfigText.js"
import * as DotEnv from "./DotEnv.js"
import * as FileReplacement from "./FileReplacement.js"
import * as PlainFile from "./PlainFile.js"
import * as RealPath from "./RealPath.js"
import * as SetupLock from "./SetupLock.js"

const ownerOnly = 0o600

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const isAbsent = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"

/**
 * Reads both files and writes what differs, while no other process does; waits for one that does. A link stays, and the
 * file that it leads to is written. `suffix` names drafts that are no other's.
 */
export const write = (
  home: string,
  changes: Changes,
  suffix: string
): Effect.Effect<void, ConfigUnavailable | UnknownKey | ValueRefused | SettingsUnusable, FileSystem.FileSystem> => {
  const [config, secrets] = [path.join(home, "config.yaml"), path.join(home, ".env")]
  const unavailable = (file: string) => (error: { readonly message: string }) =>
    new ConfigUnavailable({ file, detail: error.message })
  const textOf = (file: string) =>
    PlainFile.text(file).pipe(
      Effect.catchIf(isAbsent, () => Effect.succeed("")),
      Effect.mapError(unavailable(file))
    )

  const revise = Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const configText = yield* textOf(config)
    const revised = yield* ConfigText.revised(config, configText, changes.settings)
    const values = Object.fromEntries(
      Object.entries(changes.secrets).map(([name, value]) => [name, Redacted.value(value)])
    )
    const secretText = Object.keys(values).length === 0 ? "" : yield* textOf(secrets)
    const kept = yield* Effect.mapError(
      DotEnv.revised(secretText, values),
      (problem) => new ConfigUnavailable({ file: secrets, detail: problem })
    )
    const wanted = yield* Effect.forEach(
      [
        { file: config, before: configText, text: revised },
        { file: secrets, before: secretText, text: kept }
      ].filter(({ before, text }) => before !== text),
      ({ file, text }) => Effect.map(RealPath.follow(file), (real) => ({ file: real, content: bytes(text) }))
    )
    for (const { file } of wanted)
      yield* fs.chmod(file, ownerOnly).pipe(
        Effect.catchIf(isAbsent, () => Effect.void),
        Effect.mapError(unavailable(file))
      )
    yield* FileReplacement.replaceAll(wanted, suffix).pipe(Effect.mapError(unavailable(config)))
    // The new names are on the disk only with their folders.
    for (const folder of new Set(wanted.map(({ file }) => path.dirname(file))))
      yield* Effect.scoped(Effect.flatMap(fs.open(folder, { flag: "r" }), (opened) => opened.sync)).pipe(
        Effect.mapError(unavailable(folder))
      )
  })

  return Effect.scoped(
    Effect.gen(function* () {
      const held = yield* Effect.mapError(SetupLock.held(config), unavailable(config))
      if (!held)
        return yield* new ConfigUnavailable({
          file: config,
          detail: `another program has been changing it for ${SetupLock.patienceSeconds} s; nothing was changed, try again`
        })
      yield* Effect.uninterruptible(revise)
    })
  )
}
