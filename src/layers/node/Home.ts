import { FileSystem, Path } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { AmbientEnvironment, type Environment } from "../../fibers/AmbientEnvironment.js"
import { all, secretNames } from "../../services/operation/ConfigKey.js"
import * as Directories from "./Directories.js"
import * as DotEnv from "./DotEnv.js"
import * as PlainFile from "./PlainFile.js"
import { Home, HomeUnusable } from "../../services/operation/Home.js"

const ownerOnlyDirectory = 0o700
const ownerOnlyFile = 0o600
const apiKeyName = "API_SERVER_KEY"

/** The commented `config.yaml` of a new home, made from the table of keys: top-level keys first, then section by section. */
export const commentedConfig = (): string => {
  const shown = all.filter((key) => key.example !== null).map((key) => ({ key, names: key.path.split(".") }))
  const lines = [
    "# hermes-effect: every setting with its default. Remove the # before a line, and before the sections above it, to change it.",
    "# Secrets do not belong here but into .env beside this file."
  ]
  const write = (depth: number, entries: typeof shown): void => {
    const indent = "  ".repeat(depth)
    for (const { key, names } of entries.filter((entry) => entry.names.length === depth + 1)) {
      const variable = key.env === null ? "" : ` (${key.env})`
      lines.push(`# ${indent}${names.at(-1) ?? ""}: ${key.example ?? ""}   # ${key.doc}${variable}`)
    }
    const deeper = entries.filter((entry) => entry.names.length > depth + 1)
    for (const section of new Set(deeper.map((entry) => entry.names[depth]))) {
      lines.push(...(depth === 0 ? [""] : []), `# ${indent}${section ?? ""}:`)
      write(
        depth + 1,
        deeper.filter((entry) => entry.names[depth] === section)
      )
    }
  }
  lines.push("")
  write(0, shown)
  return `${lines.join("\n")}\n`
}

const commentedEnv = [
  "# Secrets of hermes-effect. The environment wins over this file.",
  "# A second key of a model's provider is NAME_2, and so on to NAME_9: it takes over while the first is at its limit.",
  ...secretNames.filter((name) => name !== apiKeyName).map((name) => `# ${name}=`),
  ""
].join("\n")

const placed = (
  path: Path.Path,
  directory: string,
  environment: Environment,
  apiKey: Redacted.Redacted,
  fresh: boolean
): typeof Home.Service => {
  const file = (name: string) => path.join(directory, name)
  const stateHome = environment["XDG_STATE_HOME"] || path.join(environment["HOME"] ?? directory, ".local", "state")
  return Home.of({
    directory,
    database: file("state.db"),
    searchIndex: file("search.db"),
    workspace: file("workspace"),
    lockDirectory: path.join(stateHome, "hermes", "gateway-locks"),
    apiKey,
    fresh
  })
}

/** Where the parts of a home will be that is not there yet. Makes nothing; it has no key. */
export const planned = (directory: string): Layer.Layer<Home, never, Path.Path | AmbientEnvironment> =>
  Layer.effect(
    Home,
    Effect.map(Effect.all([Path.Path, AmbientEnvironment]), ([path, environment]) =>
      placed(path, directory, environment, Redacted.make(""), true)
    )
  )

const isThere = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "AlreadyExists"

const make = (directory: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const environment = yield* AmbientEnvironment
    const unusable = (error: { readonly message: string }) => new HomeUnusable({ directory, detail: error.message })
    const file = (name: string) => path.join(directory, name)

    return yield* Effect.gen(function* () {
      const fresh = !(yield* fs.exists(file("config.yaml")))
      yield* Effect.try({
        try: () => Directories.make(directory, ownerOnlyDirectory),
        catch: (error) => unusable(error instanceof Error ? error : { message: String(error) })
      })
      const info = yield* fs.stat(directory)
      if ((info.mode & 0o777) !== ownerOnlyDirectory) yield* fs.chmod(directory, ownerOnlyDirectory)
      if (!(yield* fs.exists(file("workspace"))))
        yield* fs.makeDirectory(file("workspace"), { mode: ownerOnlyDirectory })
      // Another process may have made it meanwhile, and changed it already.
      if (fresh)
        yield* fs
          .writeFileString(file("config.yaml"), commentedConfig(), { mode: ownerOnlyFile, flag: "wx" })
          .pipe(Effect.catchIf(isThere, () => Effect.void))
      if (!(yield* fs.exists(file(".env"))))
        yield* fs.writeFileString(file(".env"), commentedEnv, { mode: ownerOnlyFile })
      const written = yield* PlainFile.text(file(".env"))
      const known = environment[apiKeyName] || DotEnv.parse(written)[apiKeyName]
      const apiKey = known || randomBytes(24).toString("base64url")
      if (!known) {
        // one that was made by hand may be everybody's to read
        yield* fs.chmod(file(".env"), ownerOnlyFile)
        const separator = written === "" || written.endsWith("\n") ? "" : "\n"
        yield* fs.writeFileString(file(".env"), `${written}${separator}${apiKeyName}=${apiKey}\n`, {
          mode: ownerOnlyFile
        })
      }
      return placed(path, directory, environment, Redacted.make(apiKey), fresh)
    }).pipe(Effect.catchTags({ SystemError: (error) => unusable(error), BadArgument: (error) => unusable(error) }))
  })

/** Makes the home when it is not there (0700, a commented `config.yaml`, the API's key in `.env`) and says where its parts are. */
export const layer = (
  directory: string
): Layer.Layer<Home, HomeUnusable, FileSystem.FileSystem | Path.Path | AmbientEnvironment> =>
  Layer.effect(Home, make(directory))
