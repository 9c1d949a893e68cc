import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Effect, Layer, Option, Schema } from "effect"
import path from "node:path"
import process from "node:process"
import * as Directories from "../../layers/node/Directories.js"
import * as HomeCopyLayer from "../../layers/node/HomeCopy.js"
import { CopiedFile, HomeCopy, optionalParts, parts } from "../../services/operation/HomeCopy.js"
import { Backup, Care, Copied } from "../../services/state/Care.js"
import { care } from "../care.js"
import * as database from "./database.js"
import { failed } from "./failure.js"
import { Invocation } from "./invocation.js"
import { answer } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"

const to = Args.text({ name: "FOLDER" }).pipe(
  Args.withDescription("Where it goes, which must be free; a new folder in the home's `backups` when left out."),
  Args.optional
)

const media = Options.boolean("media").pipe(
  Options.withDescription("Takes `media` and `workspace` too: what people sent, and the agent's working directory.")
)

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const BackedUp = Schema.Struct({ ...Copied.fields, folder: Schema.String, files: Schema.Array(CopiedFile) })

/** All of it lies beside its place until it has been read through. */
const taken = (home: string, folder: string, withMedia: boolean) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const [worker, copies] = yield* Effect.all([Care, HomeCopy])
    if (yield* Effect.orElseSucceed(fs.exists(folder), () => false)) return yield* failed(`${folder} is there already`)
    const part = `${folder}.part`
    // what stands in the way of the folder is said where it is made
    yield* Effect.ignore(fs.remove(part, { recursive: true, force: true }))
    yield* Effect.try({
      try: () => Directories.make(part, 0o700),
      catch: (error) =>
        failed(
          `${folder} cannot be made (${error instanceof Error ? error.message : String(error)}); take another folder`
        )
    })
    yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(part, { recursive: true, force: true })))
    const copied = yield* worker.run(new Backup({ file: yield* database.file, to: path.join(part, "state.db") }))
    const files = yield* copies.take(home, part, withMedia ? [...parts, ...optionalParts] : parts)
    yield* fs.rename(part, folder)
    return { ...copied, file: path.join(folder, "state.db"), folder, files }
  }).pipe(Effect.scoped)

export const command = Command.make("backup", { to, media }, ({ media, to }) =>
  Effect.gen(function* () {
    yield* ownerOnly("backup")
    const { home } = yield* Invocation
    const folder = yield* Option.match(to, {
      onNone: () => Effect.map(database.stamp, (at) => path.join(home, "backups", at)),
      onSome: (name) => Effect.succeed(path.resolve(process.cwd(), name))
    })
    yield* answer(BackedUp, yield* taken(home, folder, media), ({ bytes, files, folder, messages, sessions }) => [
      `Backed up ${sessions} conversations with ${messages} messages (${megabytes(bytes)}) and ${files.length} files to ${folder}, and read it through.`,
      ...(files.some((file) => file.path === ".env")
        ? ["The keys in .env are in it: only you can read the folder, so keep it that way."]
        : []),
      ...(files.some((file) => file.path === "auth.json")
        ? [
            "The logins in auth.json are in it as they are now: once one of them is renewed here, its copy is good no more."
          ]
        : []),
      media ? "The logs are not in it." : "Not in it: media and workspace (`--media` takes them), and the logs."
    ])
  })
).pipe(
  Command.withDescription(
    "Copies the home as it is at this moment, also while the gateway runs: what was said, settings, keys, memories, skills, scripts and what jobs have written, and with --media what people sent and the working directory; and verifies the copy."
  ),
  Command.provide(Layer.mergeAll(care, HomeCopyLayer.layer, NodeFileSystem.layer))
)
