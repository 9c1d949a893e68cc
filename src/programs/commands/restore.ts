import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Effect, Layer, Schema } from "effect"
import path from "node:path"
import process from "node:process"
import * as Directories from "../../layers/node/Directories.js"
import * as HomeCopyLayer from "../../layers/node/HomeCopy.js"
import { HomeUnusable } from "../../services/operation/Home.js"
import { HomeCopy, type Manifest } from "../../services/operation/HomeCopy.js"
import { Care, Copied, Restore } from "../../services/state/Care.js"
import { care } from "../care.js"
import { megabytes } from "./backup.js"
import * as database from "./database.js"
import { failed } from "./failure.js"
import { Invocation } from "./invocation.js"
import { answer } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"

const from = Args.text({ name: "BACKUP" }).pipe(
  Args.withDescription("A folder that `hermes backup` made; or the `state.db` in one, for what was said alone.")
)

const replace = Options.boolean("replace").pipe(
  Options.withDescription("Also where the home has files of its own that differ; they are kept.")
)

const Restored = Schema.Struct({
  ...Copied.fields,
  from: Schema.String,
  /** Null where nothing was there before. */
  kept: Schema.NullOr(Schema.String),
  files: Schema.Array(Schema.String)
})

/** The files of a backup of a whole home, read through; null for a database alone. */
const manifestOf = (source: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    if (!(yield* fs.exists(source))) return yield* failed(`there is no ${source}`)
    const { type } = yield* fs.stat(source)
    if (type === "File") return null
    if (type !== "Directory") return yield* failed(`${source} is neither a folder nor a file: it is no backup`)
    for (const name of ["backup.json", "state.db"])
      if (!(yield* fs.exists(path.join(source, name))))
        return yield* failed(
          `${source} is no backup: there is no ${name} in it (\`hermes backup\` makes such a folder)`
        )
    return yield* Effect.flatMap(HomeCopy, (copies) => copies.verify(source))
  })

/** A home that has something to lose is changed only when that was asked for. */
const careful = (home: string, manifest: Manifest, mayReplace: boolean) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const differing = yield* Effect.flatMap(HomeCopy, (copies) => copies.differing(home, manifest))
    const hasDatabase = yield* fs.exists(path.join(home, "state.db"))
    const lost = hasDatabase ? ["state.db", ...differing] : differing
    if (lost.length > 0 && !mayReplace)
      return yield* failed(
        `${home} has a ${lost.slice(0, 5).join(", ")}${lost.length > 5 ? ` and ${lost.length - 5} more` : ""} of its own; \`--replace\` puts the backup in their place and keeps them`
      )
  })

export const command = Command.make("restore", { from, replace }, ({ from, replace }) =>
  Effect.gen(function* () {
    yield* ownerOnly("restore")
    const { home } = yield* Invocation
    const [file, kept, fs] = yield* Effect.all([database.file, database.keeping("restore"), FileSystem.FileSystem])
    const [worker, copies] = yield* Effect.all([Care, HomeCopy])
    const source = path.resolve(process.cwd(), from)
    const manifest = yield* manifestOf(source)
    if (manifest !== null) yield* careful(home, manifest, replace)
    yield* Effect.try({
      try: () => Directories.make(home, 0o700),
      catch: (error) =>
        new HomeUnusable({ directory: home, detail: error instanceof Error ? error.message : String(error) })
    })
    const copied = yield* database.withHome(
      Effect.gen(function* () {
        const database = manifest === null ? source : path.join(source, "state.db")
        const done = yield* worker.run(new Restore({ file, from: database, kept }))
        if (manifest !== null) yield* copies.put(source, home, manifest, kept)
        return done
      })
    )
    const files = manifest === null ? [] : manifest.files.map((one) => one.path)
    const hadAny = (yield* fs.readDirectory(kept)).length > 0
    if (!hadAny) yield* fs.remove(kept, { recursive: true })
    yield* answer(
      Restored,
      { ...copied, from: source, kept: hadAny ? kept : null, files },
      ({ bytes, files, kept, messages, sessions }) => [
        `Restored ${sessions} conversations with ${messages} messages (${megabytes(bytes)})${files.length === 0 ? "" : ` and ${files.length} files`} from ${source}.`,
        ...(files.includes(".env") ? ["The keys in .env are those of the backup; only you can read it."] : []),
        ...(files.includes("auth.json")
          ? [
              "The logins in auth.json are those of the backup: one that was renewed since is refused, and `hermes auth login` makes it anew."
            ]
          : []),
        ...(kept !== null ? [`What was there before is kept in ${kept}.`] : [])
      ]
    )
  })
).pipe(
  Command.withDescription(
    "Puts a backup into the home, while no gateway runs. Refuses where that would replace something, unless told to; the present files are kept."
  ),
  Command.provide(Layer.mergeAll(care, HomeCopyLayer.layer, NodeFileSystem.layer))
)
