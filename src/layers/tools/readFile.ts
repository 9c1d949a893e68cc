import { FileSystem } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Effect, Layer, Schema } from "effect"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import type { Settings } from "../../services/operation/Settings.js"
import type { NotReplaceable } from "../node/FileReplacement.js"
import * as AgentPath from "./AgentPath.js"
import * as Gate from "./Gate.js"
import * as LineReader from "./LineReader.js"

const mostLines = 2_000
const usualLines = 500
const pageCharacters = 80_000
const lineCharacters = 2_000
/** Some files have no end. */
const limitMillis = 20_000

const Parameters = Schema.Struct({
  path: Schema.NonEmptyString,
  offset: Schema.optional(Schema.Int.pipe(Schema.positive()).annotations({ description: "First line, from 1." })),
  limit: Schema.optional(
    Schema.Int.pipe(Schema.between(1, mostLines)).annotations({ description: `Lines, ${usualLines} if not given.` })
  )
})

const description =
  "Reads a text file, a page of lines at a time; each line is shown as its number, a bar and its text. The end of a page says where the next begins."

/** What went wrong with a file, and what can be done about it. */
export const failureOf = (written: string, error: PlatformError | NotReplaceable): Tool.ToolFailure => {
  if (error._tag === "NotReplaceable") return new Tool.ToolFailure({ text: `${written}: ${error.detail}` })
  const reason = error._tag === "SystemError" ? error.reason : "Unknown"
  const advice =
    reason === "NotFound"
      ? "there is no such file; search_files finds files by name"
      : reason === "PermissionDenied"
        ? "permission denied"
        : reason === "WouldBlock"
          ? "it has nothing to read now; a command in the terminal can wait for it and be stopped"
          : error.message
  return new Tool.ToolFailure({ text: `${written}: ${advice}` })
}

const shown = (written: string, from: number, page: LineReader.Page): string => {
  if (page.lines.length === 0) return from === 1 ? `[${written} is empty]` : `[${written} has no line ${from}]`
  const notes = [
    page.next === null ? "" : `[more follows: offset ${page.next}]`,
    page.cut === 0 ? "" : `[${page.cut} lines are longer than ${lineCharacters} characters and were cut]`,
    page.damaged ? "[some bytes are no UTF-8 text; they are shown as \ufffd]" : ""
  ].filter((note) => note !== "")
  return [...page.lines.map((line, index) => `${from + index}|${line}`), ...notes].join("\n")
}

/** `read_file`: by pages of lines; no directories, devices or binary files, and nothing that is not the agent's. */
export const layer: Layer.Layer<
  never,
  never,
  ToolRegistry | Approvals | Settings | FileSystem.FileSystem | AmbientEnvironment
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const fs = yield* FileSystem.FileSystem
    const gate = yield* Gate.make
    const paths = yield* AgentPath.make
    yield* registry.add([
      Tool.make({
        name: "read_file",
        toolset: "file",
        description,
        parameters: Parameters,
        result: Tool.text("the file's lines with their numbers"),
        gated: true,
        parallelism: (args) => ({ _tag: "Reads", path: args.path }),
        preview: (args) => args.path,
        handler: (args, context) =>
          Effect.gen(function* () {
            const file = yield* paths.resolve(args.path)
            const verdict = yield* paths.reading(file)
            const from = args.offset ?? 1
            const read = Effect.gen(function* () {
              const info = yield* fs.stat(file.real)
              if (info.type === "Directory")
                return yield* new Tool.ToolFailure({
                  text: `${args.path} is a directory; search_files lists what is in it`
                })
              if (info.type !== "File")
                return yield* new Tool.ToolFailure({ text: `${args.path} is no regular file and is not read` })
              const found = yield* LineReader.read(file.real, {
                from,
                lines: args.limit ?? usualLines,
                characters: pageCharacters,
                lineCharacters
              })
              return found._tag === "Binary"
                ? yield* new Tool.ToolFailure({
                    text: `${args.path} is a binary file of ${info.size} bytes and is not shown; \`file\` in the terminal says what it is`
                  })
                : shown(args.path, from, found.page)
            }).pipe(
              Effect.timeoutFail({
                duration: limitMillis,
                onTimeout: () => new Tool.ToolFailure({ text: `${args.path} does not come to its line ${from}` })
              }),
              Effect.catchAll((error) =>
                Effect.fail(error._tag === "ToolFailure" ? error : failureOf(args.path, error))
              )
            )
            return yield* gate.pass({ tool: "read_file", subject: file.real, verdict }, context)(read)
          })
      })
    ])
  })
)
