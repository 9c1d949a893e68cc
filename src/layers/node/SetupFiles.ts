/** Writes what setup was told: `config.yaml` and `.env` together, or neither. */
import { FileSystem } from "@effect/platform"
import { Effect, Redacted } from "effect"
import path from "node:path"
import { ConfigUnavailable } from "../../services/operation/Config.js"
import type { Changes } from "../../services/operation/Setup.js"
import * as ConfigText from "./ConfigText.js"
import * as DotEnv from "./DotEnv.js"
import * as FileReplacement from "./FileReplacement.js"
import * as PlainFile from "./PlainFile.js"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Both files are there: the home was made before. `suffix` names drafts that are no other's. */
export const write = (home: string, changes: Changes, suffix: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const [config, secrets] = [path.join(home, "config.yaml"), path.join(home, ".env")]
    const unavailable = (file: string) => (error: { readonly message: string }) =>
      new ConfigUnavailable({ file, detail: error.message })
    const configText = yield* PlainFile.text(config).pipe(Effect.mapError(unavailable(config)))
    const secretText = yield* PlainFile.text(secrets).pipe(Effect.mapError(unavailable(secrets)))
    const revised = yield* ConfigText.revised(config, configText, changes.settings)
    const values = Object.fromEntries(
      Object.entries(changes.secrets).map(([name, value]) => [name, Redacted.value(value)])
    )
    const kept = yield* Effect.mapError(
      DotEnv.revised(secretText, values),
      (problem) => new ConfigUnavailable({ file: secrets, detail: problem })
    )
    const wanted = [
      { file: config, before: configText, text: revised },
      { file: secrets, before: secretText, text: kept }
    ].filter(({ before, text }) => before !== text)
    for (const { file } of wanted) yield* fs.chmod(file, 0o600).pipe(Effect.mapError(unavailable(file)))
    yield* FileReplacement.replaceAll(
      wanted.map(({ file, text }) => ({ file, content: bytes(text) })),
      suffix
    ).pipe(Effect.mapError(unavailable(config)))
  })
