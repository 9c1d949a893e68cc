import { FileSystem } from "@effect/platform"
import { Effect, Layer, Option, Schema } from "effect"
import * as path from "node:path"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import { Ids } from "../../services/operation/Ids.js"
import type { Settings } from "../../services/operation/Settings.js"
import * as Directories from "../node/Directories.js"
import * as AgentPath from "./AgentPath.js"
import * as Gate from "./Gate.js"
import { failureOf } from "./readFile.js"

const Parameters = Schema.Struct({
  path: Schema.NonEmptyString,
  content: Schema.String.annotations({ description: "The whole new content." })
})

const description =
  "Writes a text file whole, replacing what was there, and makes the directories on the way. Read a file before you replace it."

const freshMode = 0o644
const shownContent = 3_000

/** Beside the old file and then in its place, in one step: a reader sees the old content or the new, a crash leaves the old. */
const replace = (fs: FileSystem.FileSystem, file: string, content: Uint8Array, suffix: string) =>
  Effect.gen(function* () {
    const before = yield* Effect.option(fs.stat(file))
    if (Option.isSome(before) && before.value.type !== "File")
      return yield* new Tool.ToolFailure({
        text: before.value.type === "Directory" ? "it is a directory" : "it is no regular file and is not replaced"
      })
    yield* Effect.try({
      try: () => Directories.make(path.dirname(file)),
      catch: (error) => new Tool.ToolFailure({ text: error instanceof Error ? error.message : String(error) })
    })
    const draft = path.join(path.dirname(file), `.${path.basename(file).slice(0, 100)}.${suffix}.tmp`)
    const write = Effect.scoped(
      Effect.gen(function* () {
        const mode = Option.isSome(before) ? before.value.mode & 0o7777 : freshMode
        const handle = yield* fs.open(draft, { flag: "wx", mode })
        if (content.length > 0) yield* handle.writeAll(content)
        if (Option.isSome(before)) yield* fs.chmod(draft, mode)
        yield* handle.sync
      })
    )
    yield* Effect.zipRight(write, fs.rename(draft, file)).pipe(
      Effect.onError(() => Effect.ignore(fs.remove(draft, { force: true })))
    )
    return Option.isSome(before) ? Number(before.value.size) : null
  })

/** The path, and as much of the content as a person will read before they say yes. */
const subjectOf = (file: string, content: string): string =>
  content.length <= shownContent
    ? `${file}\n${content}`
    : `${file}\n${content.slice(0, shownContent)}\n… (${content.length} characters in all)`

/** `write_file`: atomic, keeps an existing file's mode, asks for or refuses what is not the agent's (decision 29). */
export const layer: Layer.Layer<
  never,
  never,
  ToolRegistry | Approvals | Settings | Ids | FileSystem.FileSystem | AmbientEnvironment
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const fs = yield* FileSystem.FileSystem
    const ids = yield* Ids
    const gate = yield* Gate.make
    const paths = yield* AgentPath.make
    yield* registry.add([
      Tool.make({
        name: "write_file",
        toolset: "file",
        description,
        parameters: Parameters,
        gated: true,
        parallelism: (args) => ({ _tag: "Writes", path: args.path }),
        preview: (args) => args.path,
        handler: (args, context) =>
          Effect.gen(function* () {
            const file = yield* paths.resolve(args.path)
            const verdict = yield* paths.writing(file)
            const content = new TextEncoder().encode(args.content)
            const write = Effect.flatMap(ids.next("call"), (id) => replace(fs, file.real, content, id)).pipe(
              Effect.mapError((error) =>
                error._tag === "ToolFailure"
                  ? new Tool.ToolFailure({ text: `${args.path}: ${error.text}` })
                  : failureOf(args.path, error)
              )
            )
            const before = yield* gate.pass(
              { tool: "write_file", subject: subjectOf(file.real, args.content), verdict },
              context
            )(write)
            return before === null
              ? `wrote ${content.length} bytes to the new file ${file.real}`
              : `wrote ${content.length} bytes to ${file.real}, replacing ${before}`
          })
      })
    ])
  })
)
