import { FileSystem } from "@effect/platform"
import { Effect, Layer, Schema } from "effect"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import { Ids } from "../../services/operation/Ids.js"
import type { Settings } from "../../services/operation/Settings.js"
import * as FileReplacement from "../node/FileReplacement.js"
import * as AgentPath from "./AgentPath.js"
import * as Gate from "./Gate.js"
import { failureOf } from "./readFile.js"

const Parameters = Schema.Struct({
  path: Schema.NonEmptyString,
  content: Schema.String.annotations({ description: "The whole new content." })
})

const description =
  "Writes a text file whole, replacing what was there, and makes the directories on the way. Read a file before you replace it."

const shownContent = 3_000

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
        result: Tool.text("what was written"),
        gated: true,
        parallelism: (args) => ({ _tag: "Writes", path: args.path }),
        preview: (args) => args.path,
        handler: (args, context) =>
          Effect.gen(function* () {
            const file = yield* paths.resolve(args.path)
            const verdict = yield* paths.writing(file)
            const content = new TextEncoder().encode(args.content)
            const write = Effect.flatMap(ids.next("call"), (suffix) =>
              FileReplacement.replace(file.real, content, { suffix })
            ).pipe(
              Effect.mapError((error) => failureOf(args.path, error)),
              Effect.provideService(FileSystem.FileSystem, fs)
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
