import { FileSystem } from "@effect/platform"
import { Effect, Either, Layer, Schema } from "effect"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as PatchText from "../../services/agent/PatchText.js"
import * as TextChange from "../../services/agent/TextChange.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import type { Verdict } from "../../services/approval/CommandJudge.js"
import { Ids } from "../../services/operation/Ids.js"
import type { Settings } from "../../services/operation/Settings.js"
import * as TextDifference from "../../services/agent/TextDifference.js"
import * as FileReplacement from "../node/FileReplacement.js"
import * as PlainFile from "../node/PlainFile.js"
import * as AgentPath from "./AgentPath.js"
import * as Gate from "./Gate.js"
import { failureOf } from "./readFile.js"

const Parameters = Schema.Struct({
  path: Schema.optional(Schema.NonEmptyString.annotations({ description: "The file, with `old_string`." })),
  old_string: Schema.optional(
    Schema.NonEmptyString.annotations({ description: "What is replaced, with enough around it to stand there once." })
  ),
  new_string: Schema.optional(Schema.String.annotations({ description: "What takes its place; empty deletes it." })),
  replace_all: Schema.optional(Schema.Boolean),
  patch: Schema.optional(
    Schema.NonEmptyString.annotations({
      description:
        "Instead: several files at once. `*** Begin Patch`, then `*** Update File: p` (`*** Move to: q`), `@@ line before`, lines with ` `, `-` or `+` in front; `*** Add File: p`; `*** Delete File: p`; `*** End Patch`. Or a unified diff."
    })
  )
})
type Args = typeof Parameters.Type

const description =
  "Changes parts of text files: `path`, `old_string` and `new_string` for one place, or `patch` for several places and files. All of it is done or nothing. Differences in spaces, indentation and quotes are forgiven; a place that is not clear is not changed."

const largestFile = 5_000_000
const shownPatch = 3_000
const shownDifference = 4_000

/** A file of the patch: where it is, and what is asked of it. */
interface Target {
  readonly path: AgentPath.AgentPath
  readonly moveTo: AgentPath.AgentPath | null
  readonly change:
    | PatchText.FileChange
    | { readonly _tag: "Replace"; readonly before: string; readonly after: string; readonly everywhere: boolean }
}

interface Planned {
  readonly changes: ReadonlyArray<FileReplacement.FileChange>
  readonly report: string
}

const fail = (file: string, problem: string) =>
  new Tool.ToolFailure({ text: `${file}: ${problem}\nNothing was changed.` })

const worst = (verdicts: ReadonlyArray<Verdict>): Verdict => {
  const of = (verdict: Verdict["verdict"]) => verdicts.filter((one) => one.verdict === verdict)
  const [first] = [of("never"), of("ask")].filter((found) => found.length > 0)
  return first === undefined
    ? { verdict: "allow", reasons: [] }
    : {
        verdict: first[0]?.verdict ?? "ask",
        reasons: first
          .flatMap(({ reasons }) => reasons)
          .filter((reason, index, all) => all.findIndex(({ text }) => text === reason.text) === index)
      }
}

const changesOf = (args: Args): Either.Either<ReadonlyArray<Target["change"] & { readonly path: string }>, string> => {
  if (args.patch !== undefined)
    return args.path === undefined && args.old_string === undefined
      ? PatchText.parse(args.patch)
      : Either.left("give `patch`, or `path` with `old_string` and `new_string`, not both")
  if (args.path === undefined || args.old_string === undefined || args.new_string === undefined)
    return Either.left("give `path`, `old_string` and `new_string`, or a `patch`")
  return Either.right([
    {
      _tag: "Replace",
      path: args.path,
      before: args.old_string,
      after: args.new_string,
      everywhere: args.replace_all ?? false
    }
  ])
}

/** `patch`: places in files, found forgivingly and changed all together; protected files as in `write_file`. */
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

    const read = ({ real, written }: AgentPath.AgentPath) =>
      Effect.gen(function* () {
        const opened = yield* Effect.mapError(PlainFile.open(real), (error) => failureOf(written, error))
        const bytes = yield* Effect.mapError(PlainFile.rest(opened, largestFile), (error) => failureOf(written, error))
        if (bytes === null) return yield* fail(written, `it is larger than ${largestFile} bytes`)
        return yield* Effect.try({
          try: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
          catch: () => fail(written, "it is no UTF-8 text, so it is not patched")
        })
      }).pipe(Effect.scoped)

    /** What the files will be. Reads and changes nothing. */
    const plan = (targets: ReadonlyArray<Target>): Effect.Effect<Planned, Tool.ToolFailure> =>
      Effect.gen(function* () {
        const changes: Array<FileReplacement.FileChange> = []
        const report: Array<string> = []
        const write = (file: string, text: string) => changes.push({ file, content: new TextEncoder().encode(text) })
        for (const { change, moveTo, path } of targets) {
          if (change._tag === "Add") {
            if (yield* Effect.orElseSucceed(fs.exists(path.real), () => true))
              return yield* fail(path.written, "it is there already; update it, or delete it first")
            write(path.real, change.lines.length === 0 ? "" : change.lines.join("\n") + (change.endsOpen ? "" : "\n"))
            report.push(`added ${path.real} (${change.lines.length} lines)`)
            continue
          }
          const text = yield* read(path)
          if (change._tag === "Delete") {
            changes.push({ file: path.real, content: null })
            report.push(`deleted ${path.real}`)
            continue
          }
          const changed =
            change._tag === "Replace"
              ? TextChange.replace(text, change.before, change.after, change.everywhere)
              : TextChange.apply(text, change.hunks)
          if (Either.isLeft(changed)) return yield* fail(path.written, changed.left)
          if (moveTo !== null) {
            if (yield* Effect.orElseSucceed(fs.exists(moveTo.real), () => true))
              return yield* fail(moveTo.written, "it is there already, so nothing is moved to it")
            changes.push({ file: path.real, content: null })
          }
          write((moveTo ?? path).real, changed.right.text)
          report.push(
            [
              moveTo === null ? `changed ${path.real}` : `moved ${path.real} to ${moveTo.real}`,
              ...(changed.right.notes.length === 0 ? [] : [`(${changed.right.notes.join("; ")})`]),
              TextDifference.between(text, changed.right.text, shownDifference)
            ].join("\n")
          )
        }
        return { changes, report: report.join("\n\n") }
      })

    const subjectOf = (targets: ReadonlyArray<Target>, args: Args): string => {
      const files = targets.map(({ change, moveTo, path }) =>
        [change._tag.toLowerCase(), path.real, ...(moveTo === null ? [] : ["to", moveTo.real])].join(" ")
      )
      const asked = args.patch ?? `- ${args.old_string ?? ""}\n+ ${args.new_string ?? ""}`
      const shown =
        asked.length <= shownPatch ? asked : `${asked.slice(0, shownPatch)}\n… (${asked.length} characters in all)`
      return `${files.join("\n")}\n${shown}`
    }

    yield* registry.add([
      Tool.make({
        name: "patch",
        toolset: "file",
        description,
        parameters: Parameters,
        result: Tool.text("which files were changed, and how"),
        gated: true,
        parallelism: (args) => (args.path === undefined ? { _tag: "Never" } : { _tag: "Writes", path: args.path }),
        preview: (args) => args.path ?? "a patch",
        handler: (args, context) =>
          Effect.gen(function* () {
            const asked = changesOf(args)
            if (Either.isLeft(asked)) return yield* new Tool.ToolFailure({ text: asked.left })
            const targets: ReadonlyArray<Target> = yield* Effect.forEach(asked.right, (change) =>
              Effect.gen(function* () {
                const moveTo = change._tag === "Update" ? change.moveTo : null
                return {
                  path: yield* paths.resolve(change.path),
                  moveTo: moveTo === null ? null : yield* paths.resolve(moveTo),
                  change
                }
              })
            )
            const files = targets.flatMap(({ moveTo, path }) => (moveTo === null ? [path] : [path, moveTo]))
            const reals = files.map(({ real }) => real)
            if (new Set(reals).size < reals.length)
              return yield* new Tool.ToolFailure({ text: "two names in it mean the same file. Nothing was changed." })
            const readings = yield* Effect.forEach(files, paths.reading)
            const writings = yield* Effect.forEach(files, paths.writing)
            const verdict = worst([...readings, ...writings])
            // Nobody is asked about what cannot be done, and nothing is looked at before it may be.
            if (worst(readings).verdict === "allow" && verdict.verdict === "ask") yield* plan(targets)
            const act = Effect.gen(function* () {
              const { changes, report } = yield* plan(targets)
              yield* FileReplacement.replaceAll(changes, yield* ids.next("call")).pipe(
                Effect.provideService(FileSystem.FileSystem, fs),
                Effect.mapError((error) =>
                  error._tag === "NotReplaceable"
                    ? fail(error.file, error.detail)
                    : fail("the patch was taken back", error.message)
                )
              )
              return report
            })
            return yield* gate.pass({ tool: "patch", subject: subjectOf(targets, args), verdict }, context)(act)
          })
      })
    ])
  })
)
