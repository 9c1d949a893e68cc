import { FileSystem, Path } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { AmbientEnvironment, type Environment } from "../../fibers/AmbientEnvironment.js"
import { all, secretNames } from "../../services/operation/ConfigKey.js"
import * as Directories from "./Directories.js"
import * as DotEnv from "./DotEnv.js"
import * as PlainFile from "./PlainFile.js"
import * as SetupLock from "./SetupLock.js"
import { Home, HomeUnusable } from "../../services/operation/Home.js"

const ownerOnlyDirectory = 0o700
const ownerOnlyFile = 0o600
const apiKeyName = "API_SERVER_KEY"

/** The commented `config.yaml` of a new home, made from the table of keys: top-level keys first, then section by section. */
export const commentedConfig = (): string => {
  const shown = all.map((key) => ({ key, names: key.path.split(".") }))
  const lines = [
    "# hermes-effect: every setting, with its default or an example. Remove the # before a line, and before the sections above it, to change it.",
    "# Secrets do not belong here but into .env beside this file."
  ]
  const write = (depth: number, entries: typeof shown): void => {
    const indent = "  ".repeat(depth)
    for (const { key, names } of entries.filter((entry) => entry.names.length === depth + 1)) {
      const variable = key.env === null ? "" : ` (${key.env})`
      lines.push(`# ${indent}${names.at(-1) ?? ""}: ${key.example}   # ${key.doc}${variable}`)
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

const madeKey = (): string => randomBytes(24).toString("base64url")

const keyIn = (dotEnv: string) => Effect.map(PlainFile.text(dotEnv), (text) => DotEnv.parse(text)[apiKeyName] ?? "")

/** For an owner's own file without one: by one process at a time, at its end, and nothing of it is written anew. */
const keyMadeIn = (dotEnv: string, config: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    if (!(yield* SetupLock.held(config))) {
      const detail = `another program has been changing ${config} for ${SetupLock.patienceSeconds} s`
      return yield* new HomeUnusable({ directory: path.dirname(config), detail })
    }
    const meanwhile = yield* keyIn(dotEnv)
    if (meanwhile !== "") return meanwhile
    const made = madeKey()
    const text = yield* PlainFile.text(dotEnv)
    const separator = text === "" || text.endsWith("\n") ? "" : "\n"
    // One that was made by hand may be everybody's to read.
    yield* fs.chmod(dotEnv, ownerOnlyFile)
    yield* fs.writeFileString(dotEnv, `${separator}${apiKeyName}=${made}\n`, { flag: "a" })
    return made
  }).pipe(Effect.scoped)

const make = (directory: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const environment = yield* AmbientEnvironment
    const unusable = ({ message }: { readonly message: string }) =>
      new HomeUnusable({
        directory,
        detail: message.includes("ENOTDIR") ? "it, or what it lies in, is a file and no folder" : message
      })
    const file = (name: string) => path.join(directory, name)
    const made = (folder: string) =>
      Effect.try({
        try: () => Directories.make(folder, ownerOnlyDirectory),
        catch: (error) => unusable(error instanceof Error ? error : { message: String(error) })
      })
    /** Whole or not at all, where the file system knows links; another process may have made it meanwhile, and changed it already. */
    const begun = (file: string, text: string) => {
      const wanted = { mode: ownerOnlyFile, flag: "wx" } as const
      return Effect.acquireUseRelease(
        Effect.succeed(`${file}.${randomBytes(6).toString("hex")}`),
        (first) =>
          Effect.zipRight(
            fs.writeFileString(first, text, wanted),
            Effect.catchAll(fs.link(first, file), () =>
              Effect.catchIf(fs.writeFileString(file, text, wanted), isThere, () => Effect.void)
            )
          ),
        (first) => Effect.ignore(fs.remove(first, { force: true }))
      )
    }

    return yield* Effect.gen(function* () {
      const fresh = !(yield* fs.exists(file("config.yaml")))
      yield* made(directory)
      const info = yield* fs.stat(directory)
      if ((info.mode & 0o777) !== ownerOnlyDirectory) yield* fs.chmod(directory, ownerOnlyDirectory)
      yield* made(file("workspace"))
      if (fresh) yield* begun(file("config.yaml"), commentedConfig())
      if (!(yield* fs.exists(file(".env"))))
        yield* begun(
          file(".env"),
          environment[apiKeyName] ? commentedEnv : `${commentedEnv}${apiKeyName}=${madeKey()}\n`
        )
      const given = environment[apiKeyName] || (yield* keyIn(file(".env")))
      const apiKey = given || (yield* keyMadeIn(file(".env"), file("config.yaml")))
      return placed(path, directory, environment, Redacted.make(apiKey), fresh)
    }).pipe(Effect.catchTags({ SystemError: unusable, BadArgument: unusable, LockUnusable: unusable }))
  })

/** Makes the home when it is not there (0700, a commented `config.yaml`, the API's key in `.env`) and says where its parts are. */
export const layer = (
  directory: string
): Layer.Layer<Home, HomeUnusable, FileSystem.FileSystem | Path.Path | AmbientEnvironment> =>
  Layer.effect(Home, make(directory))
